/* Checks a MessagePack payload and builds its structural index (document/structural_index.h); finds values in it afterwards. Without Ruby,
 * from any thread; afterwards from several at once. An item of a map is a pair. An array of one element has no entry: it ends where the
 * element does. */
#ifndef GUILDHALL_MSGPACK_READ_H
#define GUILDHALL_MSGPACK_READ_H

#include "document/path.h"
#include "document/structural_index.h"
#include "token.h"

/* The most levels that may be asked for: the decoder recurses, and threads have small stacks. */
#define GUILDHALL_MSGPACK_NESTING_LIMIT 512

typedef struct {
    uint32_t max_nesting;
    size_t max_bytes;
    unsigned allow_invalid_utf8 : 1;
    unsigned allow_unknown_extensions : 1;
    unsigned symbol_keys : 1; /* map keys have to be valid UTF-8, because Symbols have to */
    unsigned own_timestamps : 1; /* type -1 is registered: its payload is not checked */
    uint32_t extensions[8];   /* bit n of 256: extension type (uint8_t)n is known */
} guildhall_msgpack_rules;

extern const guildhall_msgpack_rules guildhall_msgpack_default_rules;

static inline int guildhall_msgpack_knows(const guildhall_msgpack_rules *rules, int8_t extension)
{
    uint8_t type = (uint8_t)extension;
    return rules->allow_unknown_extensions || (rules->extensions[type >> 5] >> (type & 31) & 1);
}

/* The whole payload must be one value. When it is, builder->entries is its index. */
guildhall_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                                         guildhall_index_builder *builder);
/* Where in the value the reader stands when it fails: reads again, and returns as before. */
guildhall_outcome guildhall_msgpack_locate(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules, guildhall_path *path);

/* ---- a payload that was found valid */

/* What is at an offset. */
guildhall_msgpack_token guildhall_msgpack_at(const guildhall_view *view, uint32_t offset);

/* The elements of an array or the pairs of a map, in their order. */
typedef struct {
    const guildhall_view *view;
    guildhall_position at;          /* what comes next */
    uint32_t left;
    int map;
    guildhall_position key, value;  /* this one's */
} guildhall_msgpack_items;

guildhall_msgpack_items guildhall_msgpack_items_of(const guildhall_view *view, guildhall_position container);
/* 0: there are no more. */
int guildhall_msgpack_items_next(guildhall_msgpack_items *items);
/* Where the item at this position (below the count) begins: an element, or a pair's key. */
guildhall_position guildhall_msgpack_item(const guildhall_view *view, guildhall_position container, uint32_t index);

/* Kinds of keys: of a text, whether it is binary and not ASCII (which is no key that a text could be); of 64 bits, what they are. */
enum { GUILDHALL_MSGPACK_KEY_TEXT, GUILDHALL_MSGPACK_KEY_BINARY };
enum { GUILDHALL_MSGPACK_KEY_INTEGER, GUILDHALL_MSGPACK_KEY_UNSIGNED, GUILDHALL_MSGPACK_KEY_FLOAT, GUILDHALL_MSGPACK_KEY_WORD };

/* The key that a float is (0.0 and -0.0 are the same one); not for NaN, which is no other key's equal, nor its own. */
guildhall_key guildhall_msgpack_float_key(double number);

/* The key that nil, false or true is. */
static inline guildhall_key guildhall_msgpack_word_key(guildhall_msgpack_type word) { return (guildhall_key){NULL, GUILDHALL_MSGPACK_KEY_WORD, word}; }

/* The value under a key that is no array, map or extension; 0: there is none. Of equal keys the last counts, as in a Hash. */
int guildhall_msgpack_find(const guildhall_view *view, guildhall_position map, guildhall_key key, guildhall_position *found);

#endif
