/* A piece of UTF-8 text that the caller owns. Without Ruby. */
#ifndef GUILDHALL_SCHEMA_TEXT_H
#define GUILDHALL_SCHEMA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *bytes;
    size_t length;
} guildhall_text;

static inline bool guildhall_text_equal(guildhall_text a, guildhall_text b)
{
    return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

/* Characters: JSON Schema counts code points. */
static inline size_t guildhall_text_characters(guildhall_text text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) count += (text.bytes[i] & 0xc0) != 0x80;
    return count;
}

/* Mixes at most sixteen bytes, the first and the last eight, with the length: enough to distinguish a schema's names,
 * not for keys that an attacker chooses (tables hold a schema's own texts only). */
static inline uint32_t guildhall_text_hash(guildhall_text text)
{
    uint64_t a = 0, b = 0;
    size_t length = text.length;
    if (length >= 8) {
        memcpy(&a, text.bytes, 8);
        memcpy(&b, text.bytes + length - 8, 8);
    } else if (length >= 4) {
        uint32_t head, tail;
        memcpy(&head, text.bytes, 4);
        memcpy(&tail, text.bytes + length - 4, 4);
        a = head;
        b = tail;
    } else if (length > 0) {
        a = (uint64_t)text.bytes[0] | (uint64_t)text.bytes[length >> 1] << 8 | (uint64_t)text.bytes[length - 1] << 16;
    }
    a = (a ^ b * 0x9e3779b97f4a7c15ull ^ length) * 0xff51afd7ed558ccdull;
    return (uint32_t)(a >> 32);
}

#endif
