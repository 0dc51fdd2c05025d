/* Is it ASCII? Inline, for the short texts that payloads are full of. Without Ruby. */
#ifndef GUILDHALL_TEXT_ASCII_H
#define GUILDHALL_TEXT_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t guildhall_eight_bytes(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

/* From eight bytes on, the last eight are looked at once more instead of one by one. */
static inline int guildhall_ascii(const uint8_t *bytes, size_t length)
{
    uint64_t all = 0;
    if (length < 8) {
        for (size_t i = 0; i < length; i++) all |= bytes[i];
        return all < 0x80;
    }
    const uint8_t *last = bytes + length - 8;
    for (; last - bytes >= 32; bytes += 32) { /* no way out inside: four words at once are one vector */
        all |= guildhall_eight_bytes(bytes) | guildhall_eight_bytes(bytes + 8) | guildhall_eight_bytes(bytes + 16) |
               guildhall_eight_bytes(bytes + 24);
    }
    for (; bytes < last; bytes += 8) all |= guildhall_eight_bytes(bytes);
    return !((all | guildhall_eight_bytes(last)) & 0x8080808080808080ull);
}

#endif
