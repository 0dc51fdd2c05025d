/* Keys that occur twice in one object. */
#ifndef GUILDHALL_JSON_DUPLICATES_H
#define GUILDHALL_JSON_DUPLICATES_H

#include "json_parse.h"

/* The index of the first key that occurred before in the closed object at `object`; 0 when keys are unique, UINT32_MAX
 * when there is no memory. Linear in the number of keys. */
uint32_t guildhall_json_duplicate(guildhall_json_view view, uint32_t object, guildhall_json_scratch *scratch);

/* Leaves one pair a key: at the place of the first, with the value of the last. The object ends the tape, which is
 * `count` nodes long; returns its new length, 0 when there is no memory. */
size_t guildhall_json_keep_last(guildhall_json_view view, guildhall_json_node *nodes, uint32_t object, size_t count,
                                guildhall_json_scratch *scratch);

/* A hash of a key's text (as unescaped), hard to predict without the seed. */
uint32_t guildhall_json_hash(const uint8_t *text, size_t length, uint64_t seed);

#endif
