/* The clock that the pool measures and waits by. */
#ifndef GUILDHALL_POOL_CLOCK_H
#define GUILDHALL_POOL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t guildhall_pool_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

#endif
