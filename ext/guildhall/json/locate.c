/* Line, column, path and excerpt of an error. The text before it is valid, so this walk need not check anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "document/path.h"
#include "locate.h"
#include "source.h"

/* An open container, and which of its children the walk is at. */
typedef struct {
    const uint8_t *key; /* of an object: the last key, after its quote; NULL before the first */
    size_t key_length;
    size_t index; /* of an array */
    int object;
} step;

typedef struct {
    step *steps;
    size_t depth, capacity;
} walk;

static int json_locate_open_container(walk *path, int object)
{
    if (path->depth == path->capacity) {
        size_t capacity = path->capacity ? path->capacity * 2 : 64;
        step *steps = realloc(path->steps, capacity * sizeof *steps);
        if (!steps) return 0;
        path->steps = steps;
        path->capacity = capacity;
    }
    path->steps[path->depth++] = (step){.object = object};
    return 1;
}

/* Follows the text up to `error`; the steps are then the containers that are open there. */
static void json_locate_follow(walk *path, const uint8_t *at, const uint8_t *error, const uint8_t *end)
{
    int key_next = 0;
    for (; at < end && at <= error; at++) {
        step *inner = path->depth ? &path->steps[path->depth - 1] : NULL;
        if (*at == '"') {
            const uint8_t *after = guildhall_json_after_string(at, end), *quote = after ? after - 1 : end;
            if (key_next && inner) {
                inner->key = at + 1;
                inner->key_length = (size_t)(quote - at - 1);
                key_next = 0;
            }
            at = quote;
        } else if (at == error) {
            return; /* a bracket here belongs to the outside of what it opens or closes */
        } else if (*at == '{' || *at == '[') {
            key_next = *at == '{';
            if (!json_locate_open_container(path, key_next)) return;
        } else if (*at == '}' || *at == ']') {
            if (path->depth) path->depth--;
            key_next = 0;
        } else if (*at == ',' && inner) {
            inner->index++;
            inner->key = NULL;
            key_next = inner->object;
        }
    }
}

static size_t json_locate_write_step(const step *taken, char *out, size_t room)
{
    char text[128];
    size_t size;
    if (!taken->object) {
        size = (size_t)snprintf(text, sizeof text, "[%zu]", taken->index);
    } else if (!taken->key) {
        return 0;
    } else {
        int name = guildhall_path_is_word(taken->key, taken->key_length);
        size = (size_t)snprintf(text, sizeof text, name ? "." : "[\"");
        size += guildhall_printable(taken->key, taken->key_length, "", text + size, 80);
        if (!name) size += (size_t)snprintf(text + size, sizeof text - size, "\"]");
    }
    if (size > room) return 0;
    memcpy(out, text, size);
    return size;
}

#define SHOWN_AT_END 4 /* steps, where the path is too long to be shown whole */

static void json_locate_write_path(const walk *path, char *out)
{
    size_t used = 1, room = GUILDHALL_JSON_PATH_BYTES - 1;
    out[0] = '$';
    size_t last = path->depth > SHOWN_AT_END ? path->depth - SHOWN_AT_END : 0, reserve = (SHOWN_AT_END + 1) * 90;
    for (size_t i = 0; i < path->depth; i++) {
        if (i < last && used + reserve > room) {
            memcpy(out + used, "...", 3);
            used += 3;
            i = last;
        }
        used += json_locate_write_step(&path->steps[i], out + used, room - used);
    }
    out[used] = '\0';
}

static void json_locate_write_position(const uint8_t *bytes, size_t offset, guildhall_json_location *location)
{
    size_t start = offset;
    while (start > 0 && bytes[start - 1] != '\n') start--;
    location->line = location->column = 1;
    for (size_t i = 0; i < start; i++) location->line += bytes[i] == '\n';
    for (size_t i = start; i < offset; i++) location->column += (bytes[i] & 0xC0) != 0x80;
}

void guildhall_json_locate(const uint8_t *bytes, size_t length, size_t offset, guildhall_json_location *location)
{
    walk path = {0};
    if (offset > length) offset = length;
    json_locate_write_position(bytes, offset, location);
    json_locate_follow(&path, bytes, bytes + offset, bytes + length);
    json_locate_write_path(&path, location->path);
    size_t shown = guildhall_printable(bytes + offset, length - offset, "", location->excerpt, GUILDHALL_JSON_EXCERPT_BYTES);
    location->excerpt[shown] = '\0';
    free(path.steps);
}
