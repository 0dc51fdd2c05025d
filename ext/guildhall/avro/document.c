/* What Avro brings to Documents. Records and maps are maps. */
#include <ruby.h>
#include <string.h>
#include "codec.h"
#include "document/any.h"

#define DOCUMENT(name) avro_document_##name
#define DOCUMENT_NESTED avro_document_nested
typedef guildhall_position position;
typedef guildhall_view view;

static inline const guildhall_avro_codec *avro_document_codec_of(const view *v)
{
    return (const guildhall_avro_codec *)v->codec;
}

static inline guildhall_avro_view avro_document_view_of(const view *v)
{
    return (guildhall_avro_view){v->bytes, v->length, &avro_document_codec_of(v)->program, v->entries};
}

static inline const guildhall_avro_node *avro_document_node_at(const view *v, position at)
{
    return &avro_document_codec_of(v)->program.nodes[at.node];
}

static inline int avro_document_is_record(const view *v, position at) { return avro_document_node_at(v, at)->type == GUILDHALL_AVRO_RECORD; }
static inline VALUE avro_document_constant(const view *v, uint32_t number) { return avro_document_codec_of(v)->constants[number]; }

static guildhall_kind avro_document_resolve(const view *v, position *at)
{
    guildhall_avro_view in = avro_document_view_of(v);
    *at = guildhall_avro_chosen(&in, *at);
    switch (avro_document_node_at(v, *at)->type) {
    case GUILDHALL_AVRO_RECORD: case GUILDHALL_AVRO_MAP: return GUILDHALL_MAP;
    case GUILDHALL_AVRO_ARRAY: return GUILDHALL_ARRAY;
    default: return GUILDHALL_SCALAR;
    }
}

static uint32_t avro_document_count(const view *v, position container)
{
    guildhall_avro_view in = avro_document_view_of(v);
    return avro_document_is_record(v, container) ? avro_document_node_at(v, container)->kept : guildhall_avro_count(&in, container);
}

typedef struct {
    guildhall_avro_view view;
    position map;
} indexed;

/* Places are items, from 1 on. */
static guildhall_avro_items avro_document_pair_at(const indexed *target, uint32_t place)
{
    guildhall_avro_items pair;
    guildhall_avro_pair(&target->view, guildhall_avro_item(&target->view, target->map, place - 1), &pair);
    return pair;
}

static guildhall_key avro_document_key_at(const void *pointer, uint32_t place)
{
    guildhall_avro_items pair = avro_document_pair_at(pointer, place);
    return (guildhall_key){pair.key, pair.key_length, 0};
}

static int avro_document_fill(guildhall_key_index *made, const void *pointer)
{
    const indexed *target = pointer;
    guildhall_avro_items items = guildhall_avro_items_of(&target->view, target->map);
    for (uint32_t place = 1; guildhall_avro_items_next(&items); place++) {
        guildhall_key_index_put(made, (guildhall_key){items.key, items.key_length, 0}, place, avro_document_key_at, target);
    }
    return 1;
}

/* Of equal keys the last counts, as in a Hash. */
static int avro_document_walk(const indexed *target, guildhall_key key, position *found)
{
    guildhall_avro_items items = guildhall_avro_items_of(&target->view, target->map);
    int there = 0;
    while (guildhall_avro_items_next(&items)) {
        if (!guildhall_key_equals((guildhall_key){items.key, items.key_length, 0}, key)) continue;
        *found = items.value;
        there = 1;
    }
    return there;
}

static int avro_document_find_pair(const view *v, position map, VALUE text, position *found)
{
    indexed target = {avro_document_view_of(v), map};
    guildhall_key key = {(const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text), 0};
    uint32_t count = guildhall_avro_count(&target.view, map);
    guildhall_key_index *index = NULL;
    if (count > GUILDHALL_KEYS_WALKED)
        index = guildhall_key_indexes_of(v->key_indexes, map.offset, count, avro_document_fill, avro_document_key_at, &target);
    if (!index) return avro_document_walk(&target, key, found);
    uint32_t place = guildhall_key_index_get(index, key, avro_document_key_at, &target);
    if (place) *found = avro_document_pair_at(&target, place).value;
    return place != 0;
}

/* A field that was written, in *found; a default, in *fallback. symbols: are Symbols meant; -1: either. */
static int avro_document_find_field(const view *v, position record, VALUE text, int symbols, position *found, VALUE *fallback)
{
    const guildhall_avro_node *node = avro_document_node_at(v, record);
    guildhall_avro_view in = avro_document_view_of(v);
    uint32_t place = guildhall_avro_field(in.program, node, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    if (place == UINT32_MAX) return 0;
    const uint32_t *operand = in.program->operands + node->first + 2 * (size_t)place;
    int written = place < node->count;
    if (symbols >= 0 && RB_SYMBOL_P(avro_document_constant(v, operand[written])) != symbols) return 0;
    if (written) *found = guildhall_avro_member(&in, record, place);
    else *fallback = avro_document_constant(v, operand[1]);
    return 1;
}

static int avro_document_member(const view *v, position map, VALUE key, position *found, VALUE *fallback)
{
    int record = avro_document_is_record(v, map), symbol = RB_SYMBOL_P(key);
    VALUE text = !symbol ? guildhall_document_text(key) : record ? rb_sym2str(key) : 0;
    if (!text) return 0;
    int there = record ? avro_document_find_field(v, map, text, symbol, found, fallback) : avro_document_find_pair(v, map, text, found);
    RB_GC_GUARD(text);
    return there;
}

static int avro_document_named(const view *v, position map, VALUE name, position *found, VALUE *fallback)
{
    return avro_document_is_record(v, map) ? avro_document_find_field(v, map, name, -1, found, fallback)
                                           : avro_document_find_pair(v, map, name, found);
}

static position avro_document_element(const view *v, position array, uint32_t index)
{
    guildhall_avro_view in = avro_document_view_of(v);
    return guildhall_avro_item(&in, array, index);
}

typedef struct {
    guildhall_avro_view view;
    guildhall_avro_items items;
    const guildhall_avro_codec *codec;
    uint32_t fields; /* of a record: written ones so far, then defaults */
} avro_document_items;

static void avro_document_start(avro_document_items *items, const view *v, position container)
{
    *items = (avro_document_items){.view = avro_document_view_of(v), .codec = avro_document_codec_of(v)};
    items->items = guildhall_avro_items_of(&items->view, container);
}

/* The defaults of a record come last. */
static int avro_document_next(avro_document_items *items, position *value, VALUE *fallback)
{
    guildhall_avro_items *written = &items->items;
    if (guildhall_avro_items_next(written)) {
        *value = written->value;
        items->fields++;
        return 1;
    }
    if (written->node->type != GUILDHALL_AVRO_RECORD || items->fields == written->node->kept) return 0;
    const uint32_t *operand = items->codec->program.operands + written->operand;
    written->name = operand[0];
    *fallback = items->codec->constants[operand[1]];
    written->operand += 2;
    items->fields++;
    return 1;
}

static VALUE avro_document_key(const avro_document_items *items, const view *v)
{
    if (items->items.node->type == GUILDHALL_AVRO_RECORD) return avro_document_constant(v, items->items.name);
    return guildhall_avro_key(items->items.key, items->items.key_length);
}

static VALUE avro_document_build(const view *v, position at)
{
    return guildhall_avro_decode_at(avro_document_codec_of(v), v->bytes, v->length, at.offset, at.node);
}

static VALUE avro_document_nested(const view *v, position given, position at, VALUE document)
{
    if (RB_LIKELY(!avro_document_codec_of(v)->tagged) || avro_document_node_at(v, given)->type != GUILDHALL_AVRO_UNION) return document;
    return guildhall_avro_tagged(avro_document_codec_of(v), at.node, document);
}

static guildhall_outcome avro_document_read(const void *context, const uint8_t *bytes, size_t from, size_t length, guildhall_index *index)
{
    const guildhall_avro_codec *codec = context;
    guildhall_index_builder *builder = guildhall_index_builder_current();
    if (!builder) return (guildhall_outcome){GUILDHALL_AVRO_NO_MEMORY, 0};
    guildhall_outcome outcome = guildhall_avro_read(bytes, from, length, &codec->program, &codec->rules, builder);
    *index = guildhall_index_built(builder);
    return outcome;
}

guildhall_document_format guildhall_avro_documents = {
    .read = avro_document_read, .trim = guildhall_index_builder_trim, .error = guildhall_avro_error,
    .no_memory = GUILDHALL_AVRO_NO_MEMORY, .resolve = avro_document_resolve, .build = avro_document_build};

#include "document/methods.inc.c"

static VALUE avro_document_type_name(VALUE self)
{
    guildhall_cursor cursor = guildhall_document_self(self);
    const guildhall_avro_node *node = avro_document_node_at(&cursor.view, cursor.position);
    VALUE name = node->type == GUILDHALL_AVRO_RECORD ? guildhall_avro_name(avro_document_codec_of(&cursor.view), node) : Qnil;
    RB_GC_GUARD(self);
    return name;
}

void guildhall_init_avro_document(VALUE avro)
{
    avro_document_define(avro, &guildhall_avro_documents, "MapDocument");
    rb_define_method(guildhall_avro_documents.map_class, "type_name", avro_document_type_name, 0);
}
