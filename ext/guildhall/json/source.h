/* The range of a container in its text. Without Ruby. */
#ifndef GUILDHALL_JSON_SOURCE_H
#define GUILDHALL_JSON_SOURCE_H

#include "document/key_index.h"
#include "tape.h"

typedef struct {
    size_t begin, end; /* byte offsets: of its opening bracket, after its closing bracket */
} guildhall_json_range;

/* Of the container at `index`. Takes no longer than its text does, and what is walked past to find it, over all calls, no longer
 * than the whole text: then the positions of all containers are kept among `indexes`. Not for tapes from which duplicate keys
 * were taken. From any number of threads. */
guildhall_json_range guildhall_json_range_of(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t index);

#endif
