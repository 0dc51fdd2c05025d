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

/* How much memory `count` texts of `bytes` bytes in all need; `place` lays a table out in as much of it. */
size_t guildhall_table_size(size_t count, size_t bytes);
void guildhall_table_place(guildhall_table *table, void *memory, size_t count);
/* Returns the text's index, a new one or the one it has already. `bytes` points to where its copy goes. */
uint32_t guildhall_table_add(guildhall_table *table, guildhall_text text, uint8_t **bytes);

/* @return the text's index in the order of adding; GUILDHALL_TABLE_NONE when it is not in the table */
static inline uint32_t guildhall_table_find(const guildhall_table *table, guildhall_text text)
{
    for (uint32_t slot = guildhall_text_hash(text);; slot++) {
        uint32_t index = table->slots[slot & table->mask];
        if (index == GUILDHALL_TABLE_NONE || guildhall_text_equal(table->texts[index], text)) return index;
    }
}

#endif
