/* Indexes of large maps' keys, made when the first key is looked for. Without Ruby, from several threads at once. */
#ifndef GUILDHALL_KEY_INDEX_H
#define GUILDHALL_KEY_INDEX_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_KEYS_WALKED 32 /* pairs: walking past fewer costs less than an index */

typedef struct guildhall_key_index {
    struct guildhall_key_index *next;
    uint32_t map, mask; /* which map of the payload; slots - 1 */
    uint32_t slots[];   /* places of keys, as the format counts them, from 1 on; 0: empty */
} guildhall_key_index;

/* All of a payload's. */
typedef _Atomic(guildhall_key_index *) guildhall_key_indexes;

typedef struct {
    const uint8_t *bytes;
    size_t length;
} guildhall_key;

/* Reads the key at a place. */
typedef guildhall_key guildhall_key_at(const void *payload, uint32_t place);

/* NULL when memory is short. */
guildhall_key_index *guildhall_key_index_new(uint32_t map, uint32_t count);

/* Of equal keys the last one put counts, as in a Hash. */
void guildhall_key_index_put(guildhall_key_index *index, guildhall_key key, uint32_t place, guildhall_key_at *key_at,
                             const void *payload);

/* The place of the key; 0: there is none. */
uint32_t guildhall_key_index_get(const guildhall_key_index *index, guildhall_key key, guildhall_key_at *key_at,
                                 const void *payload);

/* NULL: nobody has made it yet. */
guildhall_key_index *guildhall_key_indexes_find(guildhall_key_indexes *indexes, uint32_t map);

/* Shows it to everybody; where another thread was first, its index is returned, and this one is freed. */
guildhall_key_index *guildhall_key_indexes_publish(guildhall_key_indexes *indexes, guildhall_key_index *made);

void guildhall_key_indexes_free(guildhall_key_indexes *indexes);
size_t guildhall_key_indexes_size(guildhall_key_indexes *indexes);

#endif
