/* How wide the vectors are that this processor works with. Without Ruby. */
#ifndef GUILDHALL_TEXT_SIMD_H
#define GUILDHALL_TEXT_SIMD_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(GUILDHALL_PORTABLE)
#define GUILDHALL_AVX2 1
#ifndef __clang__
#define GUILDHALL_AVX2_FILES 1 /* whole files can be compiled for it by a pragma */
#endif
#endif

typedef enum {
    GUILDHALL_SIMD_NONE = 1, /* no vectors: by words */
    GUILDHALL_SIMD_BASE,     /* what every processor of the architecture has */
    GUILDHALL_SIMD_AVX2
} guildhall_simd_level;

/* The best this processor has, or less where the environment says GUILDHALL_SIMD=none or GUILDHALL_SIMD=base when it is
 * first asked for: so that tests reach every path on one machine. */
guildhall_simd_level guildhall_simd(void);

#endif
