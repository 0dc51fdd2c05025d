/* How durations are distributed: a counter for each quarter of a power of two, added to from any Ractor. */
#ifndef GUILDHALL_POOL_HISTOGRAM_H
#define GUILDHALL_POOL_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { GUILDHALL_HISTOGRAM_BUCKETS = 160 };

typedef struct {
    _Atomic uint64_t counts[GUILDHALL_HISTOGRAM_BUCKETS];
} guildhall_histogram;

void guildhall_histogram_add(guildhall_histogram *, int64_t nanoseconds);
/* The duration that this share of all samples stays below, in nanoseconds, 12 % too long at most; 0: no samples. */
double guildhall_histogram_quantile(const guildhall_histogram *, double share);

#endif
