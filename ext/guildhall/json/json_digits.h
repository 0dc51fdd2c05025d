/* Decimal digits, eight at a time, where the first byte of a word is its lowest. */
#ifndef GUILDHALL_JSON_DIGITS_H
#define GUILDHALL_JSON_DIGITS_H

#include <stdint.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define GUILDHALL_JSON_BY_WORDS 1

/* How many of eight characters, each with '0' taken off, are digits before the first that is not. */
static inline unsigned guildhall_json_leading_digits(uint64_t word)
{
    uint64_t others = (word | (word + 0x7676767676767676ull)) & 0x8080808080808080ull;
    return others ? (unsigned)__builtin_ctzll(others) >> 3 : 8;
}

/* The value of eight digits, the first in the lowest byte. */
static inline uint64_t guildhall_json_eight_digits(uint64_t word)
{
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ffull;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffffull;
    return (word * 10000 + (word >> 32)) & 0xffffffffull;
}
#endif

#endif
