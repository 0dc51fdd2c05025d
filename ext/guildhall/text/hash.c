#include "hash.h"
#include <guildhall/platform.h>
#include <stdatomic.h>
#include <time.h>

uint64_t guildhall_hash_seed(void)
{
    static _Atomic uint64_t secret;
    uint64_t known = atomic_load_explicit(&secret, memory_order_relaxed), drawn = 0;
    if (known) return known;
    if (!guildhall_random_bytes(&drawn, sizeof drawn)) drawn = (uint64_t)(uintptr_t)&drawn ^ (uint64_t)time(NULL) << 32;
    drawn |= 1;
    return atomic_compare_exchange_strong(&secret, &known, drawn) ? drawn : known; /* that of the thread that came first */
}
