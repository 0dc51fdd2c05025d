/* Small maps are walked; large ones get an index, published once by compare-and-swap: Documents are shared. */
#include <stdlib.h>
#include "msgpack_find.h"

#define WALKED 32 /* pairs */

typedef guildhall_msgpack_index index_table;

static inline int equals(const uint8_t *bytes, guildhall_tape_node node, const uint8_t *key, size_t length)
{
    return guildhall_msgpack_is_text(node) && guildhall_tape_length(node) == length &&
           !memcmp(bytes + guildhall_tape_offset(node), key, length);
}

static uint32_t walk(const uint8_t *bytes, const guildhall_tape_node *nodes, uint32_t map, const uint8_t *key,
                     size_t length)
{
    uint32_t found = 0, end = guildhall_tape_offset(nodes[map]);
    for (uint32_t index = map + 1; index < end;) {
        uint32_t value = guildhall_tape_next(nodes, index);
        if (equals(bytes, nodes[index], key, length)) found = value;
        index = guildhall_tape_next(nodes, value);
    }
    return found;
}

static uint32_t hash(const uint8_t *key, size_t length)
{
    uint64_t value = 0x9E3779B97F4A7C15ull ^ length;
    for (size_t i = 0; i < length; i++) value = (value ^ key[i]) * 0x100000001b3ull;
    return (uint32_t)(value ^ value >> 32);
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t *slot(index_table *table, const uint8_t *bytes, const guildhall_tape_node *nodes, const uint8_t *key,
                      size_t length)
{
    uint32_t at = hash(key, length) & table->mask;
    while (table->slots[at] && !equals(bytes, nodes[table->slots[at]], key, length)) at = (at + 1) & table->mask;
    return &table->slots[at];
}

static index_table *make(const uint8_t *bytes, const guildhall_tape_node *nodes, uint32_t map)
{
    uint32_t slots = 64, end = guildhall_tape_offset(nodes[map]);
    while (slots < 2 * guildhall_tape_length(nodes[map])) slots *= 2;
    index_table *table = calloc(1, sizeof *table + slots * sizeof *table->slots);
    if (!table) return NULL;
    table->map = map;
    table->mask = slots - 1;
    for (uint32_t key = map + 1; key < end;) {
        guildhall_tape_node node = nodes[key];
        if (guildhall_msgpack_is_text(node)) {
            *slot(table, bytes, nodes, bytes + guildhall_tape_offset(node), guildhall_tape_length(node)) = key;
        }
        key = guildhall_tape_next(nodes, guildhall_tape_next(nodes, key));
    }
    return table;
}

static index_table *search(index_table *table, uint32_t map)
{
    while (table && table->map != map) table = table->next;
    return table;
}

/* Two threads may make the same one: the later one finds that out and drops its own. */
static index_table *index_of(const uint8_t *bytes, const guildhall_tape_node *nodes, guildhall_msgpack_indexes *indexes,
                             uint32_t map)
{
    index_table *first = atomic_load_explicit(indexes, memory_order_acquire), *found = search(first, map);
    if (found) return found;
    index_table *made = make(bytes, nodes, map);
    if (!made) return NULL;
    do {
        if ((found = search(first, map))) {
            free(made);
            return found;
        }
        made->next = first;
    } while (!atomic_compare_exchange_weak_explicit(indexes, &first, made, memory_order_acq_rel, memory_order_acquire));
    return made;
}

uint32_t guildhall_msgpack_find(const uint8_t *bytes, const guildhall_tape_node *nodes,
                                guildhall_msgpack_indexes *indexes, uint32_t map, const uint8_t *key, size_t length)
{
    index_table *table = NULL;
    if (guildhall_tape_length(nodes[map]) > WALKED) table = index_of(bytes, nodes, indexes, map);
    if (!table) return walk(bytes, nodes, map, key, length);
    uint32_t place = *slot(table, bytes, nodes, key, length);
    return place ? guildhall_tape_next(nodes, place) : 0;
}

void guildhall_msgpack_indexes_free(guildhall_msgpack_indexes *indexes)
{
    index_table *table = atomic_load_explicit(indexes, memory_order_relaxed);
    while (table) {
        index_table *next = table->next;
        free(table);
        table = next;
    }
}

size_t guildhall_msgpack_indexes_size(guildhall_msgpack_indexes *indexes)
{
    size_t size = 0;
    index_table *table = atomic_load_explicit(indexes, memory_order_acquire);
    for (; table; table = table->next) size += sizeof *table + (table->mask + 1) * sizeof *table->slots;
    return size;
}
