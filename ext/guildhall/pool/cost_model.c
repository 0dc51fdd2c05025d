/* The table, and the comparison of the two ways to run a batch. */
#include "cost_model.h"

enum {
    MIN_PAYLOADS = 64,         /* payloads that a batch's beginning is judged by: those that run now are not counted yet */
    SETTLING_SAMPLES = 4,        /* samples of a payload's cost that count for half: the very first also load and warm up */
    FIRST_GAP = 16,      /* comparisons until the slower way is tried again, */
    LONGEST_GAP = 1024,  /* twice as many each time that it was slower again, */
    MAX_RATIO = 8       /* and more, by the square of how much slower it was */
};
static const float epoch_ns = 1e7;      /* long enough to hold its share of garbage collections */
static const float worthwhile = 0.9f;   /* a smaller gain is not worth a core that others could use */

/* A power of two of bytes or payloads. */
static unsigned class_of(size_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

size_t guildhall_cost_middle(unsigned class)
{
    return class ? (size_t)3 << (class - 1) >> 1 : 0;
}

guildhall_cost *guildhall_cost_find(guildhall_cost_model *model, uint32_t code, size_t bytes, size_t count)
{
    uint64_t key = (uint64_t)code << 16 | class_of(bytes) << 8 | class_of(count);
    guildhall_cost *set = model->entries[(key * 0x9E3779B97F4A7C15u) >> 57], *oldest = set;
    for (guildhall_cost *entry = set; entry < set + GUILDHALL_COST_WAYS; entry++) {
        if (entry->key == key) {
            entry->used = ++model->clock;
            return entry;
        }
        if (entry->used < oldest->used) oldest = entry;
    }
    *oldest = (guildhall_cost){.key = key, .used = ++model->clock};
    return oldest;
}

double guildhall_cost_read(const guildhall_cost *cost)
{
    return atomic_load_explicit(&cost->payload_ns, memory_order_relaxed);
}

void guildhall_cost_add(guildhall_cost *cost, double payload_ns)
{
    uint32_t samples = atomic_load_explicit(&cost->samples, memory_order_relaxed);
    float known = atomic_load_explicit(&cost->payload_ns, memory_order_relaxed), step = (float)payload_ns - known;
    if (samples == 0) known = (float)payload_ns;
    else known += (step > known ? known : step) / (samples < SETTLING_SAMPLES ? 2 : 8);
    atomic_store_explicit(&cost->payload_ns, known, memory_order_relaxed);
    if (samples < SETTLING_SAMPLES) atomic_store_explicit(&cost->samples, samples + 1, memory_order_relaxed);
}

/* The slower way is tried the more rarely the slower it is, so that trying it costs a few per cent at most. */
static uint32_t comparisons_until_exploration(guildhall_cost *cost, bool changed)
{
    float ratio = cost->each_ns[cost->inline_faster] / cost->each_ns[!cost->inline_faster];
    if (!(ratio > 1)) ratio = 1;
    if (ratio > MAX_RATIO) ratio = MAX_RATIO;
    cost->gap = changed || cost->gap == 0 ? FIRST_GAP : cost->gap * 2 < LONGEST_GAP ? cost->gap * 2 : LONGEST_GAP;
    return (uint32_t)((float)cost->gap * ratio * ratio);
}

/* Compares the cost inline with the cost on workers. Called after an exploration, and when the current way has become slower
 * than the other one was. */
static void compare(guildhall_cost *cost)
{
    bool inline_faster = cost->each_ns[1] > cost->each_ns[0] * worthwhile, changed = inline_faster != cost->inline_faster;
    cost->inline_faster = inline_faster;
    if (cost->exploring || changed) cost->until_exploration = comparisons_until_exploration(cost, changed);
    else cost->until_exploration--;
    cost->exploring = false;
}

/* The median: what else happens on the machine is no part of it. */
static float middle(float one, float two, float three)
{
    float least = one < two ? one : two, most = one < two ? two : one;
    return three < least ? least : three > most ? most : three;
}

static void end_epochs(guildhall_cost *cost, float now)
{
    float *each = &cost->each_ns[guildhall_cost_spreads(cost)];
    *each = *each > 0 && !cost->exploring ? (*each + now) / 2 : now;
    cost->measured = 0;
    if (cost->each_ns[0] <= 0 || (!cost->exploring && cost->until_exploration == 0)) cost->exploring = true;
    else compare(cost);
}

static void end_epoch(guildhall_cost *cost)
{
    float now = cost->epoch_ns / cost->epoch_payloads;
    bool dear = cost->epoch_payloads < MIN_PAYLOADS; /* more of them would take too long */
    cost->epoch_ns = cost->epoch_payloads = 0;
    cost->epochs[cost->measured++] = now;
    if (dear) end_epochs(cost, now);
    else if (cost->measured == GUILDHALL_COST_EPOCHS) end_epochs(cost, middle(cost->epochs[0], cost->epochs[1], cost->epochs[2]));
}

double guildhall_cost_epoch(double payload_ns)
{
    return payload_ns > epoch_ns ? payload_ns : epoch_ns;
}

void guildhall_cost_measured(guildhall_cost *cost, bool spread, bool complete, int64_t ns, size_t payloads)
{
    if (spread != guildhall_cost_spreads(cost)) return;
    cost->epoch_ns += (float)ns;
    cost->epoch_payloads += (float)payloads;
    bool exact = !spread || complete || cost->epoch_payloads >= MIN_PAYLOADS;
    if (cost->epoch_ns >= epoch_ns && cost->epoch_payloads > 0 && exact) end_epoch(cost);
}
