/* Finding values in a payload that guildhall_avro_read found valid. Without Ruby, from several threads at once. */
#ifndef GUILDHALL_AVRO_WALK_H
#define GUILDHALL_AVRO_WALK_H

#include "read.h"

typedef struct {
    const uint8_t *bytes;
    size_t length;
    const guildhall_avro_program *program;
    const uint32_t *entries;
} guildhall_avro_view;

/* The value itself, where it is a union's. */
guildhall_position guildhall_avro_chosen(const guildhall_avro_view *view, guildhall_position position);

/* The position of what follows a value (left_out: one that the reader's schema leaves out), in the source and in the index. */
guildhall_position guildhall_avro_past(const guildhall_avro_view *view, guildhall_position position, int left_out);

/* The number of items of an array or a map. */
uint32_t guildhall_avro_count(const guildhall_avro_view *view, guildhall_position many);

/* The place of a record's field of this name among the program's operands: two each, the fields that were written
 * first, then the defaults. UINT32_MAX: the record has none. */
uint32_t guildhall_avro_field(const guildhall_avro_program *program, const guildhall_avro_node *record, const char *name,
                              size_t length);

/* The position of the value of the written field at this place. */
guildhall_position guildhall_avro_member(const guildhall_avro_view *view, guildhall_position record, uint32_t place);

/* The items of an array or a map, or the fields of a record that the reader keeps, in their order. */
typedef struct {
    const guildhall_avro_view *view;
    const guildhall_avro_node *node;
    guildhall_position at;     /* what comes next */
    uint64_t left;              /* of this block, of the record */
    uint32_t operand;           /* record: of the field that comes next */
    guildhall_position value;  /* this one's value */
    const uint8_t *key;         /* map: this one's key */
    size_t key_length;
    uint32_t name;              /* record: the constant that is this one's name */
} guildhall_avro_items;

guildhall_avro_items guildhall_avro_items_of(const guildhall_avro_view *view, guildhall_position container);

/* 0: there are no more. */
int guildhall_avro_items_next(guildhall_avro_items *items);

/* Where the item at this position (below the count) of an array or a map begins: its value, or its key. */
guildhall_position guildhall_avro_item(const guildhall_avro_view *view, guildhall_position array, uint32_t index);

/* The key and the value of a map's item that begins at the position. */
void guildhall_avro_pair(const guildhall_avro_view *view, guildhall_position item, guildhall_avro_items *pair);

#endif
