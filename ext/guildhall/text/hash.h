/* Hashes of texts, and the ends of a text as two words: all of it up to sixteen bytes. Without Ruby. */
#ifndef GUILDHALL_TEXT_HASH_H
#define GUILDHALL_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GUILDHALL_ENDS_BYTES 16 /* of texts up to this length the ends say everything */

typedef struct {
    uint64_t head, tail;
} guildhall_ends;

static inline guildhall_ends guildhall_ends_of(const uint8_t *bytes, size_t length)
{
    guildhall_ends ends = {0, 0};
    if (length >= 8) {
        memcpy(&ends.head, bytes, 8);
        memcpy(&ends.tail, bytes + length - 8, 8);
    } else if (length >= 4) {
        uint32_t low, high;
        memcpy(&low, bytes, 4);
        memcpy(&high, bytes + length - 4, 4);
        ends.head = low;
        ends.tail = high;
    } else if (length) {
        ends.head = (uint64_t)bytes[0] | (uint64_t)bytes[length >> 1] << 8 | (uint64_t)bytes[length - 1] << 16;
    }
    return ends;
}

/* Copies a text of up to sixteen bytes, whose ends these are: they may overlap. */
static inline void guildhall_ends_copy(void *to, guildhall_ends ends, size_t length)
{
    uint8_t *out = to;
    if (length >= 8) {
        memcpy(out, &ends.head, 8);
        memcpy(out + length - 8, &ends.tail, 8);
    } else if (length >= 4) {
        uint32_t low = (uint32_t)ends.head, high = (uint32_t)ends.tail;
        memcpy(out, &low, 4);
        memcpy(out + length - 4, &high, 4);
    } else if (length) {
        out[0] = (uint8_t)ends.head;
        out[length >> 1] = (uint8_t)(ends.head >> 8);
        out[length - 1] = (uint8_t)(ends.head >> 16);
    }
}

/* Of the ends and the length alone, and without a seed: for what nobody outside chooses, and for caches. */
static inline uint32_t guildhall_ends_hash(guildhall_ends ends, size_t length)
{
    return (uint32_t)((ends.head ^ ends.tail * 0x9E3779B97F4A7C15ull ^ length) * 0xff51afd7ed558ccdull >> 32);
}

static inline uint64_t guildhall_mix(uint64_t left, uint64_t right)
{
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hard to predict without the seed, so that a payload whose keys all fall into one place cannot be written. */
static inline uint32_t guildhall_key_hash(const uint8_t *text, size_t length, uint64_t seed)
{
    uint64_t hash = seed ^ length;
    for (; length > GUILDHALL_ENDS_BYTES; text += 16, length -= 16) {
        uint64_t head, tail;
        memcpy(&head, text, 8);
        memcpy(&tail, text + 8, 8);
        hash = guildhall_mix(head ^ hash, tail ^ 0x9E3779B97F4A7C15ull ^ seed);
    }
    guildhall_ends rest = guildhall_ends_of(text, length);
    hash = guildhall_mix(rest.head ^ hash, rest.tail ^ 0xd6e8feb86659fd93ull ^ seed);
    return (uint32_t)(hash * 0x9E3779B97F4A7C15ull >> 32); /* numbered keys would lie in clusters without it, under one seed in a hundred */
}

/* A place below `count` for a hash: every place equally often, whatever the count. */
static inline uint32_t guildhall_key_place(uint32_t hash, uint32_t count) { return (uint32_t)((uint64_t)hash * count >> 32); }

/* The secret of this process, drawn when it is first asked for: hashes that a payload's author must not foresee are mixed with it. */
uint64_t guildhall_hash_seed(void);

#endif
