/* Of a large object an index of its keys; of a large array the place of every sixteenth element. */
#include <stdlib.h>
#include "index.h"

#define STRIDE 16

/* What keys are read with: those with escapes need room to be written out in. */
typedef struct {
    guildhall_json_view view;
    uint32_t object;
    uint8_t *room; /* NULL: none was needed yet */
} reader;

static guildhall_key json_index_key(const void *payload, uint32_t place)
{
    reader *r = (reader *)payload;
    guildhall_json_node node = r->view.nodes[place];
    const uint8_t *text = guildhall_json_source(r->view, node);
    size_t length = guildhall_json_length(node);
    if (guildhall_json_type_of(node) != GUILDHALL_JSON_ESCAPED) return (guildhall_key){text, length, 0};
    uint8_t *room = realloc(r->room, length);
    if (!room) return (guildhall_key){NULL, 0, 0}; /* a number: no key of an object */
    r->room = room;
    return (guildhall_key){room, guildhall_json_unescape(text, length, room), 0};
}

static int json_index_fill(guildhall_key_index *made, const void *payload)
{
    reader *r = (reader *)payload, other = {.view = r->view}; /* what is compared with a key must not be written over it */
    uint32_t end = guildhall_json_offset(r->view.nodes[r->object]), key = r->object + 1;
    for (; key < end; key = guildhall_json_next(r->view.nodes, key + 1)) {
        guildhall_key put = json_index_key(r, key);
        if (!put.bytes) break;
        guildhall_key_index_put(made, put, key, json_index_key, &other);
    }
    free(other.room);
    return key >= end;
}

uint32_t guildhall_json_member(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t object, const uint8_t *key,
                               size_t length)
{
    uint32_t count = guildhall_json_length(view.nodes[object]);
    if (count <= GUILDHALL_JSON_SMALL) return guildhall_json_find(view, object, key, length);
    reader r = {.view = view, .object = object};
    guildhall_key_index *index = guildhall_key_indexes_of(indexes, object, count, json_index_fill, json_index_key, &r);
    uint32_t place = index ? guildhall_key_index_get(index, (guildhall_key){key, length, 0}, json_index_key, &r) : 0;
    free(r.room);
    if (!index) return guildhall_json_find(view, object, key, length);
    return place ? place + 1 : 0;
}

static guildhall_key_index *json_index_of_array(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t array)
{
    uint32_t count = (guildhall_json_length(view.nodes[array]) - 1) / STRIDE, child = array + 1;
    guildhall_key_index *made = guildhall_key_index_of_array(array, count);
    for (uint32_t i = 0; made && i < count; i++) {
        for (int step = 0; step < STRIDE; step++) child = guildhall_json_next(view.nodes, child);
        made->slots[i] = child;
    }
    return made ? guildhall_key_indexes_publish(indexes, made, json_index_key, &view) : NULL;
}

uint32_t guildhall_json_element(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t array, uint32_t position)
{
    const guildhall_json_node *nodes = view.nodes;
    uint32_t count = guildhall_json_length(nodes[array]), child = array + 1;
    if (position >= count) return 0;
    if (guildhall_json_offset(nodes[array]) - child == count) return child + position; /* no containers inside */
    if (position >= STRIDE) {
        guildhall_key_index *index = guildhall_key_indexes_find(indexes, array);
        if (!index && guildhall_key_indexes_due(indexes, position)) index = json_index_of_array(view, indexes, array);
        if (index) {
            child = index->slots[position / STRIDE - 1];
            position %= STRIDE;
        }
    }
    while (position--) child = guildhall_json_next(nodes, child);
    return child;
}
