/* Finding children of large containers without walking past their siblings. Without Ruby.
 *
 * One index serves a whole tape. It is made when walking has cost as much as making it does, so that reading one field
 * of a large object costs one walk, and reading all of them is linear. Never changed once made: any number of threads
 * may read it.
 */
#ifndef GUILDHALL_JSON_INDEX_H
#define GUILDHALL_JSON_INDEX_H

#include "json_tape.h"

/* Smaller containers are walked. */
#define GUILDHALL_JSON_SMALL 16

typedef struct guildhall_json_index guildhall_json_index;

/* NULL when there is no memory, or nothing large on the tape. */
guildhall_json_index *guildhall_json_index_new(guildhall_json_view view, uint32_t count, uint64_t seed);
void guildhall_json_index_free(guildhall_json_index *index);
size_t guildhall_json_index_size(const guildhall_json_index *index);

/* The index of the value under this key of a large object; 0 when it has no such key. */
uint32_t guildhall_json_index_member(const guildhall_json_index *index, guildhall_json_view view, uint32_t object,
                                     const uint8_t *key, size_t length);

/* The index of an element of a large array: the position is inside it. */
uint32_t guildhall_json_index_element(const guildhall_json_index *index, guildhall_json_view view, uint32_t array,
                                      uint32_t position);

#endif
