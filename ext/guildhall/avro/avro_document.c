/* What Avro brings to Documents. Records and maps are maps. */
#include <ruby.h>
#include <string.h>
#include "../document/document_memory.h"
#include "avro_document.h"

typedef guildhall_spot spot;
typedef guildhall_payload payload;

static inline const guildhall_avro_codec *codec_of(const payload *p) { return p->marks->codec; }

static inline guildhall_avro_view view_of(const payload *p)
{
    return (guildhall_avro_view){p->bytes, p->length, &codec_of(p)->program, p->marks->words};
}

static inline const guildhall_avro_node *node_at(const payload *p, spot at)
{
    return &codec_of(p)->program.nodes[at.node];
}

static inline int is_record(const payload *p, spot at) { return node_at(p, at)->type == GUILDHALL_AVRO_RECORD; }
static inline VALUE constant(const payload *p, uint32_t number) { return codec_of(p)->constants[number]; }

static VALUE codec_object(const void *codec) { return ((const guildhall_avro_codec *)codec)->self; }

static guildhall_kind resolve(const payload *p, spot *at)
{
    guildhall_avro_view view = view_of(p);
    *at = guildhall_avro_chosen(&view, *at);
    switch (node_at(p, *at)->type) {
    case GUILDHALL_AVRO_RECORD: case GUILDHALL_AVRO_MAP: return GUILDHALL_MAP;
    case GUILDHALL_AVRO_ARRAY: return GUILDHALL_ARRAY;
    default: return GUILDHALL_SCALAR;
    }
}

static uint32_t count(const payload *p, spot container)
{
    guildhall_avro_view view = view_of(p);
    return is_record(p, container) ? node_at(p, container)->kept : guildhall_avro_count(&view, container);
}

typedef struct {
    guildhall_avro_view view;
    spot map;
} indexed;

/* Places are items, from 1 on. */
static guildhall_avro_items entry_at(const indexed *of, uint32_t place)
{
    guildhall_avro_items entry;
    guildhall_avro_entry(&of->view, guildhall_avro_item(&of->view, of->map, place - 1), &entry);
    return entry;
}

static guildhall_key key_at(const void *pointer, uint32_t place)
{
    guildhall_avro_items entry = entry_at(pointer, place);
    return (guildhall_key){entry.key, entry.key_length, 0};
}

static guildhall_key_index *index_of(payload *p, const indexed *of, uint32_t count)
{
    guildhall_key_index *found = guildhall_key_indexes_find(&p->indexes, of->map.offset);
    if (found || !guildhall_key_indexes_due(&p->indexes, count)) return found;
    guildhall_key_index *made = guildhall_key_index_new(of->map.offset, count);
    if (!made) return NULL;
    guildhall_avro_items items = guildhall_avro_items_of(&of->view, of->map);
    for (uint32_t place = 1; guildhall_avro_items_next(&items); place++) {
        guildhall_key_index_put(made, (guildhall_key){items.key, items.key_length, 0}, place, key_at, of);
    }
    return guildhall_key_indexes_publish(&p->indexes, made, key_at, of);
}

/* Of equal keys the last counts, as in a Hash. */
static int walk(const indexed *of, guildhall_key key, spot *found)
{
    guildhall_avro_items items = guildhall_avro_items_of(&of->view, of->map);
    int there = 0;
    while (guildhall_avro_items_next(&items)) {
        if (!guildhall_key_equals((guildhall_key){items.key, items.key_length, 0}, key)) continue;
        *found = items.value;
        there = 1;
    }
    return there;
}

static int find_pair(payload *p, spot map, VALUE text, spot *found)
{
    indexed of = {view_of(p), map};
    guildhall_key key = {(const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text), 0};
    uint32_t count = guildhall_avro_count(&of.view, map);
    guildhall_key_index *index = count > GUILDHALL_KEYS_WALKED ? index_of(p, &of, count) : NULL;
    if (!index) return walk(&of, key, found);
    uint32_t place = guildhall_key_index_get(index, key, key_at, &of);
    if (place) *found = entry_at(&of, place).value;
    return place != 0;
}

/* A field that was written, in *found; a default, in *fallback. symbols: are Symbols meant; -1: either. */
static int find_field(const payload *p, spot record, VALUE text, int symbols, spot *found, VALUE *fallback)
{
    const guildhall_avro_node *node = node_at(p, record);
    guildhall_avro_view view = view_of(p);
    uint32_t place = guildhall_avro_field(view.program, node, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    if (place == UINT32_MAX) return 0;
    const uint32_t *operand = view.program->operands + node->first + 2 * (size_t)place;
    int written = place < node->count;
    if (symbols >= 0 && RB_SYMBOL_P(constant(p, operand[written])) != symbols) return 0;
    if (written) *found = guildhall_avro_member(&view, record, place);
    else *fallback = constant(p, operand[1]);
    return 1;
}

static int member(payload *p, spot map, VALUE key, spot *found, VALUE *fallback)
{
    int record = is_record(p, map), symbol = RB_SYMBOL_P(key);
    VALUE text = !symbol ? guildhall_document_text(key) : record ? rb_sym2str(key) : 0;
    if (!text) return 0;
    int there = record ? find_field(p, map, text, symbol, found, fallback) : find_pair(p, map, text, found);
    RB_GC_GUARD(text);
    return there;
}

static int named(payload *p, spot map, VALUE name, spot *found, VALUE *fallback)
{
    return is_record(p, map) ? find_field(p, map, name, -1, found, fallback) : find_pair(p, map, name, found);
}

static spot element(const payload *p, spot array, uint32_t position)
{
    guildhall_avro_view view = view_of(p);
    return guildhall_avro_item(&view, array, position);
}

static VALUE key_of(const payload *p, const guildhall_avro_items *items)
{
    if (items->node->type == GUILDHALL_AVRO_ARRAY) return Qundef;
    if (items->node->type == GUILDHALL_AVRO_RECORD) return constant(p, items->name);
    return guildhall_avro_key(items->key, items->key_length);
}

/* The defaults of a record come last. */
static void each(const payload *p, spot container, guildhall_visit *visit, void *context)
{
    guildhall_avro_view view = view_of(p);
    guildhall_avro_items items = guildhall_avro_items_of(&view, container);
    uint32_t seen = 0;
    for (; guildhall_avro_items_next(&items); seen++) visit(key_of(p, &items), items.value, Qundef, context);
    if (!is_record(p, container)) return;
    const uint32_t *operand = view.program->operands + items.operand;
    for (; seen < items.node->kept; seen++, operand += 2) {
        visit(constant(p, operand[0]), container, constant(p, operand[1]), context);
    }
}

static VALUE build(const payload *p, spot at)
{
    return guildhall_avro_decode_at(codec_of(p), p->bytes, p->length, at.offset, at.node);
}

guildhall_document_format guildhall_avro_documents = {
    .codec_object = codec_object, .resolve = resolve, .count = count, .member = member, .named = named,
    .element = element, .each = each, .build = build};

VALUE guildhall_avro_document(const guildhall_avro_codec *codec, VALUE source, size_t from)
{
    source = guildhall_frozen_bytes(source);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_notes *notes = guildhall_notes_of_thread();
    if (!notes) rb_memerror();
    guildhall_avro_outcome outcome = guildhall_avro_read(bytes, from, length, &codec->program, &codec->rules, notes);
    if (RB_UNLIKELY(outcome.status != GUILDHALL_AVRO_VALID)) {
        rb_exc_raise(guildhall_avro_error(codec, outcome, bytes, from, length));
    }
    guildhall_marks *marks = guildhall_marks_new(&guildhall_avro_documents, codec, from, notes);
    guildhall_notes_trim(notes);
    if (!marks) rb_memerror();
    return guildhall_document_new(source, bytes, length, marks);
}

void guildhall_init_avro_document(VALUE avro) { guildhall_init_documents(avro, &guildhall_avro_documents); }
