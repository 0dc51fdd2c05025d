/* What Avro brings to Documents. Records and maps are maps. */
#include <ruby.h>
#include <string.h>
#include "document.h"
#include "document/any.h"

typedef guildhall_position position;
typedef guildhall_payload payload;

static inline const guildhall_avro_codec *avro_document_codec_of(const payload *p)
{
    return (const guildhall_avro_codec *)p->index->codec;
}

static inline guildhall_avro_view avro_document_view_of(const payload *p)
{
    return (guildhall_avro_view){p->bytes, p->length, &avro_document_codec_of(p)->program, p->index->entries};
}

static inline const guildhall_avro_node *avro_document_node_at(const payload *p, position at)
{
    return &avro_document_codec_of(p)->program.nodes[at.node];
}

static inline int avro_document_is_record(const payload *p, position at) { return avro_document_node_at(p, at)->type == GUILDHALL_AVRO_RECORD; }
static inline VALUE avro_document_constant(const payload *p, uint32_t number) { return avro_document_codec_of(p)->constants[number]; }

static guildhall_kind avro_document_resolve(const payload *p, position *at)
{
    guildhall_avro_view view = avro_document_view_of(p);
    *at = guildhall_avro_chosen(&view, *at);
    switch (avro_document_node_at(p, *at)->type) {
    case GUILDHALL_AVRO_RECORD: case GUILDHALL_AVRO_MAP: return GUILDHALL_MAP;
    case GUILDHALL_AVRO_ARRAY: return GUILDHALL_ARRAY;
    default: return GUILDHALL_SCALAR;
    }
}

static uint32_t avro_document_count(const payload *p, position container)
{
    guildhall_avro_view view = avro_document_view_of(p);
    return avro_document_is_record(p, container) ? avro_document_node_at(p, container)->kept : guildhall_avro_count(&view, container);
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

static guildhall_key_index *avro_document_index_of(payload *p, const indexed *target, uint32_t count)
{
    guildhall_key_index *found = guildhall_key_indexes_find(&p->key_indexes, target->map.offset);
    if (found || !guildhall_key_indexes_due(&p->key_indexes, count)) return found;
    guildhall_key_index *made = guildhall_key_index_new(target->map.offset, count);
    if (!made) return NULL;
    guildhall_avro_items items = guildhall_avro_items_of(&target->view, target->map);
    for (uint32_t place = 1; guildhall_avro_items_next(&items); place++) {
        guildhall_key_index_put(made, (guildhall_key){items.key, items.key_length, 0}, place, avro_document_key_at, target);
    }
    return guildhall_key_indexes_publish(&p->key_indexes, made, avro_document_key_at, target);
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

static int avro_document_find_pair(payload *p, position map, VALUE text, position *found)
{
    indexed target = {avro_document_view_of(p), map};
    guildhall_key key = {(const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text), 0};
    uint32_t count = guildhall_avro_count(&target.view, map);
    guildhall_key_index *index = count > GUILDHALL_KEYS_WALKED ? avro_document_index_of(p, &target, count) : NULL;
    if (!index) return avro_document_walk(&target, key, found);
    uint32_t place = guildhall_key_index_get(index, key, avro_document_key_at, &target);
    if (place) *found = avro_document_pair_at(&target, place).value;
    return place != 0;
}

/* A field that was written, in *found; a default, in *fallback. symbols: are Symbols meant; -1: either. */
static int avro_document_find_field(const payload *p, position record, VALUE text, int symbols, position *found, VALUE *fallback)
{
    const guildhall_avro_node *node = avro_document_node_at(p, record);
    guildhall_avro_view view = avro_document_view_of(p);
    uint32_t place = guildhall_avro_field(view.program, node, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    if (place == UINT32_MAX) return 0;
    const uint32_t *operand = view.program->operands + node->first + 2 * (size_t)place;
    int written = place < node->count;
    if (symbols >= 0 && RB_SYMBOL_P(avro_document_constant(p, operand[written])) != symbols) return 0;
    if (written) *found = guildhall_avro_member(&view, record, place);
    else *fallback = avro_document_constant(p, operand[1]);
    return 1;
}

static int avro_document_member(payload *p, position map, VALUE key, position *found, VALUE *fallback)
{
    int record = avro_document_is_record(p, map), symbol = RB_SYMBOL_P(key);
    VALUE text = !symbol ? guildhall_document_text(key) : record ? rb_sym2str(key) : 0;
    if (!text) return 0;
    int there = record ? avro_document_find_field(p, map, text, symbol, found, fallback) : avro_document_find_pair(p, map, text, found);
    RB_GC_GUARD(text);
    return there;
}

static int avro_document_named(payload *p, position map, VALUE name, position *found, VALUE *fallback)
{
    return avro_document_is_record(p, map) ? avro_document_find_field(p, map, name, -1, found, fallback)
                                           : avro_document_find_pair(p, map, name, found);
}

static position avro_document_element(const payload *p, position array, uint32_t index)
{
    guildhall_avro_view view = avro_document_view_of(p);
    return guildhall_avro_item(&view, array, index);
}

static VALUE avro_document_key_of(const payload *p, const guildhall_avro_items *items)
{
    if (items->node->type == GUILDHALL_AVRO_ARRAY) return Qundef;
    if (items->node->type == GUILDHALL_AVRO_RECORD) return avro_document_constant(p, items->name);
    return guildhall_avro_key(items->key, items->key_length);
}

/* The defaults of a record come last. */
static void avro_document_each(const payload *p, position container, guildhall_visit *visit, void *context)
{
    guildhall_avro_view view = avro_document_view_of(p);
    guildhall_avro_items items = guildhall_avro_items_of(&view, container);
    uint32_t seen = 0;
    for (; guildhall_avro_items_next(&items); seen++) visit(avro_document_key_of(p, &items), items.value, Qundef, context);
    if (!avro_document_is_record(p, container)) return;
    const uint32_t *operand = view.program->operands + items.operand;
    for (; seen < items.node->kept; seen++, operand += 2) {
        visit(avro_document_constant(p, operand[0]), container, avro_document_constant(p, operand[1]), context);
    }
}

static VALUE avro_document_build(const payload *p, position at)
{
    return guildhall_avro_decode_at(avro_document_codec_of(p), p->bytes, p->length, at.offset, at.node);
}

static VALUE avro_document_inside(const payload *p, position given, position at, VALUE document)
{
    if (RB_LIKELY(!avro_document_codec_of(p)->tagged) || avro_document_node_at(p, given)->type != GUILDHALL_AVRO_UNION) return document;
    return guildhall_avro_tagged(avro_document_codec_of(p), at.node, document);
}

static VALUE avro_document_type_name(VALUE self)
{
    guildhall_cursor cursor = guildhall_document_read(self);
    if (!avro_document_is_record(cursor.payload, cursor.position)) return Qnil;
    return guildhall_avro_name(avro_document_codec_of(cursor.payload), avro_document_node_at(cursor.payload, cursor.position));
}

static guildhall_outcome avro_document_read(const void *context, const uint8_t *bytes, size_t from, size_t length,
                                            guildhall_index_builder *builder)
{
    const guildhall_avro_codec *codec = context;
    return guildhall_avro_read(bytes, from, length, &codec->program, &codec->rules, builder);
}

guildhall_document_format guildhall_avro_documents = {
    .read = avro_document_read, .error = guildhall_avro_error, .no_memory = GUILDHALL_AVRO_NO_MEMORY,
    .inside = avro_document_inside, .resolve = avro_document_resolve, .count = avro_document_count, .member = avro_document_member, .named = avro_document_named,
    .element = avro_document_element, .each = avro_document_each, .build = avro_document_build};

void guildhall_init_avro_document(VALUE avro)
{
    guildhall_init_documents(avro, &guildhall_avro_documents);
    rb_define_method(guildhall_avro_documents.map_class, "type_name", avro_document_type_name, 0);
}
