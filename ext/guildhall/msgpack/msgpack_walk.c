/* What is not noted is read once more; it was found good before. */
#include "msgpack_walk.h"

typedef guildhall_msgpack_view view;
typedef guildhall_msgpack_items items;
typedef guildhall_msgpack_token token;
typedef guildhall_spot spot;

static inline token read_at(const view *v, uint32_t *offset)
{
    guildhall_msgpack_input input = {v->bytes + *offset, v->bytes + v->length};
    token found = {0};
    guildhall_msgpack_next(&input, &found);
    *offset = (uint32_t)(input.at - v->bytes);
    return found;
}

token guildhall_msgpack_at(const view *v, uint32_t offset) { return read_at(v, &offset); }

/* Where what follows stands, in the source and among the marks. */
static inline spot past(const view *v, spot at)
{
    for (;;) {
        token here = read_at(v, &at.offset);
        if (guildhall_msgpack_marked(&here)) return (spot){v->marks[at.mark], v->marks[at.mark + 1], 0};
        if (here.type != GUILDHALL_MSGPACK_ARRAY || !here.length) return at;
    }
}

items guildhall_msgpack_items_of(const view *v, spot container)
{
    spot at = container;
    token head = read_at(v, &at.offset);
    if (guildhall_msgpack_marked(&head)) at.mark += 2;
    return (items){.view = v, .at = at, .left = head.length, .map = head.type == GUILDHALL_MSGPACK_MAP};
}

int guildhall_msgpack_items_next(items *of)
{
    if (!of->left) return 0;
    of->left--;
    of->key = of->value = of->at;
    if (of->map) of->value = past(of->view, of->key);
    of->at = past(of->view, of->value);
    return 1;
}

spot guildhall_msgpack_item(const view *v, spot container, uint32_t position)
{
    items of = guildhall_msgpack_items_of(v, container);
    uint32_t samples = (of.left - 1) / GUILDHALL_SAMPLED, place = position / GUILDHALL_SAMPLED;
    if (place) { /* go on from the last sample before it */
        const uint32_t *sample = v->marks + v->marks[container.mark + 1] - 2 * (size_t)(samples - place + 1);
        of.at = (spot){sample[0], sample[1], 0};
        position %= GUILDHALL_SAMPLED;
    }
    while (position--) guildhall_msgpack_items_next(&of);
    return of.at;
}

static guildhall_key key_of(const token *found)
{
    if (found->type == GUILDHALL_MSGPACK_INTEGER) return (guildhall_key){NULL, 0, found->number};
    return (guildhall_key){found->bytes, found->length, 0};
}

/* Other keys are not looked for by what they are. */
static int is_key(const token *found)
{
    return found->type == GUILDHALL_MSGPACK_STRING || found->type == GUILDHALL_MSGPACK_INTEGER;
}

static inline int equals(const view *v, uint32_t offset, guildhall_key key)
{
    token found = read_at(v, &offset);
    return is_key(&found) && guildhall_key_equals(key_of(&found), key);
}

/* The whole walk: a later key may be equal. */
static int walk(const view *v, spot map, guildhall_key key, spot *found)
{
    items of = guildhall_msgpack_items_of(v, map);
    int there = 0;
    while (guildhall_msgpack_items_next(&of)) {
        if (!equals(v, of.key.offset, key)) continue;
        *found = of.value;
        there = 1;
    }
    return there;
}

typedef struct {
    const view *view;
    spot map;
} indexed;

/* Places are pairs, from 1 on. */
static guildhall_key key_at(const void *pointer, uint32_t place)
{
    const indexed *of = pointer;
    token key = guildhall_msgpack_at(of->view, guildhall_msgpack_item(of->view, of->map, place - 1).offset);
    return key_of(&key);
}

static guildhall_key_index *index_of(const indexed *of, guildhall_key_indexes *indexes)
{
    items items = guildhall_msgpack_items_of(of->view, of->map);
    guildhall_key_index *found = guildhall_key_indexes_find(indexes, of->map.offset);
    if (found || !guildhall_key_indexes_due(indexes, items.left)) return found;
    guildhall_key_index *made = guildhall_key_index_new(of->map.offset, items.left);
    if (!made) return NULL;
    for (uint32_t place = 1; guildhall_msgpack_items_next(&items); place++) {
        token key = guildhall_msgpack_at(of->view, items.key.offset);
        if (is_key(&key)) guildhall_key_index_put(made, key_of(&key), place, key_at, of);
    }
    return guildhall_key_indexes_publish(indexes, made, key_at, of);
}

int guildhall_msgpack_find(const view *v, guildhall_key_indexes *indexes, spot map, guildhall_key key, spot *found)
{
    indexed of = {v, map};
    guildhall_key_index *index = NULL;
    if (guildhall_msgpack_at(v, map.offset).length > GUILDHALL_KEYS_WALKED) index = index_of(&of, indexes);
    if (!index) return walk(v, map, key, found);
    uint32_t place = guildhall_key_index_get(index, key, key_at, &of);
    if (place) *found = past(v, guildhall_msgpack_item(v, map, place - 1));
    return place != 0;
}
