/* The ends of a short text as two words: all of it up to sixteen bytes, and what to look it up by. */
#ifndef GUILDHALL_VALUES_TEXT_ENDS_H
#define GUILDHALL_VALUES_TEXT_ENDS_H

#include <ruby.h>
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

static inline uint32_t guildhall_ends_hash(guildhall_ends ends, size_t length)
{
    return (uint32_t)((ends.head ^ ends.tail * 0x9E3779B97F4A7C15ull ^ length) * 0xff51afd7ed558ccdull >> 32);
}

/* Is it this text? string: what was kept of it, together with its length and its ends; 0: nothing. */
static inline int guildhall_ends_equal(guildhall_ends kept, uint32_t kept_length, VALUE string, guildhall_ends ends,
                                       const uint8_t *bytes, size_t length)
{
    return kept_length == length && kept.head == ends.head && kept.tail == ends.tail && string &&
           (length <= GUILDHALL_ENDS_BYTES || !memcmp(RSTRING_PTR(string), bytes, length));
}

#endif
