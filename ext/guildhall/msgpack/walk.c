/* What the index does not say is read again; it was valid before. */
#include "text/ascii.h"
#include "walk.h"

typedef guildhall_msgpack_view view;
typedef guildhall_msgpack_items items;
typedef guildhall_msgpack_token token;
typedef guildhall_position position;

static inline token msgpack_walk_read_at(const view *v, uint32_t *offset)
{
    guildhall_msgpack_input input = {v->bytes + *offset, v->bytes + v->length};
    token found = {0};
    guildhall_msgpack_next(&input, &found);
    *offset = (uint32_t)(input.at - v->bytes);
    return found;
}

token guildhall_msgpack_at(const view *v, uint32_t offset) { return msgpack_walk_read_at(v, &offset); }

/* The position of what follows, in the source and in the index. */
static inline position msgpack_walk_past(const view *v, position at)
{
    for (;;) {
        token here = msgpack_walk_read_at(v, &at.offset);
        if (guildhall_msgpack_indexed(&here)) return (position){v->entries[at.entry], v->entries[at.entry + 1], 0};
        if (here.type != GUILDHALL_MSGPACK_ARRAY || !here.length) return at;
    }
}

items guildhall_msgpack_items_of(const view *v, position container)
{
    position at = container;
    token head = msgpack_walk_read_at(v, &at.offset);
    if (guildhall_msgpack_indexed(&head)) at.entry += 2;
    return (items){.view = v, .at = at, .left = head.length, .map = head.type == GUILDHALL_MSGPACK_MAP};
}

int guildhall_msgpack_items_next(items *cursor)
{
    if (!cursor->left) return 0;
    cursor->left--;
    cursor->key = cursor->value = cursor->at;
    if (cursor->map) cursor->value = msgpack_walk_past(cursor->view, cursor->key);
    cursor->at = msgpack_walk_past(cursor->view, cursor->value);
    return 1;
}

position guildhall_msgpack_item(const view *v, position container, uint32_t index)
{
    items cursor = guildhall_msgpack_items_of(v, container);
    uint32_t samples = (cursor.left - 1) / GUILDHALL_SAMPLED, place = index / GUILDHALL_SAMPLED;
    if (place) { /* go on from the last sample before it */
        const uint32_t *sample = v->entries + v->entries[container.entry + 1] - 2 * (size_t)(samples - place + 1);
        cursor.at = (position){sample[0], sample[1], 0};
        index %= GUILDHALL_SAMPLED;
    }
    while (index--) guildhall_msgpack_items_next(&cursor);
    return cursor.at;
}

guildhall_key guildhall_msgpack_float_key(double number)
{
    guildhall_key key = {NULL, GUILDHALL_MSGPACK_KEY_FLOAT, 0};
    if (number != 0) memcpy(&key.number, &number, sizeof number);
    return key;
}

/* Binary that is ASCII is the same key as the text: to a Hash such Strings are equal. 0: arrays, maps, extensions and NaN, which are
 * not looked for by what they are. */
static inline int msgpack_walk_key_of(const token *found, guildhall_key *key)
{
    int binary = 0;
    switch (found->type) {
    case GUILDHALL_MSGPACK_BINARY:
        binary = !guildhall_ascii(found->bytes, found->length); /* fall through */
    case GUILDHALL_MSGPACK_STRING:
        *key = (guildhall_key){found->bytes, found->length, binary ? GUILDHALL_MSGPACK_KEY_BINARY : GUILDHALL_MSGPACK_KEY_TEXT};
        return 1;
    case GUILDHALL_MSGPACK_INTEGER: *key = (guildhall_key){NULL, GUILDHALL_MSGPACK_KEY_INTEGER, found->number}; return 1;
    case GUILDHALL_MSGPACK_UNSIGNED: *key = (guildhall_key){NULL, GUILDHALL_MSGPACK_KEY_UNSIGNED, found->number}; return 1;
    case GUILDHALL_MSGPACK_FLOAT: *key = guildhall_msgpack_float_key(found->real); return found->real == found->real;
    case GUILDHALL_MSGPACK_NIL: case GUILDHALL_MSGPACK_FALSE: case GUILDHALL_MSGPACK_TRUE: *key = guildhall_msgpack_word_key(found->type); return 1;
    default: return 0;
    }
}

static inline int msgpack_walk_equals(const view *v, uint32_t offset, guildhall_key key)
{
    token found = msgpack_walk_read_at(v, &offset);
    guildhall_key own;
    return msgpack_walk_key_of(&found, &own) && guildhall_key_equals(own, key);
}

/* The whole walk: a later key may be equal. */
static int msgpack_walk_scan(const view *v, position map, guildhall_key key, position *found)
{
    items cursor = guildhall_msgpack_items_of(v, map);
    int there = 0;
    while (guildhall_msgpack_items_next(&cursor)) {
        if (!msgpack_walk_equals(v, cursor.key.offset, key)) continue;
        *found = cursor.value;
        there = 1;
    }
    return there;
}

typedef struct {
    const view *view;
    position map;
} indexed;

/* Places are pairs, from 1 on. */
static guildhall_key msgpack_walk_key_at(const void *pointer, uint32_t place)
{
    const indexed *target = pointer;
    token found = guildhall_msgpack_at(target->view, guildhall_msgpack_item(target->view, target->map, place - 1).offset);
    guildhall_key key = {0};
    msgpack_walk_key_of(&found, &key);
    return key;
}

static int msgpack_walk_fill(guildhall_key_index *made, const void *pointer)
{
    const indexed *target = pointer;
    items items = guildhall_msgpack_items_of(target->view, target->map);
    for (uint32_t place = 1; guildhall_msgpack_items_next(&items); place++) {
        token found = guildhall_msgpack_at(target->view, items.key.offset);
        guildhall_key key;
        if (msgpack_walk_key_of(&found, &key)) guildhall_key_index_put(made, key, place, msgpack_walk_key_at, target);
    }
    return 1;
}

int guildhall_msgpack_find(const view *v, guildhall_key_indexes *indexes, position map, guildhall_key key, position *found)
{
    indexed target = {v, map};
    uint32_t count = guildhall_msgpack_at(v, map.offset).length;
    guildhall_key_index *index = NULL;
    if (count > GUILDHALL_KEYS_WALKED)
        index = guildhall_key_indexes_of(indexes, map.offset, count, msgpack_walk_fill, msgpack_walk_key_at, &target);
    if (!index) return msgpack_walk_scan(v, map, key, found);
    uint32_t place = guildhall_key_index_get(index, key, msgpack_walk_key_at, &target);
    if (place) *found = msgpack_walk_past(v, guildhall_msgpack_item(v, map, place - 1));
    return place != 0;
}
