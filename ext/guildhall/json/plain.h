/* Copies a text that needs no escapes, and finds out on the way whether it does: most texts are short, and to look and to
 * copy apart costs them twice. Without Ruby. */
#ifndef GUILDHALL_JSON_PLAIN_H
#define GUILDHALL_JSON_PLAIN_H

#include "scan.h"

/* Does one of eight bytes need an escape? A borrow can only mark more bytes where one is marked rightly. */
static inline int guildhall_json_word_escapes(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    return ((((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((word - ones * 0x20) & ~word)) & tops) != 0;
}

/* Copies eight bytes; 0 when one of them needs an escape. */
static inline int guildhall_json_copy_8(char *to, const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
    memcpy(to, &word, 8);
    return !guildhall_json_word_escapes(word);
}

/* Sixteen of them. */
static inline int guildhall_json_copy_16(char *to, const uint8_t *from)
{
#if defined(GUILDHALL_JSON_SSE2)
    __m128i block = _mm_loadu_si128((const __m128i *)from);
    _mm_storeu_si128((__m128i *)to, block);
    __m128i stops = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block)); /* byte <= 0x1f */
    return !_mm_movemask_epi8(stops);
#elif defined(GUILDHALL_JSON_NEON)
    uint8x16_t block = vld1q_u8(from);
    vst1q_u8((uint8_t *)to, block);
    uint8x16_t stops = vorrq_u8(vceqq_u8(block, vdupq_n_u8('"')), vceqq_u8(block, vdupq_n_u8('\\')));
    return !vmaxvq_u8(vorrq_u8(stops, vcltq_u8(block, vdupq_n_u8(0x20))));
#else
    return guildhall_json_copy_8(to, from) & guildhall_json_copy_8(to + 8, from + 8);
#endif
}

static inline int guildhall_json_copy_short(char *to, const uint8_t *from, size_t length)
{
    uint64_t word = 0x2020202020202020ull; /* spaces need no escape */
    if (length >= 4) {
        uint32_t ends[2];
        memcpy(ends, from, 4);
        memcpy(ends + 1, from + length - 4, 4);
        memcpy(to, ends, 4);
        memcpy(to + length - 4, ends + 1, 4);
        memcpy(&word, ends, 8);
    } else {
        uint8_t bytes[8];
        memcpy(bytes, &word, 8);
        for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)(to[i] = (char)from[i]);
        memcpy(&word, bytes, 8);
    }
    return !guildhall_json_word_escapes(word);
}

/* 0 when something needs an escape: what has been copied by then is of no use. What does not fill a block is copied
 * with bytes before it, once more. */
static inline int guildhall_json_copy_plain(char *to, const uint8_t *from, size_t length)
{
    if (length < 8) return guildhall_json_copy_short(to, from, length);
    if (length < 16) return guildhall_json_copy_8(to, from) & guildhall_json_copy_8(to + length - 8, from + length - 8);
    for (size_t i = 0; i + 16 < length; i += 16) {
        if (!guildhall_json_copy_16(to + i, from + i)) return 0;
    }
    return guildhall_json_copy_16(to + length - 16, from + length - 16);
}

#endif
