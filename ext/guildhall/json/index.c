/* Of a large object an index of its keys; of a large array the place of every sixteenth element. */
#include <stdlib.h>
#include "index.h"

#define STRIDE 16
#define LONGEST_ON_STACK 256

/* What keys are read with: those with escapes need room to be written out in. */
typedef struct {
    guildhall_json_view view;
    uint8_t *room; /* NULL: none was needed yet */
    uint8_t short_room[LONGEST_ON_STACK];
} reader;

/* NULL when memory is short. */
static uint8_t *json_index_room(reader *r, size_t length)
{
    if (length <= sizeof r->short_room) return r->short_room;
    uint8_t *room = realloc(r->room, length);
    if (room) r->room = room;
    return room;
}

static guildhall_key json_index_key(const void *payload, uint32_t place)
{
    reader *r = (reader *)payload;
    guildhall_json_node node = r->view.nodes[place];
    const uint8_t *text = guildhall_json_source(r->view, node);
    size_t length = guildhall_json_length(node);
    if (guildhall_json_type_of(node) != GUILDHALL_JSON_ESCAPED) return (guildhall_key){text, length, 0};
    uint8_t *room = json_index_room(r, length);
    if (!room) return (guildhall_key){NULL, 0, 0}; /* a number: no key of an object */
    return (guildhall_key){room, guildhall_json_unescape(text, length, room), 0};
}

static guildhall_key_index *json_index_of_object(reader *r, guildhall_key_indexes *indexes, uint32_t object)
{
    guildhall_json_node node = r->view.nodes[object];
    guildhall_key_index *made = guildhall_key_index_new(object, guildhall_json_length(node));
    uint32_t end = guildhall_json_offset(node);
    for (uint32_t key = object + 1; made && key < end; key = guildhall_json_next(r->view.nodes, key + 1)) {
        reader other = {.view = r->view}; /* what is compared with a key must not be written over it */
        guildhall_key put = json_index_key(r, key);
        if (put.bytes) {
            guildhall_key_index_put(made, put, key, json_index_key, &other);
            free(other.room);
        } else {
            free(made);
            made = NULL;
        }
    }
    return made ? guildhall_key_indexes_publish(indexes, made, json_index_key, r) : NULL;
}

/* NULL: there is none, and it is not time to make it. */
static guildhall_key_index *json_index_find(guildhall_key_indexes *indexes, uint32_t container, uint32_t walk, int *due)
{
    guildhall_key_index *found = guildhall_key_indexes_find(indexes, container);
    *due = !found && guildhall_key_indexes_due(indexes, walk);
    return found;
}

uint32_t guildhall_json_member(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t object, const uint8_t *key,
                               size_t length)
{
    uint32_t count = guildhall_json_length(view.nodes[object]);
    if (count <= GUILDHALL_JSON_SMALL) return guildhall_json_find(view, object, key, length);
    int due;
    guildhall_key_index *index = json_index_find(indexes, object, count, &due);
    reader r = {.view = view};
    if (due) index = json_index_of_object(&r, indexes, object);
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
        int due;
        guildhall_key_index *index = json_index_find(indexes, array, position, &due);
        if (due) index = json_index_of_array(view, indexes, array);
        if (index) {
            child = index->slots[position / STRIDE - 1];
            position %= STRIDE;
        }
    }
    while (position--) child = guildhall_json_next(nodes, child);
    return child;
}
