/* Open addressing; a directory of lists that only grow, their heads exchanged by compare-and-swap. */
#include <stdlib.h>
#include "../key_hash.h"
#include "key_index.h"

typedef guildhall_key_index index_table;
typedef guildhall_key_directory directory;
typedef _Atomic(index_table *) list;

/* A large map has six words of marks at least, so that the lists are short; and they take a twelfth of what marks take. */
#define MARKS_PER_LIST 24
/* A container that is not empty has two words of marks, and two for every sixteenth item. */
#define PAIRS_PER_MARK 8
#define WALKS 4
#define WALKED_BEFORE 512

struct guildhall_key_directory {
    uint32_t count;
    list lists[];
};

int guildhall_key_indexes_due(guildhall_key_indexes *indexes, uint32_t pairs)
{
    uint64_t walked = atomic_fetch_add_explicit(&indexes->walked, pairs, memory_order_relaxed) + pairs;
    return walked > indexes->marks * PAIRS_PER_MARK * WALKS + WALKED_BEFORE;
}

static index_table *with_slots(uint32_t map, uint32_t keys, uint64_t seed)
{
    uint32_t slots = keys + keys / 2 + 1;
    index_table *index = calloc(1, sizeof *index + slots * sizeof *index->slots);
    if (!index) return NULL;
    index->map = map;
    index->count = slots;
    index->seed = seed;
    return index;
}

static size_t size_of(const index_table *index) { return sizeof *index + index->count * sizeof *index->slots; }

index_table *guildhall_key_index_new(uint32_t map, uint32_t keys)
{
    index_table *index = with_slots(map, keys, 0);
    if (index) index->seed = guildhall_mix((uint64_t)(uintptr_t)index, 0x9E3779B97F4A7C15ull) ^ map;
    return index;
}

static uint32_t hash(const index_table *index, guildhall_key key)
{
    int64_t number = key.number;
    return key.bytes ? guildhall_key_hash(key.bytes, key.length, index->seed)
                     : guildhall_key_hash((const uint8_t *)&number, sizeof number, index->seed);
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t slot(const index_table *index, guildhall_key key, guildhall_key_at *key_at, const void *payload)
{
    uint32_t at = guildhall_key_place(hash(index, key), index->count);
    for (; index->slots[at]; at = at + 1 == index->count ? 0 : at + 1) {
        if (guildhall_key_equals(key_at(payload, index->slots[at]), key)) break;
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

static list *list_of(directory *of, uint32_t map) { return &of->lists[map * 0x9E3779B9u % of->count]; }

index_table *guildhall_key_indexes_find(guildhall_key_indexes *indexes, uint32_t map)
{
    directory *known = atomic_load_explicit(&indexes->directory, memory_order_acquire);
    return known ? search(atomic_load_explicit(list_of(known, map), memory_order_acquire), map) : NULL;
}

static directory *directory_of(guildhall_key_indexes *indexes)
{
    directory *known = atomic_load_explicit(&indexes->directory, memory_order_acquire);
    if (known) return known;
    uint32_t count = (uint32_t)(indexes->marks / MARKS_PER_LIST) + 1;
    size_t size = sizeof(directory) + count * sizeof(list);
    directory *made = calloc(1, size);
    if (!made) return NULL;
    made->count = count;
    if (!atomic_compare_exchange_strong_explicit(&indexes->directory, &known, made, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        free(made);
        return known;
    }
    atomic_fetch_add_explicit(&indexes->bytes, size, memory_order_relaxed);
    return made;
}

/* Where keys came twice, or were no texts, slots were left over. */
static index_table *shrunk(index_table *made, guildhall_key_at *key_at, const void *payload)
{
    uint32_t keys = 0;
    for (uint32_t at = 0; at < made->count; at++) keys += made->slots[at] != 0;
    if (made->count <= (uint64_t)keys * 2 + 16) return made;
    index_table *smaller = with_slots(made->map, keys, made->seed);
    if (!smaller) return made;
    for (uint32_t at = 0; at < made->count; at++) {
        uint32_t place = made->slots[at];
        if (place) guildhall_key_index_put(smaller, key_at(payload, place), place, key_at, payload);
    }
    free(made);
    return smaller;
}

index_table *guildhall_key_indexes_publish(guildhall_key_indexes *indexes, index_table *made,
                                           guildhall_key_at *key_at, const void *payload)
{
    directory *known = directory_of(indexes);
    if (!known) {
        free(made);
        return NULL;
    }
    made = shrunk(made, key_at, payload);
    list *head = list_of(known, made->map);
    index_table *first = atomic_load_explicit(head, memory_order_acquire), *found;
    do {
        if ((found = search(first, made->map))) {
            free(made);
            return found;
        }
        made->next = first;
    } while (!atomic_compare_exchange_weak_explicit(head, &first, made, memory_order_acq_rel, memory_order_acquire));
    atomic_fetch_add_explicit(&indexes->bytes, size_of(made), memory_order_relaxed);
    return made;
}

void guildhall_key_indexes_free(guildhall_key_indexes *indexes)
{
    directory *known = atomic_load_explicit(&indexes->directory, memory_order_relaxed);
    for (uint32_t i = 0; known && i < known->count; i++) {
        index_table *index = atomic_load_explicit(&known->lists[i], memory_order_relaxed);
        while (index) {
            index_table *next = index->next;
            free(index);
            index = next;
        }
    }
    free(known);
}
