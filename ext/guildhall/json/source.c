/* Finds the text of a container. A container has no position of its own: that would cost eight more bytes each and is
 * seldom needed. The position is computed from the nearest string or number before it. */
#include "scan.h"
#include "source.h"

/* The position after the string whose first byte after the quote is at `at`. */
static const uint8_t *json_source_after_string(const uint8_t *at, const uint8_t *end)
{
    unsigned high = 0;
    while ((at = guildhall_json_scan(at, end, &high)) < end && *at != '"') at += *at == '\\' ? 2 : 1;
    return at + 1;
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
            at = json_source_after_string(at + 1, end);
            continue;
        }
        if ((*at == '{' || *at == '[') && !skip--) return at;
        at++;
    }
}

static const uint8_t *json_source_after_closing_bracket(const uint8_t *at, const uint8_t *end)
{
    uint32_t depth = 0;
    for (;;) {
        if (*at == '"') {
            at = json_source_after_string(at + 1, end);
            continue;
        }
        if (*at == '{' || *at == '[') depth++;
        if ((*at == '}' || *at == ']') && !--depth) return at + 1;
        at++;
    }
}

guildhall_json_range guildhall_json_range_of(guildhall_json_view view, uint32_t index, size_t length)
{
    const uint8_t *at = view.bytes, *end = view.bytes + length;
    uint32_t containers = 0;
    for (uint32_t before = index; before--;) {
        guildhall_json_node node = view.nodes[before];
        if (json_source_has_offset(node)) {
            int string = guildhall_json_is_string(node);
            at = guildhall_json_source(view, node) + guildhall_json_length(node) + string;
            break;
        }
        containers += guildhall_json_is_container(node);
    }
    const uint8_t *opening = json_source_opening_bracket(at, end, containers);
    const uint8_t *after = json_source_after_closing_bracket(opening, end);
    return (guildhall_json_range){(size_t)(opening - view.bytes), (size_t)(after - view.bytes)};
}
