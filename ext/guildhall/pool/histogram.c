/* Durations by order of magnitude. */
#include "histogram.h"

static unsigned pool_histogram_bucket_of(uint64_t value)
{
    if (value < 4) return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned bucket = (power - 1) * 4 + ((value >> (power - 2)) & 3);
    return bucket < GUILDHALL_HISTOGRAM_BUCKETS ? bucket : GUILDHALL_HISTOGRAM_BUCKETS - 1;
}

/* Half-way between the bucket's limits. */
static double pool_histogram_middle_of(unsigned bucket)
{
    if (bucket < 4) return bucket;
    unsigned power = bucket / 4 + 1;
    return (double)(4 + bucket % 4) * (double)(1ULL << (power - 2)) * 1.125;
}

void guildhall_histogram_add(guildhall_histogram *histogram, int64_t nanoseconds)
{
    unsigned bucket = pool_histogram_bucket_of(nanoseconds > 0 ? (uint64_t)nanoseconds : 0);
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
}

double guildhall_histogram_quantile(const guildhall_histogram *histogram, double share)
{
    uint64_t total = 0, seen = 0;
    for (unsigned i = 0; i < GUILDHALL_HISTOGRAM_BUCKETS; i++) total += atomic_load(&histogram->counts[i]);
    for (unsigned i = 0; i < GUILDHALL_HISTOGRAM_BUCKETS && total; i++) {
        seen += atomic_load(&histogram->counts[i]);
        if ((double)seen >= share * (double)total) return pool_histogram_middle_of(i);
    }
    return 0;
}
