/* Where texts begin and end, by their brackets and quotes: of a container in its text, and in newline-delimited or concatenated JSON.
 * Without Ruby. */
#ifndef GUILDHALL_JSON_SOURCE_H
#define GUILDHALL_JSON_SOURCE_H

#include "document/key_index.h"
#include "tape.h"

typedef struct {
    size_t begin, end; /* byte offsets: of the first byte, after the last */
} guildhall_json_range;

/* Of the container at `index`. Takes no longer than its text does, and what is walked past to find it, over all calls, no longer
 * than the whole text: then the positions of all containers are kept among `indexes`. Not for tapes from which duplicate keys
 * were taken. From any number of threads. */
guildhall_json_range guildhall_json_range_of(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t index);

/* The position after the string that begins at the quote, or NULL when its end is not there. */
const uint8_t *guildhall_json_after_string(const uint8_t *at, const uint8_t *end);

/* The first text at or after `from`. It is found by its brackets and quotes only: whether it is valid, the parser says.
 * begin == end: there is no whole text. `last`: no more bytes will come, so that what is left is a text, even if it is cut off. */
guildhall_json_range guildhall_json_split(const uint8_t *bytes, size_t length, size_t from, int last);

#endif
