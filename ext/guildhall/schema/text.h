/* Pieces of UTF-8 text that the caller owns, and sets of them. Without Ruby. */
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

/* A fixed set of texts, each with a number: open addressing, at most half full. Built once, then only read. */
typedef struct {
    uint32_t mask;         /* slots - 1; slots are a power of two */
    uint32_t count;
    uint32_t *slots;       /* index of an entry, or GUILDHALL_TABLE_NONE */
    guildhall_text *texts; /* in the order they were added */
} guildhall_table;

#define GUILDHALL_TABLE_NONE UINT32_MAX

/* The text's slot, or the free one where it belongs. */
static inline uint32_t *guildhall_table_slot(const guildhall_table *table, guildhall_text text)
{
    for (uint32_t slot = guildhall_text_hash(text);; slot++) {
        uint32_t *index = &table->slots[slot & table->mask];
        if (*index == GUILDHALL_TABLE_NONE || guildhall_text_equal(table->texts[*index], text)) return index;
    }
}

/* The text's index in the order of adding; GUILDHALL_TABLE_NONE when it is not in the table. */
static inline uint32_t guildhall_table_find(const guildhall_table *table, guildhall_text text) { return *guildhall_table_slot(table, text); }

#endif
