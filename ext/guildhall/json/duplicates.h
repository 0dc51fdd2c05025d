/* Keys that occur twice in one object.
 *
 * Objects of one kind have the same keys in the same order. Lists of keys that were found to be unique are remembered
 * by their fingerprints, so that most objects cost no more than the fingerprint. */
#ifndef GUILDHALL_JSON_DUPLICATES_H
#define GUILDHALL_JSON_DUPLICATES_H

#include "parse.h"
#include "text/hash.h"

/* A fingerprint of a key, of all its bytes, wherever it stands. text_end: of the source. No jump depends on the length of a short key: the
 * processor could not foresee it. The seed, which is secret, is in both factors of the product: bytes that make one of them zero
 * would make all keys that have them alike. */
static inline uint64_t guildhall_json_fingerprint(const uint8_t *text, size_t length, const uint8_t *text_end,
                                                  uint64_t seed)
{
    uint64_t so_far = seed;
    static const uint8_t masks[16] = {255, 255, 255, 255, 255, 255, 255, 255}; /* the first bytes of eight, whatever their order in a word */
    int64_t beyond = (int64_t)length - 8, is_short = beyond >> 63; /* all ones when there are less than 8 bytes */
    uint64_t head = 0, tail = 0, mask;
    int64_t last = beyond & ~is_short;
    memcpy(&mask, masks - (beyond & is_short), 8);
    if (__builtin_expect(text_end - text >= 8, 1)) {
        memcpy(&head, text, 8);
        memcpy(&tail, text + last, 8);
    } else {
        memcpy(&head, text, length);
        tail = head;
    }
    for (size_t i = 8; __builtin_expect(i + 8 < length, 0); i += 8) {
        uint64_t middle;
        memcpy(&middle, text + i, 8);
        so_far = guildhall_mix(so_far ^ middle, seed);
    }
    return guildhall_mix(so_far ^ (head & mask), (tail & mask) ^ (0x9E3779B97F4A7C15ull + length) ^ seed);
}

/* A fingerprint of a list of keys, in their order: `list` (the seed, where it is empty) and one key more. Two lists with
 * one fingerprint are (but for an accident of 64 bits, and the seed is secret) the same. Neither factor is zero: that
 * would make all lists of one length alike. */
static inline uint64_t guildhall_json_fingerprint_of_list(uint64_t list, uint64_t key)
{
    return guildhall_mix(list ^ 0xa0761d6478bd642full, key ^ 0xd6e8feb86659fd93ull);
}

/* The index of the first key that occurred before in the closed object at `object`; 0 when keys are unique, UINT32_MAX
 * when there is no memory. Linear in the number of keys. */
uint32_t guildhall_json_duplicate(guildhall_json_view view, uint32_t object, guildhall_json_scratch *scratch);

/* Leaves one pair a key in every object that is marked GUILDHALL_JSON_REPEATED: at the place of the first, with the value of the
 * last. The tape is `count` nodes long; returns its new length, 0 when there is no memory. Linear in the length of the tape. */
size_t guildhall_json_keep_last(guildhall_json_view view, guildhall_json_node *nodes, size_t count, uint32_t max_nesting,
                                guildhall_json_scratch *scratch);

#endif
