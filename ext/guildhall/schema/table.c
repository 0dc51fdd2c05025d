#include "table.h"

static uint32_t schema_table_slots_for(size_t count)
{
    uint32_t slots = 4;
    while (slots < count * 2) slots *= 2;
    return slots;
}

size_t guildhall_table_size(size_t count, size_t bytes)
{
    return count * sizeof(guildhall_text) + schema_table_slots_for(count) * sizeof(uint32_t) + bytes;
}

void guildhall_table_place(guildhall_table *table, void *memory, size_t count)
{
    uint32_t slots = schema_table_slots_for(count);
    table->texts = memory;
    table->slots = (uint32_t *)(table->texts + count);
    table->mask = slots - 1;
    table->count = 0;
    for (uint32_t i = 0; i < slots; i++) table->slots[i] = GUILDHALL_TABLE_NONE;
}

uint32_t guildhall_table_add(guildhall_table *table, guildhall_text text, uint8_t **bytes)
{
    uint32_t slot = guildhall_text_hash(text) & table->mask;
    while (table->slots[slot] != GUILDHALL_TABLE_NONE) {
        if (guildhall_text_equal(table->texts[table->slots[slot]], text)) return table->slots[slot];
        slot = (slot + 1) & table->mask;
    }
    memcpy(*bytes, text.bytes, text.length);
    table->texts[table->count] = (guildhall_text){*bytes, text.length};
    *bytes += text.length;
    return table->slots[slot] = table->count++;
}
