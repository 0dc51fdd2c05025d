/* The table, and the comparison: a sequential test, in which pairs of epochs are added up until what they say is clear. The closer the two
 * ways are, the more of them it takes, and the less they cost. */
#include "cost_model.h"
#include <math.h>

enum {
    MIN_PAYLOADS = 64,         /* payloads that a batch's beginning is judged by: those that run now are not counted yet */
    MOST_UNMEASURED = 8,       /* batches in a row: a trial that cannot be measured must not go on with the slower way */
    WARM_UP = 3,               /* epochs that do not count: workers start, files are loaded, memory grows */
    SETTLING_SAMPLES = 4,      /* samples of a payload's cost that count for half: the very first also load and warm up */
    MOST_PAIRS = 8             /* then their mean decides */
};
static const double epoch_ns = 1e7;      /* long enough to hold its share of garbage collections */
static const double least_gain = 1.1;    /* the second way has to be that much faster: it takes cores that others could use */
static const double clear = 0.6;         /* evidence that decides: one pair with the ratio e to the 0.6, or n with e to the 0.6 / n */
static const double most_per_pair = 0.21; /* evidence of one pair at most: one accident does not decide */
static const double shortest_pause = 5e8, longest_pause = 6e10; /* between two trials */
static const double most_pause = 2;      /* times all epochs before: early on, an accident may have decided */
static const double trial_share = 0.005; /* of the time may be lost by trials, as long as costs stay about what they are */
static const double changed = 1.5;       /* if the way in use gets dearer or cheaper by this, the other one is tried again */
static const double newest = 0.25;       /* what the newest epoch counts in a way's cost */

/* A power of two of bytes or payloads. */
static unsigned pool_cost_model_class_of(size_t number) { return number ? 64 - (unsigned)__builtin_clzll(number) : 0; }
size_t guildhall_cost_middle(unsigned class) { return class ? (size_t)3 << (class - 1) >> 1 : 0; }

guildhall_cost *guildhall_cost_find(guildhall_cost_model *model, uint32_t code, size_t bytes, size_t count)
{
    uint64_t key = (uint64_t)code << 16 | pool_cost_model_class_of(bytes) << 8 | pool_cost_model_class_of(count);
    guildhall_cost *set = model->entries[(key * 0x9E3779B97F4A7C15u) >> 57], *oldest = set;
    for (guildhall_cost *entry = set; entry < set + GUILDHALL_COST_SET_SIZE; entry++) {
        if (entry->key == key) {
            entry->used = ++model->clock;
            return entry;
        }
        if (entry->used < oldest->used) oldest = entry;
    }
    *oldest = (guildhall_cost){.key = key, .used = ++model->clock, .ways = {.best = GUILDHALL_SPREAD, .current = GUILDHALL_SPREAD}};
    return oldest;
}

double guildhall_cost_read(const guildhall_cost *cost) { return atomic_load_explicit(&cost->payload_ns, memory_order_relaxed); }

void guildhall_cost_add(guildhall_cost *cost, double payload_ns)
{
    uint32_t samples = atomic_load_explicit(&cost->samples, memory_order_relaxed);
    float known = atomic_load_explicit(&cost->payload_ns, memory_order_relaxed), step = (float)payload_ns - known;
    if (samples == 0) known = (float)payload_ns;
    else known += (step > known ? known : step) / (samples < SETTLING_SAMPLES ? 2 : 8);
    atomic_store_explicit(&cost->payload_ns, known, memory_order_relaxed);
    if (samples < SETTLING_SAMPLES) atomic_store_explicit(&cost->samples, samples + 1, memory_order_relaxed);
}

static bool pool_cost_model_trial_due(const guildhall_comparison *of)
{
    if (of->elapsed >= of->next_trial) return true;
    if (of->chosen_cost <= 0 || of->elapsed - of->trial_began < shortest_pause) return false;
    double ratio = of->cost[of->best] / of->chosen_cost;
    return ratio > changed || ratio < 1 / changed;
}

/* The slower way is tried the later, the slower it was. */
static void pool_cost_model_choose(guildhall_comparison *of)
{
    double slower = fmax(of->cost[0], of->cost[1]), faster = fmin(of->cost[0], of->cost[1]);
    double lost = (of->elapsed - of->trial_began) * (1 - faster / slower);
    of->best = of->evidence > 0;
    double pause = fmin(fmax(lost / trial_share, shortest_pause), longest_pause);
    guildhall_comparison_break(of, fmin(pause, most_pause * of->elapsed));
}

/* Every other pair begins with the way that the one before has ended with: each change costs some time. */
static void pool_cost_model_add_to_pair(guildhall_comparison *of, double cost)
{
    if (of->first <= 0) {
        of->first = cost;
        of->current = !of->current;
        return;
    }
    double gain = of->current ? of->first / cost : cost / of->first;
    of->evidence += fmax(-most_per_pair, fmin(most_per_pair, log(gain / least_gain)));
    of->first = 0;
    if (++of->pairs >= MOST_PAIRS || fabs(of->evidence) >= clear) pool_cost_model_choose(of);
}

void guildhall_comparison_add(guildhall_comparison *of, double cost, double time)
{
    double *known = &of->cost[of->current];
    of->elapsed += time;
    *known = *known > 0 ? *known + (cost - *known) * newest : cost;
    if (!of->trying && pool_cost_model_trial_due(of)) {
        of->trying = true;
        of->trial_began = of->elapsed;
        of->first = of->evidence = 0;
        of->pairs = 0;
    }
    if (of->trying) pool_cost_model_add_to_pair(of, cost);
}

void guildhall_comparison_break(guildhall_comparison *of, double pause)
{
    of->trying = false;
    of->current = of->best;
    of->chosen_cost = of->cost[of->best];
    of->next_trial = of->elapsed + pause;
}

static void pool_cost_model_end_epoch(guildhall_cost *cost)
{
    double each = (double)cost->epoch_ns / (double)cost->epoch_payloads;
    if (cost->warm < WARM_UP) cost->warm++;
    else guildhall_comparison_add(&cost->ways, each, (double)cost->epoch_ns);
    cost->epoch_ns = cost->epoch_payloads = 0;
}

double guildhall_cost_epoch(double payload_ns) { return payload_ns > epoch_ns ? payload_ns : epoch_ns; }

void guildhall_cost_measured(guildhall_cost *cost, bool spread, bool complete, int64_t ns, size_t payloads)
{
    cost->unmeasured = 0;
    if (spread != guildhall_cost_spreads(cost)) return;
    cost->epoch_ns += (float)ns;
    cost->epoch_payloads += (float)payloads;
    bool exact = !spread || complete || cost->epoch_payloads >= MIN_PAYLOADS;
    if ((double)cost->epoch_ns >= epoch_ns && cost->epoch_payloads > 0 && exact) pool_cost_model_end_epoch(cost);
}

void guildhall_cost_unmeasured(guildhall_cost *cost)
{
    if (!cost->ways.trying || ++cost->unmeasured < MOST_UNMEASURED) return;
    cost->unmeasured = 0;
    cost->epoch_ns = cost->epoch_payloads = 0;
    guildhall_comparison_break(&cost->ways, shortest_pause);
}
