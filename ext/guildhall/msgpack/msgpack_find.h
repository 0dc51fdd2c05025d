/* Finding a member of a map on the tape by a text key. Without Ruby, from several threads at once. */
#ifndef GUILDHALL_MSGPACK_FIND_H
#define GUILDHALL_MSGPACK_FIND_H

#include <stdatomic.h>
#include "msgpack_read.h"

/* The index of a large map's text keys, made when the first one is looked for. */
typedef struct guildhall_msgpack_index {
    struct guildhall_msgpack_index *next;
    uint32_t map, mask;  /* the map's place on the tape; slots - 1 */
    uint32_t slots[];    /* places of keys; 0: empty */
} guildhall_msgpack_index;

typedef _Atomic(guildhall_msgpack_index *) guildhall_msgpack_indexes;

/* The place of the value under the key; 0: there is none. Of equal keys the last counts, as in a Hash. */
uint32_t guildhall_msgpack_find(const uint8_t *bytes, const guildhall_tape_node *nodes,
                                guildhall_msgpack_indexes *indexes, uint32_t map, const uint8_t *key, size_t length);

void guildhall_msgpack_indexes_free(guildhall_msgpack_indexes *indexes);
size_t guildhall_msgpack_indexes_size(guildhall_msgpack_indexes *indexes);

static inline int guildhall_msgpack_is_text(guildhall_tape_node node)
{
    unsigned type = guildhall_tape_type(node);
    return type >= GUILDHALL_MSGPACK_NODE_ASCII && type <= GUILDHALL_MSGPACK_NODE_UNCHECKED;
}

#endif
