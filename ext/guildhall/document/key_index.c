/* Open addressing; a list of indexes that only grows, its head exchanged by compare-and-swap. */
#include <stdlib.h>
#include <string.h>
#include "key_index.h"

typedef guildhall_key_index index_table;

index_table *guildhall_key_index_new(uint32_t map, uint32_t count)
{
    uint32_t slots = 64;
    while (slots < (uint64_t)count * 3 / 2) slots *= 2;
    index_table *index = calloc(1, sizeof *index + slots * sizeof *index->slots);
    if (!index) return NULL;
    index->map = map;
    index->mask = slots - 1;
    return index;
}

static uint32_t hash(guildhall_key key)
{
    uint64_t value = 0x9E3779B97F4A7C15ull ^ key.length;
    for (size_t i = 0; i < key.length; i++) value = (value ^ key.bytes[i]) * 0x100000001b3ull;
    return (uint32_t)(value ^ value >> 32);
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t slot(const index_table *index, guildhall_key key, guildhall_key_at *key_at, const void *payload)
{
    uint32_t at = hash(key) & index->mask;
    for (; index->slots[at]; at = (at + 1) & index->mask) {
        guildhall_key found = key_at(payload, index->slots[at]);
        if (found.length == key.length && !memcmp(found.bytes, key.bytes, key.length)) break;
    }
    return at;
}

void guildhall_key_index_put(index_table *index, guildhall_key key, uint32_t place, guildhall_key_at *key_at,
                             const void *payload)
{
    index->slots[slot(index, key, key_at, payload)] = place;
}

uint32_t guildhall_key_index_get(const index_table *index, guildhall_key key, guildhall_key_at *key_at,
                                 const void *payload)
{
    return index->slots[slot(index, key, key_at, payload)];
}

static index_table *search(index_table *index, uint32_t map)
{
    while (index && index->map != map) index = index->next;
    return index;
}

index_table *guildhall_key_indexes_find(guildhall_key_indexes *indexes, uint32_t map)
{
    return search(atomic_load_explicit(indexes, memory_order_acquire), map);
}

index_table *guildhall_key_indexes_publish(guildhall_key_indexes *indexes, index_table *made)
{
    index_table *first = atomic_load_explicit(indexes, memory_order_acquire), *found;
    do {
        if ((found = search(first, made->map))) {
            free(made);
            return found;
        }
        made->next = first;
    } while (!atomic_compare_exchange_weak_explicit(indexes, &first, made, memory_order_acq_rel, memory_order_acquire));
    return made;
}

void guildhall_key_indexes_free(guildhall_key_indexes *indexes)
{
    index_table *index = atomic_load_explicit(indexes, memory_order_relaxed);
    while (index) {
        index_table *next = index->next;
        free(index);
        index = next;
    }
}

size_t guildhall_key_indexes_size(guildhall_key_indexes *indexes)
{
    size_t size = 0;
    index_table *index = atomic_load_explicit(indexes, memory_order_acquire);
    for (; index; index = index->next) size += sizeof *index + (index->mask + (size_t)1) * sizeof *index->slots;
    return size;
}
