/* Decimal digits, many at a time. */
#ifndef GUILDHALL_JSON_DIGITS_H
#define GUILDHALL_JSON_DIGITS_H

#include <stdint.h>
#include <string.h>
#include "scan.h"

/* A bit for each of eight characters (with '0' taken off) that is no digit, the topmost of its byte. After the first,
 * bits are exact up to the first character above 0x89 (with '0' taken off). */
static inline uint64_t guildhall_json_others(uint64_t word)
{
    return (word | (word + 0x7676767676767676ull)) & 0x8080808080808080ull;
}

/* How many of eight characters, each with '0' taken off, are digits before the first that is not. */
static inline unsigned guildhall_json_leading_digits(uint64_t word)
{
    uint64_t others = guildhall_json_others(word);
    return others ? (unsigned)__builtin_ctzll(others) >> 3 : 8;
}

/* The value of eight digits, the first in the lowest byte. */
static inline uint64_t guildhall_json_eight_digits(uint64_t word)
{
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffull;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffull;
    return (word * 10000 + (word >> 32)) & 0xffffffffull;
}

static inline uint64_t guildhall_json_load_digits(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    return word ^ 0x3030303030303030ull;
}
#endif

/* Adds the digits at the beginning of eight bytes to *value (which overflows quietly when there are too many); returns how many. A jump for
 * each digit would be one that the processor cannot foresee. */
static inline unsigned guildhall_json_add_digits(const uint8_t *at, uint64_t *value)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t word = guildhall_json_load_digits(at);
    unsigned count = guildhall_json_leading_digits(word), half = 32 - 4 * count; /* no shift by 64 */
    *value = *value * powers[count] + guildhall_json_eight_digits(word << half << half);
    return count;
}

static inline int guildhall_json_is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

static inline const uint8_t *guildhall_json_skip_digits(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8) {
        unsigned count = guildhall_json_leading_digits(guildhall_json_load_digits(at));
        at += count;
        if (count < 8) return at;
    }
    while (at < end && guildhall_json_is_digit(*at)) at++;
    return at;
}

/* How many digits stand at `at` before the first character that is none, and how many characters before the second
 * such character: of those that are looked at together. */
typedef struct {
    unsigned first, second;
} guildhall_json_digit_ends;

#ifdef GUILDHALL_JSON_SSE2
#define GUILDHALL_JSON_LONG_NUMBER 32

static inline uint32_t guildhall_json_digits16(const uint8_t *at)
{
    __m128i digits = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)at), _mm_set1_epi8('0'));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits));
}

/* Of 32 characters; 32 where there is no such one. */
static inline guildhall_json_digit_ends guildhall_json_ends_of_digits(const uint8_t *at)
{
    uint64_t others = ~(uint64_t)(guildhall_json_digits16(at) | guildhall_json_digits16(at + 16) << 16);
    return (guildhall_json_digit_ends){(unsigned)__builtin_ctzll(others), (unsigned)__builtin_ctzll(others & (others - 1))};
}
#endif

