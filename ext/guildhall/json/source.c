/* Finds the text of a container. A container has no position of its own: that would cost eight more bytes each and is
 * seldom needed. The position is computed from the nearest string or number before it that has one. Small integers have
 * none, so that it may be far away: once looking back has cost as much as an index does, one pass along the tape notes the
 * positions of all containers. */
#include <string.h>
#include "scan.h"
#include "source.h"

const uint8_t *guildhall_json_after_string(const uint8_t *at, const uint8_t *end)
{
    unsigned high = 0;
    for (at++; (at = guildhall_json_scan(at, end, &high)) < end; at++) {
        if (*at == '"') return at + 1;
        if (*at == '\\') at++;
    }
    return NULL;
}

static const uint8_t *json_source_after_container(const uint8_t *at, const uint8_t *end)
{
    for (size_t depth = 0; at < end;) {
        if (*at == '"') {
            if (!(at = guildhall_json_after_string(at, end))) return NULL;
            continue;
        }
        if (*at == '{' || *at == '[') depth++;
        if ((*at == '}' || *at == ']') && !--depth) return at + 1;
        at++;
    }
    return NULL;
}

static int json_source_has_offset(guildhall_json_node node)
{
    guildhall_json_type type = guildhall_json_type_of(node);
    return type >= GUILDHALL_JSON_BIG_INTEGER && type <= GUILDHALL_JSON_ESCAPED;
}

/* The opening bracket after which `skip` others have been passed. */
static const uint8_t *json_source_opening_bracket(const uint8_t *at, const uint8_t *end, uint32_t skip)
{
    for (;;) {
        if (*at == '"') {
            at = guildhall_json_after_string(at, end);
            continue;
        }
        if ((*at == '{' || *at == '[') && !skip--) return at;
        at++;
    }
}

#define POSITIONS UINT32_MAX /* no container has this index */
#define BYTES_PER_STEP 8     /* scanning 8 bytes takes as long as skipping one node */

static const uint8_t *json_source_after_scalar(guildhall_json_view view, guildhall_json_node node)
{
    return guildhall_json_source(view, node) + guildhall_json_length(node) + guildhall_json_is_string(node);
}

/* Slots: for every node the position after the bracket of the last container until there; none is 0. */
static void json_source_make_index(guildhall_json_view view, guildhall_key_indexes *indexes)
{
    uint32_t nodes = guildhall_json_offset(view.nodes[0]);
    guildhall_key_index *made = guildhall_key_index_of_array(POSITIONS, nodes);
    if (!made) return;
    const uint8_t *at = view.bytes;
    for (uint32_t i = 0; i < nodes; i++) {
        guildhall_json_node node = view.nodes[i];
        if (json_source_has_offset(node)) at = json_source_after_scalar(view, node);
        if (guildhall_json_is_container(node)) at = json_source_opening_bracket(at, view.end, 0) + 1;
        made->slots[i] = (uint32_t)(at - view.bytes);
    }
    guildhall_key_indexes_publish(indexes, made, NULL, NULL); /* no keys: it is as long as it has to be */
}

/* *steps: what it took. */
static const uint8_t *json_source_by_looking_back(guildhall_json_view view, uint32_t index, uint32_t *steps)
{
    const uint8_t *at = view.bytes;
    uint32_t containers = 0, before = index;
    while (before--) {
        guildhall_json_node node = view.nodes[before];
        if (json_source_has_offset(node)) {
            at = json_source_after_scalar(view, node);
            break;
        }
        containers += (uint32_t)guildhall_json_is_container(node);
    }
    const uint8_t *opening = json_source_opening_bracket(at, view.end, containers);
    *steps = index - before + (uint32_t)((opening - at) / BYTES_PER_STEP);
    return opening;
}

static const uint8_t *json_source_opening_of(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t index)
{
    const guildhall_key_index *positions = guildhall_key_indexes_find(indexes, POSITIONS);
    if (positions) return view.bytes + positions->slots[index] - 1;
    uint32_t steps;
    const uint8_t *opening = json_source_by_looking_back(view, index, &steps);
    if (guildhall_key_indexes_due(indexes, steps)) json_source_make_index(view, indexes);
    return opening;
}

guildhall_json_range guildhall_json_range_of(guildhall_json_view view, guildhall_key_indexes *indexes, uint32_t index)
{
    const uint8_t *opening = json_source_opening_of(view, indexes, index), *after = json_source_after_container(opening, view.end);
    return (guildhall_json_range){(size_t)(opening - view.bytes), (size_t)(after - view.bytes)};
}

static int json_source_is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' || byte == 0x1e; }

/* Numbers and words end at a space or where another text begins. */
static const uint8_t *json_source_after_word(const uint8_t *at, const uint8_t *end)
{
    while (at < end && !json_source_is_space(*at) && *at != '"' && *at != '{' && *at != '[') at++;
    return at < end ? at : NULL;
}

guildhall_json_range guildhall_json_split(const uint8_t *bytes, size_t length, size_t from, int last)
{
    const uint8_t *at = bytes + from, *end = bytes + length, *after;
    while (at < end && json_source_is_space(*at)) at++;
    if (at == end) return (guildhall_json_range){length, length};
    if (*at == '"') after = guildhall_json_after_string(at, end);
    else if (*at == '{' || *at == '[') after = json_source_after_container(at, end);
    else if (*at == '}' || *at == ']') after = at + 1; /* not JSON: for the parser to say so */
    else after = json_source_after_word(at, end);
    if (!after && last) after = end;
    size_t begin = (size_t)(at - bytes);
    return (guildhall_json_range){begin, after ? (size_t)(after - bytes) : begin};
}
