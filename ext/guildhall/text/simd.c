#include "simd.h"
#include <stdlib.h>
#include <string.h>

static guildhall_simd_level level;

static guildhall_simd_level simd_find_level(void)
{
    const char *wanted = getenv("GUILDHALL_SIMD");
    if (wanted && !strcmp(wanted, "none")) return GUILDHALL_SIMD_NONE;
    if (wanted && !strcmp(wanted, "base")) return GUILDHALL_SIMD_BASE;
#ifdef GUILDHALL_AVX2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return GUILDHALL_SIMD_AVX2;
#endif
    return GUILDHALL_SIMD_BASE;
}

guildhall_simd_level guildhall_simd(void)
{
    guildhall_simd_level known = __atomic_load_n(&level, __ATOMIC_RELAXED);
    if (__builtin_expect(known != 0, 1)) return known;
    known = simd_find_level(); /* the same for every thread */
    __atomic_store_n(&level, known, __ATOMIC_RELAXED);
    return known;
}
