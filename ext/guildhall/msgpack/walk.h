/* Finding values in a payload that guildhall_msgpack_read found valid. Without Ruby, from several threads at once. */
#ifndef GUILDHALL_MSGPACK_WALK_H
#define GUILDHALL_MSGPACK_WALK_H

#include "document/key_index.h"
#include "read.h"

typedef struct {
    const uint8_t *bytes;
    size_t length;
    const uint32_t *entries;
} guildhall_msgpack_view;

/* What is at an offset. */
guildhall_msgpack_token guildhall_msgpack_at(const guildhall_msgpack_view *view, uint32_t offset);

/* The elements of an array or the pairs of a map, in their order. */
typedef struct {
    const guildhall_msgpack_view *view;
    guildhall_position at;          /* what comes next */
    uint32_t left;
    int map;
    guildhall_position key, value;  /* this one's */
} guildhall_msgpack_items;

guildhall_msgpack_items guildhall_msgpack_items_of(const guildhall_msgpack_view *view, guildhall_position container);

/* 0: there are no more. */
int guildhall_msgpack_items_next(guildhall_msgpack_items *items);

/* Where the item at this position (below the count) begins: an element, or a pair's key. */
guildhall_position guildhall_msgpack_item(const guildhall_msgpack_view *view, guildhall_position container, uint32_t index);

/* The value under a key that is a text or a number of at most 64 bits; 0: there is none. Of equal keys the last counts, as in a Hash. */
int guildhall_msgpack_find(const guildhall_msgpack_view *view, guildhall_key_indexes *indexes, guildhall_position map,
                           guildhall_key key, guildhall_position *found);

#endif
