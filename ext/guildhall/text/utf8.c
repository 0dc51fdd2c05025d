/* A UTF-8 validator: by vectors where the processor can, else ASCII in words of eight bytes and the rest a sequence at
 * a time. */
#include <string.h>
#include "simd.h"
#include "utf8.h"
#include "utf8_vectors.h"

#define HIGH_BITS 0x8080808080808080ull

static inline const uint8_t *utf8_skip_ascii(const uint8_t *bytes, const uint8_t *end)
{
    while (end - bytes >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        if (word & HIGH_BITS) break;
        bytes += 8;
    }
    while (bytes < end && *bytes < 0x80) bytes++;
    return bytes;
}

static inline int utf8_continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/* The length of the valid sequence that starts here, 0 when there is none. */
static inline int utf8_sequence(const uint8_t *bytes, const uint8_t *end)
{
    uint8_t lead = bytes[0];
    long left = end - bytes;
    if (lead >= 0xC2 && lead <= 0xDF) return left >= 2 && utf8_continues(bytes[1]) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        if (left < 3 || !utf8_continues(bytes[1]) || !utf8_continues(bytes[2])) return 0;
        if (lead == 0xE0 && bytes[1] < 0xA0) return 0; /* overlong */
        return lead == 0xED && bytes[1] > 0x9F ? 0 : 3; /* surrogates */
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if (left < 4 || !utf8_continues(bytes[1]) || !utf8_continues(bytes[2]) || !utf8_continues(bytes[3])) return 0;
        if (lead == 0xF0 && bytes[1] < 0x90) return 0; /* overlong */
        return lead == 0xF4 && bytes[1] > 0x8F ? 0 : 4; /* above U+10FFFF */
    }
    return 0;
}

#define WORTH_VECTORS 64 /* bytes; below, setting up the vectors costs more than it saves */

static inline const uint8_t *utf8_skip_blocks(const uint8_t *bytes, const uint8_t *end)
{
#if defined(GUILDHALL_AVX2)
    if (end - bytes >= WORTH_VECTORS && guildhall_simd() == GUILDHALL_SIMD_AVX2) return guildhall_utf8_skip_avx2(bytes, end);
#elif defined(GUILDHALL_UTF8_NEON)
    if (end - bytes >= WORTH_VECTORS && guildhall_simd() != GUILDHALL_SIMD_NONE) return guildhall_utf8_skip_neon(bytes, end);
#endif
    return bytes;
}

const uint8_t *guildhall_utf8_error(const uint8_t *bytes, const uint8_t *end)
{
    bytes = utf8_skip_blocks(bytes, end);
    while ((bytes = utf8_skip_ascii(bytes, end)) < end) {
        do {
            int length = utf8_sequence(bytes, end);
            if (!length) return bytes;
            bytes += length;
        } while (bytes < end && *bytes >= 0x80);
    }
    return end;
}

guildhall_utf8_class guildhall_utf8_classify(const uint8_t *bytes, size_t length)
{
    const uint8_t *end = bytes + length, *first = utf8_skip_ascii(bytes, end);
    if (first == end) return GUILDHALL_UTF8_ASCII;
    return guildhall_utf8_error(first, end) == end ? GUILDHALL_UTF8_VALID : GUILDHALL_UTF8_INVALID;
}
