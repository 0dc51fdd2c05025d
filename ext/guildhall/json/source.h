/* The range of a container in its text. Without Ruby. */
#ifndef GUILDHALL_JSON_SOURCE_H
#define GUILDHALL_JSON_SOURCE_H

#include "tape.h"

typedef struct {
    size_t begin, end; /* byte offsets: of its opening bracket, after its closing bracket */
} guildhall_json_range;

/* Of the container at `index`. `length`: of the text. Not for tapes from which duplicate keys were taken. */
guildhall_json_range guildhall_json_range_of(guildhall_json_view view, uint32_t index, size_t length);

#endif
