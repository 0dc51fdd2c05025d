/* A piece of UTF-8 text that the caller owns. Without Ruby. */
#ifndef GUILDHALL_SCHEMA_TEXT_H
#define GUILDHALL_SCHEMA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "text/hash.h"

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

/* Enough to distinguish a schema's names, not for keys that an attacker chooses (tables hold a schema's own texts only). */
static inline uint32_t guildhall_text_hash(guildhall_text text)
{
    return guildhall_ends_hash(guildhall_ends_of(text.bytes, text.length), text.length);
}

#endif
