/* Checks an Avro payload and builds its structural index (document/structural_index.h); finds values in it afterwards. Without Ruby, from
 * any thread; afterwards from several at once.
 *
 * Arrays and maps have entries. A sample also says how many items of its block are still to come, this one included. Of more than one block
 * the number of all items comes last, and the entry after it has a flag; of a single block the source says it. There are no samples
 * where items take hardly a byte.
 *
 * An array or map that the reader's schema leaves out has one word: where the source goes on after it.
 */
#ifndef GUILDHALL_AVRO_READ_H
#define GUILDHALL_AVRO_READ_H

#include "document/structural_index.h"
#include "input.h"

/* The bytes from `from` on must be one value of the program's root. When they are, builder->entries is its index. What
 * Ruby code makes of values (logical types) is not looked at. */
guildhall_outcome guildhall_avro_read(const uint8_t *bytes, size_t from, size_t length, const guildhall_avro_program *program,
                                      const guildhall_avro_rules *rules, guildhall_index_builder *builder);
/* Goes past a value that the reader's schema leaves out. Less strict: texts and numbers are not looked at. */
guildhall_avro_status guildhall_avro_leave_out(guildhall_avro_input *input, const guildhall_avro_program *program, uint32_t node,
                                               uint32_t depth_left);

/* ---- a payload that was found valid */

typedef struct {
    const uint8_t *bytes;
    size_t length;
    const guildhall_avro_program *program;
    const uint32_t *entries;
} guildhall_avro_view;

/* The value itself, where it is a union's. */
guildhall_position guildhall_avro_chosen(const guildhall_avro_view *view, guildhall_position position);
/* The number of items of an array or a map. */
uint32_t guildhall_avro_count(const guildhall_avro_view *view, guildhall_position many);
/* The place of a record's field of this name among the program's operands: two each, the fields that were written
 * first, then the defaults. UINT32_MAX: the record has none. */
uint32_t guildhall_avro_field(const guildhall_avro_program *program, const guildhall_avro_node *record, const char *name, size_t length);
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
