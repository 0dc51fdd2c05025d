/* Finds the end of a string: the first quote, backslash or control character, 16 or 32 bytes at a time where the
 * processor can. GUILDHALL_PORTABLE leaves the SIMD paths out. */
#ifndef GUILDHALL_JSON_SCAN_H
#define GUILDHALL_JSON_SCAN_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__) && !defined(GUILDHALL_PORTABLE)
#include <immintrin.h>
#define GUILDHALL_JSON_AVX2 1
#define GUILDHALL_JSON_SSE2 1
#elif defined(__SSE2__) && !defined(GUILDHALL_PORTABLE)
#include <emmintrin.h>
#define GUILDHALL_JSON_SSE2 1
#elif defined(__ARM_NEON) && defined(__aarch64__) && !defined(GUILDHALL_PORTABLE)
#include <arm_neon.h>
#define GUILDHALL_JSON_NEON 1
#endif

/* A bit for each of eight bytes where a string stops, the topmost of its byte. A borrow can only mark bytes above a true stop, so the lowest
 * mark is exact. */
static inline uint64_t guildhall_json_stops8(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101ull;
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    return (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((word - ones * 0x20) & ~word)) & ones << 7;
}

#if defined(GUILDHALL_JSON_SSE2)
static inline unsigned guildhall_json_stops16(__m128i block)
{
    __m128i stops = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(stops, _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block)));
}
#elif defined(GUILDHALL_JSON_NEON)
static inline uint8x16_t guildhall_json_stops16(uint8x16_t block)
{
    uint8x16_t stops = vorrq_u8(vceqq_u8(block, vdupq_n_u8('"')), vceqq_u8(block, vdupq_n_u8('\\')));
    return vorrq_u8(stops, vcltq_u8(block, vdupq_n_u8(0x20)));
}
#endif

/* Returns the first byte that is a quote, a backslash or a control character (or `end`); *high becomes non-zero when
 * a byte before it is above 0x7f. */
static inline const uint8_t *guildhall_json_scan_bytewise(const uint8_t *at, const uint8_t *end, unsigned *high)
{
    for (; at < end; at++) {
        uint8_t byte = *at;
        if (byte == '"' || byte == '\\' || byte < 0x20) break;
        *high |= byte & 0x80;
    }
    return at;
}

#if defined(GUILDHALL_JSON_AVX2)

static inline uint32_t guildhall_json_stops(__m256i block)
{
    __m256i quote = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('"')), backslash = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('\\'));
    __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(block, _mm256_set1_epi8(0x1f)), block); /* byte <= 0x1f */
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(quote, backslash), control));
}

static inline const uint8_t *guildhall_json_scan(const uint8_t *at, const uint8_t *end, unsigned *high)
{
    while (end - at >= 32) {
        __m256i block = _mm256_loadu_si256((const __m256i *)at);
        uint32_t stop = guildhall_json_stops(block), above = (uint32_t)_mm256_movemask_epi8(block);
        if (stop) {
            unsigned position = (unsigned)__builtin_ctz(stop);
            *high |= above & ((1u << position) - 1);
            return at + position;
        }
        *high |= above;
        at += 32;
    }
    return guildhall_json_scan_bytewise(at, end, high);
}

#elif defined(GUILDHALL_JSON_SSE2)

static inline const uint8_t *guildhall_json_scan(const uint8_t *at, const uint8_t *end, unsigned *high)
{
    while (end - at >= 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)at);
        unsigned stop = guildhall_json_stops16(block), above = (unsigned)_mm_movemask_epi8(block);
        if (stop) {
            unsigned position = (unsigned)__builtin_ctz(stop);
            *high |= above & ((1u << position) - 1);
            return at + position;
        }
        *high |= above;
        at += 16;
    }
    return guildhall_json_scan_bytewise(at, end, high);
}

#elif defined(GUILDHALL_JSON_NEON)

static inline const uint8_t *guildhall_json_scan(const uint8_t *at, const uint8_t *end, unsigned *high)
{
    while (end - at >= 16) {
        uint8x16_t block = vld1q_u8(at);
        uint8x16_t stops = guildhall_json_stops16(block);
        /* Narrowing makes four bits of each byte: there is no movemask. */
        uint64_t stop = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(stops), 4)), 0);
        if (stop) {
            unsigned position = (unsigned)__builtin_ctzll(stop) >> 2;
            uint8x16_t above = vcgeq_u8(block, vdupq_n_u8(0x80));
            uint64_t bits = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(above), 4)), 0);
            *high |= (bits & (((uint64_t)1 << (position * 4)) - 1)) != 0;
            return at + position;
        }
        *high |= vmaxvq_u8(block) & 0x80;
        at += 16;
    }
    return guildhall_json_scan_bytewise(at, end, high);
}

#else

static inline const uint8_t *guildhall_json_scan(const uint8_t *at, const uint8_t *end, unsigned *high)
{
    const uint64_t tops = 0x8080808080808080ull;
    while (end - at >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        uint64_t stop = guildhall_json_stops8(word);
        if (stop) {
            unsigned bits = (unsigned)__builtin_ctzll(stop) & ~7u; /* the bits before the byte that stops */
            *high |= bits && (word & tops) << (64 - bits) ? 1 : 0;
            return at + (bits >> 3);
        }
        *high |= word & tops ? 1 : 0;
        at += 8;
    }
    return guildhall_json_scan_bytewise(at, end, high);
}

#endif
#endif
