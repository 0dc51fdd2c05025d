/* JSON text from a tape: a walk along it with a list of the open containers, whatever the depth. */
#include <inttypes.h>
#include <stdio.h>
#include "memory/byte_buffer.h"
#include "rewrite.h"

typedef struct {
    uint32_t end, object, written; /* the index after it; 0 or 1; how many keys, values or elements */
} container;

typedef struct {
    guildhall_json_view view;
    guildhall_byte_buffer bytes, open; /* open: containers */
} output;

static inline int json_rewrite_inside(const output *out) { return guildhall_byte_buffer_length(&out->open) != 0; }
static inline container *json_rewrite_innermost(const output *out) { return (container *)(void *)out->open.at - 1; }
static inline void json_rewrite_append(output *out, const char *byte) { guildhall_byte_buffer_append(&out->bytes, byte, 1); }

static void json_rewrite_separate(output *out)
{
    container *around = json_rewrite_innermost(out);
    if (around->written) json_rewrite_append(out, around->object && around->written % 2 ? ":" : ",");
    around->written++;
}

static void json_rewrite_open(output *out, guildhall_json_node node)
{
    container opened = {guildhall_json_offset(node), guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT, 0};
    json_rewrite_append(out, opened.object ? "{" : "[");
    guildhall_byte_buffer_append(&out->open, &opened, sizeof opened);
}

static void json_rewrite_close(output *out)
{
    json_rewrite_append(out, json_rewrite_innermost(out)->object ? "}" : "]");
    out->open.at -= sizeof(container);
}

static void json_rewrite_scalar(output *out, guildhall_json_node node)
{
    char digits[24];
    int string = guildhall_json_is_string(node);
    switch (guildhall_json_type_of(node)) {
    case GUILDHALL_JSON_NULL: return guildhall_byte_buffer_append(&out->bytes, "null", 4);
    case GUILDHALL_JSON_FALSE: return guildhall_byte_buffer_append(&out->bytes, "false", 5);
    case GUILDHALL_JSON_TRUE: return guildhall_byte_buffer_append(&out->bytes, "true", 4);
    case GUILDHALL_JSON_INTEGER:
        return guildhall_byte_buffer_append(&out->bytes, digits,
                                            (size_t)snprintf(digits, sizeof digits, "%" PRId64, guildhall_json_integer(node)));
    default: /* with the quotes of a string */
        guildhall_byte_buffer_append(&out->bytes, guildhall_json_source(out->view, node) - string, guildhall_json_length(node) + 2u * (unsigned)string);
    }
}

VALUE guildhall_json_rewrite(guildhall_json_view view, uint32_t index)
{
    output out = {.view = view};
    guildhall_byte_buffer_init(&out.bytes);
    guildhall_byte_buffer_init(&out.open);
    do {
        guildhall_json_node node = view.nodes[index++];
        if (json_rewrite_inside(&out)) json_rewrite_separate(&out);
        if (guildhall_json_is_container(node)) json_rewrite_open(&out, node);
        else json_rewrite_scalar(&out, node);
        while (json_rewrite_inside(&out) && json_rewrite_innermost(&out)->end == index) json_rewrite_close(&out);
    } while (json_rewrite_inside(&out));
    return guildhall_byte_buffer_finish(&out.bytes, GUILDHALL_TEXT_UNCHECKED);
}
