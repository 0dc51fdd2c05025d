/* A hash of a key's text. Without Ruby. */
#ifndef GUILDHALL_VALUES_KEY_HASH_H
#define GUILDHALL_VALUES_KEY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t guildhall_mix(uint64_t left, uint64_t right)
{
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hard to predict without the seed, so that a payload whose keys all fall into one place cannot be written. */
static inline uint32_t guildhall_key_hash(const uint8_t *text, size_t length, uint64_t seed)
{
    uint64_t hash = seed ^ length, head, tail;
    for (; length > 16; text += 16, length -= 16) {
        memcpy(&head, text, 8);
        memcpy(&tail, text + 8, 8);
        hash = guildhall_mix(head ^ hash, tail ^ 0x9E3779B97F4A7C15ull ^ seed);
    }
    head = tail = 0;
    if (length >= 8) {
        memcpy(&head, text, 8);
        memcpy(&tail, text + length - 8, 8);
    } else if (length >= 4) {
        memcpy(&head, text, 4);
        memcpy(&tail, text + length - 4, 4);
    } else if (length) {
        head = (uint64_t)text[0] | (uint64_t)text[length >> 1] << 8 | (uint64_t)text[length - 1] << 16;
    }
    hash = guildhall_mix(head ^ hash, tail ^ 0xd6e8feb86659fd93ull ^ seed);
    return (uint32_t)(hash * 0x9E3779B97F4A7C15ull >> 32); /* numbered keys would lie in clusters without it, under one seed in a hundred */
}

/* A place below `count` for a hash: every place equally often, whatever the count. */
static inline uint32_t guildhall_key_place(uint32_t hash, uint32_t count) { return (uint32_t)((uint64_t)hash * count >> 32); }

#endif
