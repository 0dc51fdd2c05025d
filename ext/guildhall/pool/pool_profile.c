/* Learning what pays. For each pair of payload size and batch size two numbers are kept: what a batch costs inline and
 * what it costs on workers, all hand-overs included. The smaller one wins; the other is tried again now and then. */
#include "pool_profile.h"

enum {
    FIRST_SAMPLES = 2,       /* of each way, before they are compared */
    PROBE_CLOSE = 64,        /* one decision in so many tries the other way, where that is nearly as good */
    PROBE_FAR = 1024         /* and where it is not */
};
/* Before anything is measured: decoding takes about 4 ns a byte, and something even for nothing. */
static const double guess_ns = 500, guess_ns_a_byte = 4;
static const double brief_ns = 5e6;
/* Waiting for workers has to pay: a small gain is not worth a core that others could use. */
static const double worthwhile = 0.9, worthwhile_in_a_crowd = 2;
/* What the first try of a second worker is expected to add. */
static const double expected_gain = 0.6;

static unsigned power_of_two(size_t number, unsigned limit)
{
    unsigned bits = number ? 64 - (unsigned)__builtin_clzll(number) : 0;
    return bits < limit ? bits : limit - 1;
}

unsigned guildhall_byte_class(size_t bytes) { return power_of_two(bytes, GUILDHALL_BYTE_CLASSES); }
unsigned guildhall_count_class(size_t count) { return power_of_two(count, GUILDHALL_COUNT_CLASSES); }

double guildhall_estimate_read(const guildhall_estimate *estimate)
{
    return atomic_load_explicit(&estimate->nanoseconds, memory_order_relaxed);
}

static uint32_t samples(const guildhall_estimate *estimate)
{
    return atomic_load_explicit(&estimate->samples, memory_order_relaxed);
}

void guildhall_estimate_add(guildhall_estimate *estimate, double nanoseconds)
{
    uint32_t seen = samples(estimate);
    double mean = guildhall_estimate_read(estimate);
    /* One sample while the machine was busy elsewhere must not turn a decision; the first ones may be far off. */
    if (seen > 3 && nanoseconds > 4 * mean) nanoseconds = 4 * mean;
    double weight = seen < 7 ? 1.0 / (seen + 1) : 0.125;
    if (seen == 1 && nanoseconds < mean) weight = 1; /* the very first run also loads and warms up */
    atomic_store_explicit(&estimate->nanoseconds, (float)(mean + (nanoseconds - mean) * weight), memory_order_relaxed);
    if (seen < UINT32_MAX) atomic_store_explicit(&estimate->samples, seen + 1, memory_order_relaxed);
}

double guildhall_profile_cost(const guildhall_profile *profile, size_t bytes)
{
    const guildhall_estimate *known = &profile->cost[guildhall_byte_class(bytes)];
    return samples(known) ? guildhall_estimate_read(known) : guess_ns + guess_ns_a_byte * (double)bytes;
}

bool guildhall_profile_brief(const guildhall_profile *profile, size_t count, size_t bytes)
{
    const guildhall_estimate *known = &profile->cost[guildhall_byte_class(bytes)];
    return samples(known) && guildhall_estimate_read(known) * (double)count < brief_ns;
}

static double expected_parallel(const guildhall_profile *profile, size_t count, size_t bytes, const guildhall_crew *crew)
{
    size_t hands = crew->workers < count ? crew->workers : count;
    double speed = hands > 1 ? 1 + (double)(hands - 1) * expected_gain : 1;
    return guildhall_profile_cost(profile, bytes) / speed + (double)crew->handover_ns / (double)count;
}

bool guildhall_profile_parallel(guildhall_profile *profile, size_t count, size_t bytes, const guildhall_crew *crew)
{
    if (count == 0 || crew->workers == 0) return false;
    guildhall_cell *cell = &profile->cells[guildhall_byte_class(bytes)][guildhall_count_class(count)];
    uint32_t decision = atomic_fetch_add_explicit(&cell->decisions, 1, memory_order_relaxed);
    uint32_t inlined_seen = samples(&cell->inlined), parallel_seen = samples(&cell->parallel);
    double inlined = inlined_seen ? guildhall_estimate_read(&cell->inlined) : guildhall_profile_cost(profile, bytes);
    double parallel = parallel_seen ? guildhall_estimate_read(&cell->parallel)
                                    : expected_parallel(profile, count, bytes, crew);
    if (crew->crowded) return parallel < inlined * worthwhile_in_a_crowd;
    bool better = parallel < inlined * worthwhile;
    uint32_t other_seen = better ? inlined_seen : parallel_seen;
    double ratio = better ? inlined / parallel : parallel / inlined;
    if (ratio < 2 && other_seen < FIRST_SAMPLES && decision >= FIRST_SAMPLES) return !better;
    uint32_t period = ratio < 1.5 ? PROBE_CLOSE : PROBE_FAR;
    if (ratio < 4 && decision % period == period - 1) return !better;
    return better;
}

void guildhall_profile_learn(guildhall_profile *profile, size_t count, size_t bytes, bool parallel, int64_t nanoseconds)
{
    if (count == 0) return;
    guildhall_cell *cell = &profile->cells[guildhall_byte_class(bytes)][guildhall_count_class(count)];
    guildhall_estimate_add(parallel ? &cell->parallel : &cell->inlined, (double)nanoseconds / (double)count);
}
