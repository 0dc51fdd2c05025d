/* A fixed set of texts, each with a number: open addressing, at most half full. Built once, then only read. */
#ifndef GUILDHALL_SCHEMA_TABLE_H
#define GUILDHALL_SCHEMA_TABLE_H

#include "text.h"

#define GUILDHALL_TABLE_NONE UINT32_MAX

typedef struct {
    uint32_t mask;    /* slots - 1; slots are a power of two */
    uint32_t count;
    uint32_t *slots;  /* index of an entry, or GUILDHALL_TABLE_NONE */
    guildhall_text *texts; /* in the order they were added; the bytes are the table's own */
} guildhall_table;

/* @return the text's index in the order of adding; GUILDHALL_TABLE_NONE when it is not in the table */
static inline uint32_t guildhall_table_find(const guildhall_table *table, guildhall_text text)
{
    for (uint32_t slot = guildhall_text_hash(text);; slot++) {
        uint32_t index = table->slots[slot & table->mask];
        if (index == GUILDHALL_TABLE_NONE || guildhall_text_equal(table->texts[index], text)) return index;
    }
}

#endif
