/* What MessagePack brings to Documents. */
#include <ruby.h>
#include "document.h"
#include "document/any.h"

#define DOCUMENT(name) msgpack_document_##name
typedef guildhall_position position;
typedef guildhall_view view;

static inline const guildhall_msgpack_codec *msgpack_document_codec_of(const view *v)
{
    return (const guildhall_msgpack_codec *)v->codec;
}

static inline guildhall_msgpack_view msgpack_document_view_of(const view *v)
{
    return (guildhall_msgpack_view){v->bytes, v->length, v->entries};
}

static inline guildhall_msgpack_token msgpack_document_token_at(const view *v, position at)
{
    guildhall_msgpack_view in = msgpack_document_view_of(v);
    return guildhall_msgpack_at(&in, at.offset);
}

static guildhall_kind msgpack_document_resolve(const view *v, position *at)
{
    switch (msgpack_document_token_at(v, *at).type) {
    case GUILDHALL_MSGPACK_MAP: return GUILDHALL_MAP;
    case GUILDHALL_MSGPACK_ARRAY: return GUILDHALL_ARRAY;
    default: return GUILDHALL_SCALAR;
    }
}

static uint32_t msgpack_document_count(const view *v, position container) { return msgpack_document_token_at(v, container).length; }

static VALUE msgpack_document_build(const view *v, position at)
{
    return guildhall_msgpack_decode_at(msgpack_document_codec_of(v), v->bytes, v->length, at.offset);
}

static VALUE msgpack_document_build_key(const view *v, position at)
{
    return guildhall_msgpack_decode_key(msgpack_document_codec_of(v), v->bytes, v->length, at.offset);
}

static int msgpack_document_named(const view *v, position map, VALUE name, position *found, VALUE *fallback)
{
    guildhall_msgpack_view in = msgpack_document_view_of(v);
    guildhall_key key = {(const uint8_t *)RSTRING_PTR(name), (size_t)RSTRING_LEN(name), 0};
    return guildhall_msgpack_find(&in, v->key_indexes, map, key, found);
}

static int msgpack_document_numbered(const view *v, position map, int64_t number, position *found)
{
    guildhall_msgpack_view in = msgpack_document_view_of(v);
    return guildhall_msgpack_find(&in, v->key_indexes, map, (guildhall_key){NULL, 0, number}, found);
}

/* Keys that are neither texts nor numbers are rare: each is made and asked. */
static int msgpack_document_other_member(const view *v, position map, VALUE key, position *found)
{
    guildhall_msgpack_view in = msgpack_document_view_of(v);
    guildhall_msgpack_items items = guildhall_msgpack_items_of(&in, map);
    int there = 0;
    while (guildhall_msgpack_items_next(&items)) {
        if (msgpack_document_token_at(v, items.key).type == GUILDHALL_MSGPACK_STRING || !rb_eql(msgpack_document_build_key(v, items.key), key)) continue;
        *found = items.value;
        there = 1;
    }
    return there;
}

/* The String that a key given by the caller means for this codec; 0: no text key is meant. */
static VALUE msgpack_document_key_text(const view *v, VALUE key)
{
    if (!msgpack_document_codec_of(v)->rules.symbol_keys) return guildhall_document_text(key);
    if (!RB_SYMBOL_P(key)) return 0;
    VALUE text = rb_sym2str(key);
    return RB_ENCODING_GET_INLINED(text) == guildhall_binary_index ? 0 : text;
}

static int msgpack_document_member(const view *v, position map, VALUE key, position *found, VALUE *fallback)
{
    if (FIXNUM_P(key)) return msgpack_document_numbered(v, map, FIX2LONG(key), found);
    VALUE text = msgpack_document_key_text(v, key);
    if (!text) return msgpack_document_other_member(v, map, key, found);
    int there = msgpack_document_named(v, map, text, found, fallback);
    RB_GC_GUARD(text);
    return there;
}

static position msgpack_document_element(const view *v, position array, uint32_t index)
{
    guildhall_msgpack_view in = msgpack_document_view_of(v);
    return guildhall_msgpack_item(&in, array, index);
}

typedef struct {
    guildhall_msgpack_view view;
    guildhall_msgpack_items items;
} msgpack_document_items;

static void msgpack_document_start(msgpack_document_items *items, const view *v, position container)
{
    items->view = msgpack_document_view_of(v);
    items->items = guildhall_msgpack_items_of(&items->view, container);
}

static int msgpack_document_next(msgpack_document_items *items, position *value, VALUE *fallback)
{
    if (!guildhall_msgpack_items_next(&items->items)) return 0;
    *value = items->items.value;
    return 1;
}

static VALUE msgpack_document_key(const msgpack_document_items *items, const view *v)
{
    return msgpack_document_build_key(v, items->items.key);
}

static guildhall_outcome msgpack_document_read(const void *codec, const uint8_t *bytes, size_t from, size_t length, guildhall_index *index)
{
    guildhall_index_builder *builder = guildhall_index_builder_current();
    if (!builder) return (guildhall_outcome){GUILDHALL_MSGPACK_NO_MEMORY, 0};
    guildhall_outcome outcome = guildhall_msgpack_read(bytes, length, &((const guildhall_msgpack_codec *)codec)->rules, builder);
    *index = guildhall_index_built(builder);
    return outcome;
}

guildhall_document_format guildhall_msgpack_documents = {
    .read = msgpack_document_read, .trim = guildhall_index_builder_trim, .error = guildhall_msgpack_error,
    .no_memory = GUILDHALL_MSGPACK_NO_MEMORY, .resolve = msgpack_document_resolve, .build = msgpack_document_build};

#include "document/methods.h"

void guildhall_init_msgpack_document(VALUE msgpack) { msgpack_document_define(msgpack, &guildhall_msgpack_documents, "MapDocument"); }
