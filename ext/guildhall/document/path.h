/* A path such as $.user.roles[1], written into a fixed buffer. Without Ruby. */
#ifndef GUILDHALL_DOCUMENT_PATH_H
#define GUILDHALL_DOCUMENT_PATH_H

#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_PATH_BYTES 512
#define GUILDHALL_EXCERPT_BYTES 40

typedef struct {
    char text[GUILDHALL_PATH_BYTES];
    size_t length;
    int full; /* the rest is left out, and "…" is in its place */
} guildhall_path;

void guildhall_path_init(guildhall_path *path);
void guildhall_path_key(guildhall_path *path, const uint8_t *key, size_t length);
void guildhall_path_index(guildhall_path *path, int64_t index);
/* Needs it no quotes? */
int guildhall_path_is_word(const uint8_t *key, size_t length);
/* Bytes as printable ASCII, as far as there is room: all others, and the special ones, as \xHH. Returns the length. */
size_t guildhall_printable(const uint8_t *bytes, size_t length, const char *special, char *out, size_t room);
/* The bytes around the error, escaped so that they are safe to log: at most GUILDHALL_EXCERPT_BYTES characters. */
size_t guildhall_excerpt(const uint8_t *bytes, size_t length, size_t error_offset, char *out);

#endif
