/* The table, and what is measured of batches. */
#include "cost_model.h"

enum {
    MIN_PAYLOADS = 64,         /* payloads that a batch's beginning is judged by: those that run now are not counted yet */
    MOST_UNMEASURED = 8,       /* batches in a row: a trial that cannot be measured must not go on with the slower way */
    WARM_UP = 3,               /* epochs that do not count: workers start, files are loaded, memory grows */
    SETTLING_SAMPLES = 4       /* samples of a payload's cost that count for half: the very first also load and warm up */
};
static const double epoch_ns = 1e7;      /* long enough to hold its share of garbage collections */
static const guildhall_comparison_terms terms = {
    .least_gain = 1.1, .most_per_pair = 0.21, .most_pairs = 8, .shortest_pause = 5e8, .longest_pause = 6e10,
    .most_pause = 2};

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

static void pool_cost_model_end_epoch(guildhall_cost *cost)
{
    double each = (double)cost->epoch_ns / (double)cost->epoch_payloads;
    if (cost->warm < WARM_UP) cost->warm++;
    else guildhall_comparison_add(&cost->ways, &terms, each, (double)cost->epoch_ns);
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
    guildhall_comparison_break(&cost->ways, terms.shortest_pause);
}
