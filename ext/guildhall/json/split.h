/* Where one JSON text ends and the next begins, in newline-delimited or concatenated JSON. Without Ruby. */
#ifndef GUILDHALL_JSON_SPLIT_H
#define GUILDHALL_JSON_SPLIT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t begin, end; /* begin == end: there is no whole text */
} guildhall_json_piece;

/* The first text at or after `from`. It is found by its brackets and quotes only: whether it is valid, the parser says.
 * `last`: no more bytes will come, so that what is left is a text, even if it is cut off. */
guildhall_json_piece guildhall_json_split(const uint8_t *bytes, size_t length, size_t from, int last);

#endif
