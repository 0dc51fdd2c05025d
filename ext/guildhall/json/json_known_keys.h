/* Keys that were seen before, and which one followed which.
 *
 * Where a string ends is known only after it has been looked at, and where the next thing begins only then: a chain that
 * the processor cannot shorten. But the key that follows another is mostly the one that followed it last time: to compare
 * it is enough, and its length is known beforehand. Without Ruby.
 */
#ifndef GUILDHALL_JSON_KNOWN_KEYS_H
#define GUILDHALL_JSON_KNOWN_KEYS_H

#include "json_duplicates.h"
#include "json_scan.h"

/* Does this key, with its closing quote, stand at `at`? */
static inline int guildhall_json_stands_at(const guildhall_json_known_key *known, const uint8_t *at, const uint8_t *end)
{
    if (__builtin_expect(end - at < GUILDHALL_JSON_KNOWN_BYTES || !known->mask, 0)) return 0;
#ifdef GUILDHALL_JSON_SSE2
    const __m128i *known_bytes = (const __m128i *)known->bytes, *text = (const __m128i *)at;
    unsigned low = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text), _mm_loadu_si128(known_bytes)));
    unsigned high = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text + 1), _mm_loadu_si128(known_bytes + 1)));
    return !(~(low | high << 16) & known->mask);
#else
    return !memcmp(known->bytes, at, known->length + 1u);
#endif
}

/* Notes that this key (of up to 31 bytes, all ASCII, without escapes) followed the one in slot `previous`, or (inside) is
 * the first in what that one leads to; returns its slot. print: its fingerprint. */
static inline uint16_t guildhall_json_note_key(guildhall_json_known_key *keys, uint16_t previous, int inside,
                                              const uint8_t *text, size_t length, uint64_t print)
{
    uint16_t slot = (uint16_t)(print >> (64 - GUILDHALL_JSON_KNOWN_BITS));
    guildhall_json_known_key *known = &keys[slot];
    keys[previous].next[inside] = slot;
    if (known->print != print || known->length != length) {
        memcpy(known->bytes, text, length);
        known->bytes[length] = '"';
        known->mask = (uint32_t)(((uint64_t)2 << length) - 1); /* a bit for each byte and one for the quote */
        known->length = (uint16_t)length;
        known->print = print;
    }
    return slot;
}

#endif
