/* Finding children of large containers without walking past their siblings, by indexes (document/key_index.h). Without Ruby,
 * from any number of threads. */
#ifndef GUILDHALL_JSON_INDEX_H
#define GUILDHALL_JSON_INDEX_H

#include "document/key_index.h"
#include "tape.h"

/* Smaller containers are walked. */
#define GUILDHALL_JSON_SMALL 16

/* The index of the value under this key of an object; 0 when it has no such key. */
uint32_t guildhall_json_member(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t object, const uint8_t *key,
                               size_t length);

/* The index of an element of an array; 0 when the position is not inside it. */
uint32_t guildhall_json_element(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t array, uint32_t position);

#endif
