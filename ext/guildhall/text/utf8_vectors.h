/* The vector half of the UTF-8 validator, after Keiser and Lemire, "Validating UTF-8 in less than one instruction per
 * byte" (2021): three table look-ups on the halves of neighbouring bytes give eight kinds of error at once. */
#ifndef GUILDHALL_TEXT_UTF8_VECTORS_H
#define GUILDHALL_TEXT_UTF8_VECTORS_H

#include <stdint.h>
#include "simd.h"

/* What can be wrong with two neighbouring bytes; a bit is set where all three tables agree. */
enum {
    TOO_SHORT = 1 << 0,      /* a lead byte, then no continuation */
    TOO_LONG = 1 << 1,       /* ASCII, then a continuation */
    OVERLONG_3 = 1 << 2,     /* 11100000 100_____ */
    TOO_LARGE = 1 << 3,      /* 11110100 101_____ and above */
    SURROGATE = 1 << 4,      /* 11101101 101_____ */
    OVERLONG_2 = 1 << 5,     /* 1100000_ 10______ */
    TOO_LARGE_1000 = 1 << 6, /* 11110101 1000____ and above */
    OVERLONG_4 = 1 << 6,     /* 11110000 1000____ */
    TWO_CONTINUATIONS = 1 << 7, /* right only as a third or fourth byte, which is checked apart */
    CARRY = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS
};

/* By the high half of the first byte, by its low half, by the high half of the second byte. */
#define FIRST_HIGH \
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TWO_CONTINUATIONS, \
    TWO_CONTINUATIONS, TWO_CONTINUATIONS, TWO_CONTINUATIONS, TOO_SHORT | OVERLONG_2, TOO_SHORT, \
    TOO_SHORT | OVERLONG_3 | SURROGATE, TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4
#define ABOVE (CARRY | TOO_LARGE | TOO_LARGE_1000)
#define FIRST_LOW \
    CARRY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4, CARRY | OVERLONG_2, CARRY, CARRY, CARRY | TOO_LARGE, ABOVE, ABOVE, \
    ABOVE, ABOVE, ABOVE, ABOVE, ABOVE, ABOVE, ABOVE | SURROGATE, ABOVE, ABOVE
#define CONTINUED (TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS)
#define SECOND_HIGH \
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, \
    CONTINUED | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4, CONTINUED | OVERLONG_3 | TOO_LARGE, \
    CONTINUED | SURROGATE | TOO_LARGE, CONTINUED | SURROGATE | TOO_LARGE, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT

/* Each checks whole blocks only. Returns where the scalar check has to go on: at the beginning of a sequence, with
 * everything before it valid; at an error not far behind it, or near the end. */
#ifdef GUILDHALL_AVX2
const uint8_t *guildhall_utf8_skip_avx2(const uint8_t *bytes, const uint8_t *end);
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(GUILDHALL_PORTABLE)
#define GUILDHALL_UTF8_NEON 1
const uint8_t *guildhall_utf8_skip_neon(const uint8_t *bytes, const uint8_t *end);
#endif

/* The beginning of the sequence that `at` may be in the middle of: `at` itself, or up to three bytes before it. */
static inline const uint8_t *guildhall_utf8_boundary(const uint8_t *begin, const uint8_t *at)
{
    for (int back = 1; back <= 3 && at - back >= begin; back++) {
        uint8_t byte = at[-back];
        if (byte >= 0xC0) return at - back;
        if (byte < 0x80) break;
    }
    return at;
}

#endif
