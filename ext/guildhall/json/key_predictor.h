/* Keys that were seen before, and which one followed which.
 *
 * Where a string ends is known only after it has been looked at, and where the next thing begins only then: a chain that
 * the processor cannot shorten. But the key that follows another is mostly the one that followed it last time: to compare
 * it is enough, and its length is known beforehand. Without Ruby.
 *
 * A key's cue says which keys came before it: the last two, and a little of the one before them. One is not enough: after
 * "id" each kind of object has another key.
 */
#ifndef GUILDHALL_JSON_KEY_PREDICTOR_H
#define GUILDHALL_JSON_KEY_PREDICTOR_H

#include "duplicates.h"
#include "scan.h"

/* Does this key stand at `at`? There is more of the text, if so. */
static inline int guildhall_json_stands_at(const guildhall_json_known_key *known, const uint8_t *at, const uint8_t *end)
{
    if (__builtin_expect(end - at <= GUILDHALL_JSON_KNOWN_BYTES, 0))
        return end - at > known->span && !memcmp(known->bytes, at, known->span);
#if defined(GUILDHALL_JSON_AVX2)
    __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)known->bytes), _mm256_loadu_si256((const __m256i *)at));
    return !(~(uint32_t)_mm256_movemask_epi8(same) & known->mask);
#elif defined(GUILDHALL_JSON_SSE2)
    const __m128i *known_bytes = (const __m128i *)known->bytes, *text = (const __m128i *)at;
    unsigned low = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text), _mm_loadu_si128(known_bytes)));
    unsigned high = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(text + 1), _mm_loadu_si128(known_bytes + 1)));
    return !(~(low | high << 16) & known->mask);
#else
    return !memcmp(known->bytes, at, known->span);
#endif
}

#define GUILDHALL_JSON_CUES (1u << GUILDHALL_JSON_CUE_BITS)

/* Of the key after the one in this slot, whose own cue is given; of the first key in what that one leads to. */
static inline uint32_t guildhall_json_cue_after(uint32_t cue, uint16_t slot) { return (cue << 5 ^ slot) & (GUILDHALL_JSON_CUES - 1); }
static inline uint32_t guildhall_json_cue_inside(uint32_t cue) { return cue ^ (GUILDHALL_JSON_CUES / 3); }

#define GUILDHALL_JSON_KNOWN_LENGTH (GUILDHALL_JSON_KNOWN_BYTES - 3)

/* The slot of this key (ASCII, without escapes, of up to GUILDHALL_JSON_KNOWN_LENGTH bytes), which is known from now on. */
static inline uint16_t guildhall_json_note_key(guildhall_json_known_key *keys, const uint8_t *text, size_t length, uint64_t print)
{
    uint16_t slot = (uint16_t)(print >> (64 - GUILDHALL_JSON_KNOWN_BITS));
    guildhall_json_known_key *known = &keys[slot];
    guildhall_json_node node = guildhall_json_make(GUILDHALL_JSON_ASCII, length, 0);
    if (known->print == print && known->node == node) return slot;
    known->bytes[0] = known->bytes[length + 1] = '"';
    known->bytes[length + 2] = ':';
    memcpy(known->bytes + 1, text, length);
    known->span = (uint32_t)length + 3;
    known->mask = (uint32_t)(((uint64_t)1 << known->span) - 1);
    known->node = (uint32_t)node;
    known->print = print;
    return slot;
}

#define GUILDHALL_JSON_WINDOW 128    /* keys that were not foreseen */
#define GUILDHALL_JSON_WORTH 6       /* nodes for each of them: fewer, and more than a third of the keys are not foreseen */
#define GUILDHALL_JSON_BLIND 4096    /* keys, at most about twice as many */

/* Of a key that was not foreseen: is it worth being known? Where keys vary, comparing and noting them in vain costs up to a quarter of the
 * time: it is left for a while, the longer the more often it was found to be of no use. nodes: of the text so far. */
static inline int guildhall_json_worth_knowing(guildhall_json_scratch *scratch, size_t nodes)
{
    if (scratch->blind) {
        if (!--scratch->blind) scratch->passed = 0 - nodes;
        return 0;
    }
    if (++scratch->missed < GUILDHALL_JSON_WINDOW) return 1;
    int varied = scratch->passed + nodes < GUILDHALL_JSON_WINDOW * GUILDHALL_JSON_WORTH;
    if (!varied) scratch->pause = 0;
    else if (scratch->pause < GUILDHALL_JSON_BLIND) scratch->pause = scratch->pause * 2 + 2 * GUILDHALL_JSON_WINDOW;
    scratch->blind = varied ? scratch->pause : 0;
    scratch->missed = 0;
    scratch->passed = 0 - nodes;
    return 1;
}

#endif
