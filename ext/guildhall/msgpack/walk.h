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

/* Kinds of keys: of a text, whether it is binary and not ASCII (which is no key that a text could be); of 64 bits, what they are. */
enum { GUILDHALL_MSGPACK_KEY_TEXT, GUILDHALL_MSGPACK_KEY_BINARY };
enum { GUILDHALL_MSGPACK_KEY_INTEGER, GUILDHALL_MSGPACK_KEY_UNSIGNED, GUILDHALL_MSGPACK_KEY_FLOAT, GUILDHALL_MSGPACK_KEY_WORD };

/* The key that a float is (0.0 and -0.0 are the same one); not for NaN, which is no other key's equal, nor its own. */
guildhall_key guildhall_msgpack_float_key(double number);

/* The key that nil, false or true is. */
static inline guildhall_key guildhall_msgpack_word_key(guildhall_msgpack_type word) { return (guildhall_key){NULL, GUILDHALL_MSGPACK_KEY_WORD, word}; }

/* The value under a key that is no array, map or extension; 0: there is none. Of equal keys the last counts, as in a Hash. */
int guildhall_msgpack_find(const guildhall_msgpack_view *view, guildhall_key_indexes *indexes, guildhall_position map,
                           guildhall_key key, guildhall_position *found);

#endif
