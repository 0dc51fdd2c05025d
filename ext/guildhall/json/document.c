/* What JSON brings to Documents. */
#include <inttypes.h>
#include <ruby.h>
#include <stdio.h>
#include "document.h"
#include "document/any.h"
#include "index.h"
#include "memory/byte_buffer.h"
#include "source.h"
#include "values/frozen.h"

#define DOCUMENT(name) json_document_##name
#define DOCUMENT_SCALAR json_document_scalar
typedef guildhall_position position;
typedef guildhall_view view;

static inline guildhall_json_node json_document_node_at(const view *v, position at)
{
    return ((const guildhall_json_node *)v->entries)[at.offset];
}

static inline guildhall_kind json_document_resolve(const view *v, position *at)
{
    guildhall_json_node node = json_document_node_at(v, *at);
    if (!guildhall_json_is_container(node)) return GUILDHALL_SCALAR;
    return guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT ? GUILDHALL_MAP : GUILDHALL_ARRAY;
}

static inline VALUE json_document_build(const view *v, position at)
{
    guildhall_json_node node = json_document_node_at(v, at);
    if (!guildhall_json_is_container(node)) return guildhall_json_scalar(guildhall_json_codec_in(v), guildhall_json_view_of(v), node);
    return guildhall_json_build(guildhall_json_codec_in(v), guildhall_json_view_of(v), at.offset);
}

static inline VALUE json_document_scalar(const view *v, position at, struct guildhall_caches *caches)
{
    return guildhall_json_cached_scalar(guildhall_json_codec_in(v), guildhall_json_view_of(v), json_document_node_at(v, at), caches);
}

static inline uint32_t json_document_count(const view *v, position container) { return guildhall_json_length(json_document_node_at(v, container)); }

static inline int json_document_named(const view *v, position map, VALUE name, position *found, VALUE *fallback)
{
    uint32_t index = guildhall_json_member(guildhall_json_view_of(v), v->key_indexes, map.offset, (const uint8_t *)RSTRING_PTR(name),
                                           (size_t)RSTRING_LEN(name));
    *found = (position){index, 0, 0};
    return index != 0;
}

static inline int json_document_member(const view *v, position map, VALUE key, position *found, VALUE *fallback)
{
    int symbols = guildhall_json_codec_in(v)->symbolize_names;
    VALUE text = !symbols ? guildhall_document_text(key) : RB_SYMBOL_P(key) ? rb_sym2str(key) : 0;
    if (!text) return 0;
    int there = json_document_named(v, map, text, found, fallback);
    RB_GC_GUARD(text);
    return there;
}

static inline position json_document_element(const view *v, position array, uint32_t index)
{
    return (position){guildhall_json_element(guildhall_json_view_of(v), v->key_indexes, array.offset, index), 0, 0};
}

/* Indexes on the tape. */
typedef struct {
    const guildhall_json_node *nodes;
    uint32_t key, next, end, to_value;
} json_document_items;

static inline void json_document_start(json_document_items *items, const view *v, position container)
{
    guildhall_json_node node = json_document_node_at(v, container);
    uint32_t first = container.offset + 1, object = guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT;
    *items = (json_document_items){v->entries, first, first, guildhall_json_offset(node), object};
}

static inline int json_document_next(json_document_items *items, position *value, VALUE *fallback)
{
    if (items->next >= items->end) return 0;
    items->key = items->next;
    *value = (position){items->key + items->to_value, 0, 0};
    items->next = guildhall_json_next(items->nodes, value->offset);
    return 1;
}

static inline VALUE json_document_key(const json_document_items *items, const view *v)
{
    return guildhall_json_key(guildhall_json_codec_in(v), guildhall_json_view_of(v), items->nodes[items->key]);
}

static guildhall_outcome json_document_read(const void *codec, const uint8_t *bytes, size_t from, size_t length, guildhall_index *index)
{
    guildhall_json_scratch *scratch = guildhall_json_scratch_current();
    if (!scratch) return (guildhall_outcome){GUILDHALL_JSON_NO_MEMORY, 0};
    guildhall_json_outcome outcome = guildhall_json_parse(bytes, length, &((const guildhall_json_codec *)codec)->rules, scratch);
    *index = (guildhall_index){scratch->nodes, outcome.count * sizeof(guildhall_json_node), (uint32_t)outcome.count / 2, outcome.deduplicated};
    return (guildhall_outcome){outcome.status, outcome.error_offset};
}

static void json_document_trim(void)
{
    guildhall_json_scratch *scratch = guildhall_json_scratch_current();
    if (scratch) guildhall_json_scratch_trim(scratch);
}

guildhall_document_format guildhall_json_documents = {
    .read = json_document_read, .trim = json_document_trim, .error = guildhall_json_error, .no_memory = GUILDHALL_JSON_NO_MEMORY,
    .resolve = json_document_resolve, .build = json_document_build};

#include "document/methods.inc.c"

const uint8_t *guildhall_json_document_source(const guildhall_cursor *cursor, size_t *length)
{
    const guildhall_document *root = RTYPEDDATA_GET_DATA(cursor->root);
    if (root->deduplicated) return NULL;
    guildhall_json_range range = guildhall_json_range_of(guildhall_json_view_of(&cursor->view), cursor->view.key_indexes, cursor->position.offset);
    guildhall_key_indexes_report(cursor->view.key_indexes);
    *length = range.end - range.begin;
    return cursor->view.bytes + range.begin;
}

static VALUE json_document_source(VALUE self)
{
    guildhall_cursor cursor = guildhall_document_self(self);
    size_t length;
    const uint8_t *source = guildhall_json_document_source(&cursor, &length);
    VALUE made = source ? guildhall_string_new(source, length, GUILDHALL_TEXT_UNCHECKED) : Qnil;
    RB_GC_GUARD(self);
    return made;
}

typedef struct {
    uint32_t end, object, written; /* the index after it; 0 or 1; how many keys, values or elements */
} opened;

static void json_document_write_scalar(guildhall_byte_buffer *out, guildhall_json_view view, guildhall_json_node node)
{
    char digits[24];
    int string = guildhall_json_is_string(node);
    switch (guildhall_json_type_of(node)) {
    case GUILDHALL_JSON_NULL: return guildhall_byte_buffer_append(out, "null", 4);
    case GUILDHALL_JSON_FALSE: return guildhall_byte_buffer_append(out, "false", 5);
    case GUILDHALL_JSON_TRUE: return guildhall_byte_buffer_append(out, "true", 4);
    case GUILDHALL_JSON_INTEGER:
        return guildhall_byte_buffer_append(out, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, guildhall_json_integer(node)));
    default: /* with the quotes of a string */
        guildhall_byte_buffer_append(out, guildhall_json_source(view, node) - string, guildhall_json_length(node) + 2u * (unsigned)string);
    }
}

/* JSON text from a tape, without what is not on it; strings and numbers as they were written. A list of the open containers, not a
 * recursion, whatever the depth. */
static VALUE json_document_write(guildhall_json_view view, uint32_t index)
{
    guildhall_byte_buffer out;
    guildhall_byte_buffer_init(&out);
    VALUE room = 0;
    uint32_t end = guildhall_json_next(view.nodes, index), depth = 0;
    opened *open = ALLOCV_N(opened, room, end - index);
    while (index < end) {
        guildhall_json_node node = view.nodes[index++];
        opened *around = depth ? &open[depth - 1] : NULL;
        if (around && around->written) guildhall_byte_buffer_append(&out, around->object && around->written % 2 ? ":" : ",", 1);
        if (around) around->written++;
        if (guildhall_json_is_container(node)) {
            opened *inner = &open[depth++];
            *inner = (opened){guildhall_json_offset(node), guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT, 0};
            guildhall_byte_buffer_append(&out, inner->object ? "{" : "[", 1);
        } else json_document_write_scalar(&out, view, node);
        for (; depth && open[depth - 1].end == index; depth--) guildhall_byte_buffer_append(&out, open[depth - 1].object ? "}" : "]", 1);
    }
    ALLOCV_END(room);
    return guildhall_byte_buffer_finish(&out, GUILDHALL_TEXT_UNCHECKED);
}

/* A Document of the same contents with a text of its own. */
static VALUE json_document_detach(VALUE self)
{
    guildhall_cursor cursor = guildhall_document_self(self);
    const guildhall_json_codec *codec = guildhall_json_codec_in(&cursor.view);
    VALUE text = json_document_source(self);
    if (NIL_P(text)) text = json_document_write(guildhall_json_view_of(&cursor.view), cursor.position.offset);
    VALUE made = guildhall_document_of(codec, guildhall_json_bytes(text), 0);
    RB_GC_GUARD(self);
    return made;
}

void guildhall_init_json_document(VALUE json)
{
    VALUE document = json_document_define(json, &guildhall_json_documents, "ObjectDocument");
    rb_define_method(document, "source", json_document_source, 0);
    rb_define_method(document, "detach", json_document_detach, 0);
}
