/* A double as the shortest decimal that reads back as the same double. Without Ruby. */
#ifndef GUILDHALL_JSON_SHORTEST_H
#define GUILDHALL_JSON_SHORTEST_H

#include <stddef.h>

#define GUILDHALL_JSON_DOUBLE_BYTES 32

/* Writes a finite double as JSON, the way the json gem does: 1.0, 0.00001, 1.5e+300. Returns the length. */
size_t guildhall_json_write_double(double value, char out[GUILDHALL_JSON_DOUBLE_BYTES]);

#endif
