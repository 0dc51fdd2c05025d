/* Indexes of long maps' keys, and of long arrays' items, made when walking past them has cost as much as making them. Without
 * Ruby, from several threads at once.
 *
 * A payload may have one long container or thousands of them, so its indexes are in a directory. */
#ifndef GUILDHALL_DOCUMENT_KEY_INDEX_H
#define GUILDHALL_DOCUMENT_KEY_INDEX_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GUILDHALL_KEYS_WALKED 32 /* pairs: walking past fewer costs less than an index */

typedef struct guildhall_key_index {
    struct guildhall_key_index *next;
    uint64_t seed;
    uint32_t map, count; /* which map of the payload; how many slots */
    uint32_t slots[];    /* places of keys, as the format counts them, from 1 on; 0: empty */
} guildhall_key_index;

typedef struct guildhall_key_directory guildhall_key_directory;

/* All of a payload's. All zero at first, but for `entries`. */
typedef struct {
    _Atomic(guildhall_key_directory *) directory;
    _Atomic uint32_t walked; /* pairs so far, or what takes as long */
    uint32_t entries;        /* of the structural index: an upper bound of the pairs */
} guildhall_key_indexes;

/* A text, or (bytes: NULL) 64 bits that `length` says the kind of. number: of a text its kind. Keys of other kinds are others; 0 is
 * what every format has: a text that is UTF-8, an integer. */
typedef struct {
    const uint8_t *bytes;
    size_t length;
    int64_t number;
} guildhall_key;

static inline int guildhall_key_equals(guildhall_key one, guildhall_key other)
{
    if (one.number != other.number || one.length != other.length) return 0;
    if (!one.bytes || !other.bytes) return one.bytes == other.bytes;
    return !memcmp(one.bytes, other.bytes, one.length);
}

/* Reads the key at a place. */
typedef guildhall_key guildhall_key_at(const void *payload, uint32_t place);

/* Whether a map with this number of pairs (or what else takes as many steps) should get its index now. If not, the caller scans
 * the pairs. */
int guildhall_key_indexes_due(guildhall_key_indexes *indexes, uint32_t pairs);

/* Puts the keys of a map; 0: memory was short. */
typedef int guildhall_key_fill(guildhall_key_index *index, const void *payload);

/* The index of a map with this number of pairs, made now if it is due; NULL: the caller scans the pairs. */
guildhall_key_index *guildhall_key_indexes_of(guildhall_key_indexes *indexes, uint32_t map, uint32_t pairs, guildhall_key_fill *fill,
                                              guildhall_key_at *key_at, const void *payload);
/* keys: how many will be put, at most. NULL when memory is short. */
guildhall_key_index *guildhall_key_index_new(uint32_t map, uint32_t keys);
/* Of an array: `count` places, to be written into `slots`; none of them 0. */
guildhall_key_index *guildhall_key_index_of_array(uint32_t array, uint32_t count);
/* Of equal keys the last one put counts, as in a Hash. */
void guildhall_key_index_put(guildhall_key_index *index, guildhall_key key, uint32_t place, guildhall_key_at *key_at, const void *payload);
/* The place of the key; 0: there is none. */
uint32_t guildhall_key_index_get(const guildhall_key_index *index, guildhall_key key, guildhall_key_at *key_at, const void *payload);
/* NULL: it has not been made yet. */
guildhall_key_index *guildhall_key_indexes_find(guildhall_key_indexes *indexes, uint32_t map);
/* Shows the index to everybody, without the room that keys which came twice would have taken. Where another thread was
 * first, its index is returned, and this one is freed; NULL when memory is short. */
guildhall_key_index *guildhall_key_indexes_publish(guildhall_key_indexes *indexes, guildhall_key_index *made,
                                                   guildhall_key_at *key_at, const void *payload);
/* Returns how many bytes were reported to the garbage collector. */
size_t guildhall_key_indexes_free(guildhall_key_indexes *indexes);
/* Bytes of all that was made; and how many of them were not reported yet: the caller reports them now. */
size_t guildhall_key_indexes_size(const guildhall_key_indexes *indexes);
size_t guildhall_key_indexes_unreported(guildhall_key_indexes *indexes);

#endif
