/* The position of a byte in a JSON text, for error messages: found only when there is an error. Without Ruby. */
#ifndef GUILDHALL_JSON_LOCATE_H
#define GUILDHALL_JSON_LOCATE_H

#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_JSON_PATH_BYTES 512
#define GUILDHALL_JSON_EXCERPT_BYTES 40

typedef struct {
    size_t line, column;                  /* from 1; the column in characters */
    char path[GUILDHALL_JSON_PATH_BYTES]; /* $.user.roles[1]; its middle is left out where it would be too long */
    char excerpt[GUILDHALL_JSON_EXCERPT_BYTES + 1]; /* what is at the byte, printable ASCII only */
} guildhall_json_location;

/* `offset` is the first error of the text: what precedes it is valid. */
void guildhall_json_locate(const uint8_t *bytes, size_t length, size_t offset, guildhall_json_location *location);

#endif
