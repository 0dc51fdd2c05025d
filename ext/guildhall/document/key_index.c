/* Open addressing; a directory of lists that only grow, their heads exchanged by compare-and-swap. */
#include <stdlib.h>
#include "key_index.h"
#include "text/hash.h"

typedef guildhall_key_index index_table;
typedef guildhall_key_directory directory;
typedef _Atomic(index_table *) list;

/* A large map has six entries in the structural index at least, so the lists are short; they take a twelfth of its memory. */
#define ENTRIES_PER_LIST 24
/* A container that is not empty has two entries, and two for every sixteenth item: to walk past all pairs once costs
 * what a key index does. */
#define PAIRS_PER_ENTRY 8
#define WALKED_BEFORE 512

struct guildhall_key_directory {
    _Atomic size_t bytes, unreported;
    uint32_t count;
    list lists[];
};

int guildhall_key_indexes_due(guildhall_key_indexes *indexes, uint32_t pairs)
{
    uint64_t walked = (uint64_t)atomic_fetch_add_explicit(&indexes->walked, pairs, memory_order_relaxed) + pairs;
    return walked > (uint64_t)indexes->entries * PAIRS_PER_ENTRY + WALKED_BEFORE;
}

static index_table *key_index_with_slots(uint32_t map, uint32_t slots, uint64_t seed)
{
    index_table *index = calloc(1, sizeof *index + slots * sizeof *index->slots);
    if (!index) return NULL;
    index->map = map;
    index->count = slots;
    index->seed = seed;
    return index;
}

static uint32_t key_index_slots_for(uint32_t keys) { return keys + keys / 2 + 1; }

index_table *guildhall_key_index_new(uint32_t map, uint32_t keys)
{
    index_table *index = key_index_with_slots(map, key_index_slots_for(keys), 0);
    if (index) index->seed = guildhall_mix((uint64_t)(uintptr_t)index, 0x9E3779B97F4A7C15ull) ^ map;
    return index;
}

index_table *guildhall_key_index_of_array(uint32_t array, uint32_t count) { return key_index_with_slots(array, count, 0); }

static uint32_t key_index_hash(const index_table *index, guildhall_key key)
{
    int64_t number = key.number;
    return key.bytes ? guildhall_key_hash(key.bytes, key.length, index->seed)
                     : guildhall_key_hash((const uint8_t *)&number, sizeof number, index->seed);
}

/* The slot of the key, or the empty one where it belongs. */
static uint32_t key_index_slot(const index_table *index, guildhall_key key, guildhall_key_at *key_at, const void *payload)
{
    uint32_t at = guildhall_key_place(key_index_hash(index, key), index->count);
    for (; index->slots[at]; at = at + 1 == index->count ? 0 : at + 1) {
        if (guildhall_key_equals(key_at(payload, index->slots[at]), key)) break;
    }
    return at;
}

void guildhall_key_index_put(index_table *index, guildhall_key key, uint32_t place, guildhall_key_at *key_at, const void *payload)
{
    index->slots[key_index_slot(index, key, key_at, payload)] = place;
}

uint32_t guildhall_key_index_get(const index_table *index, guildhall_key key, guildhall_key_at *key_at, const void *payload)
{
    return index->slots[key_index_slot(index, key, key_at, payload)];
}

static index_table *key_index_search(index_table *index, uint32_t map)
{
    while (index && index->map != map) index = index->next;
    return index;
}

static list *key_index_list_of(directory *known, uint32_t map) { return &known->lists[map * 0x9E3779B9u % known->count]; }

index_table *guildhall_key_indexes_find(guildhall_key_indexes *indexes, uint32_t map)
{
    directory *known = atomic_load_explicit(&indexes->directory, memory_order_acquire);
    return known ? key_index_search(atomic_load_explicit(key_index_list_of(known, map), memory_order_acquire), map) : NULL;
}

static directory *key_index_directory_of(guildhall_key_indexes *indexes)
{
    directory *known = atomic_load_explicit(&indexes->directory, memory_order_acquire);
    if (known) return known;
    uint32_t count = indexes->entries / ENTRIES_PER_LIST + 1;
    size_t size = sizeof(directory) + count * sizeof(list);
    directory *made = calloc(1, size);
    if (!made) return NULL;
    made->count = count;
    atomic_init(&made->bytes, size);
    atomic_init(&made->unreported, size);
    if (!atomic_compare_exchange_strong_explicit(&indexes->directory, &known, made, memory_order_acq_rel, memory_order_acquire)) {
        free(made);
        return known;
    }
    return made;
}

/* Where keys came twice, or were no texts, slots were left over. */
static index_table *key_index_shrunk(index_table *made, guildhall_key_at *key_at, const void *payload)
{
    uint32_t keys = 0;
    for (uint32_t at = 0; at < made->count; at++) keys += made->slots[at] != 0;
    if (made->count <= (uint64_t)keys * 2 + 16) return made;
    index_table *smaller = key_index_with_slots(made->map, key_index_slots_for(keys), made->seed);
    if (!smaller) return made;
    for (uint32_t at = 0; at < made->count; at++) {
        uint32_t place = made->slots[at];
        if (place) guildhall_key_index_put(smaller, key_at(payload, place), place, key_at, payload);
    }
    free(made);
    return smaller;
}

index_table *guildhall_key_indexes_publish(guildhall_key_indexes *indexes, index_table *made, guildhall_key_at *key_at, const void *payload)
{
    directory *known = key_index_directory_of(indexes);
    if (!known) {
        free(made);
        return NULL;
    }
    made = key_index_shrunk(made, key_at, payload);
    list *head = key_index_list_of(known, made->map);
    index_table *first = atomic_load_explicit(head, memory_order_acquire), *found;
    do {
        if ((found = key_index_search(first, made->map))) {
            free(made);
            return found;
        }
        made->next = first;
    } while (!atomic_compare_exchange_weak_explicit(head, &first, made, memory_order_acq_rel, memory_order_acquire));
    size_t size = sizeof *made + made->count * sizeof *made->slots;
    atomic_fetch_add_explicit(&known->bytes, size, memory_order_relaxed);
    atomic_fetch_add_explicit(&known->unreported, size, memory_order_relaxed);
    return made;
}

index_table *guildhall_key_indexes_of(guildhall_key_indexes *indexes, uint32_t map, uint32_t pairs, guildhall_key_fill *fill,
                                      guildhall_key_at *key_at, const void *payload)
{
    index_table *found = guildhall_key_indexes_find(indexes, map);
    if (found || !guildhall_key_indexes_due(indexes, pairs)) return found;
    index_table *made = guildhall_key_index_new(map, pairs);
    if (made && fill(made, payload)) return guildhall_key_indexes_publish(indexes, made, key_at, payload);
    free(made);
    return NULL;
}

size_t guildhall_key_indexes_free(guildhall_key_indexes *indexes)
{
    directory *known = atomic_load_explicit(&indexes->directory, memory_order_relaxed);
    if (!known) return 0;
    size_t reported = known->bytes - known->unreported;
    for (uint32_t i = 0; i < known->count; i++) {
        for (index_table *index = known->lists[i], *next; index; index = next) {
            next = index->next;
            free(index);
        }
    }
    free(known);
    return reported;
}

size_t guildhall_key_indexes_size(const guildhall_key_indexes *indexes)
{
    directory *known = atomic_load_explicit(&((guildhall_key_indexes *)indexes)->directory, memory_order_acquire);
    return known ? known->bytes : 0;
}

size_t guildhall_key_indexes_unreported(guildhall_key_indexes *indexes)
{
    directory *known = atomic_load_explicit(&indexes->directory, memory_order_acquire);
    if (!known || !atomic_load_explicit(&known->unreported, memory_order_relaxed)) return 0;
    return atomic_exchange_explicit(&known->unreported, 0, memory_order_relaxed);
}
