/* Texts of a stream, by brackets and quotes. */
#include <string.h>
#include "scan.h"
#include "split.h"

static int json_split_is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' || byte == 0x1e; }

/* The position after the string that begins at the quote, or NULL when its end is not there. */
static const uint8_t *json_split_after_string(const uint8_t *at, const uint8_t *end)
{
    unsigned high = 0;
    for (at++; (at = guildhall_json_scan(at, end, &high)) < end; at++) {
        if (*at == '"') return at + 1;
        if (*at == '\\') at++;
    }
    return NULL;
}

static const uint8_t *json_split_after_container(const uint8_t *at, const uint8_t *end)
{
    for (size_t depth = 0; at < end;) {
        if (*at == '"') {
            if (!(at = json_split_after_string(at, end))) return NULL;
            continue;
        }
        if (*at == '{' || *at == '[') depth++;
        if ((*at == '}' || *at == ']') && !--depth) return at + 1;
        at++;
    }
    return NULL;
}

/* Numbers and words end at a space or where another text begins. */
static const uint8_t *json_split_after_word(const uint8_t *at, const uint8_t *end)
{
    while (at < end && !json_split_is_space(*at) && *at != '"' && *at != '{' && *at != '[') at++;
    return at < end ? at : NULL;
}

guildhall_json_piece guildhall_json_split(const uint8_t *bytes, size_t length, size_t from, int last)
{
    const uint8_t *at = bytes + from, *end = bytes + length, *after;
    while (at < end && json_split_is_space(*at)) at++;
    if (at == end) return (guildhall_json_piece){length, length};
    if (*at == '"') after = json_split_after_string(at, end);
    else if (*at == '{' || *at == '[') after = json_split_after_container(at, end);
    else if (*at == '}' || *at == ']') after = at + 1; /* not JSON: for the parser to say so */
    else after = json_split_after_word(at, end);
    if (!after && last) after = end;
    size_t begin = (size_t)(at - bytes);
    return (guildhall_json_piece){begin, after ? (size_t)(after - bytes) : begin};
}
