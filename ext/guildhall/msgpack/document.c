/* What MessagePack brings to Documents. */
#include <ruby.h>
#include "document.h"
#include "document/any.h"

typedef guildhall_position position;
typedef guildhall_payload payload;

static inline const guildhall_msgpack_codec *msgpack_document_codec_of(const payload *p)
{
    return (const guildhall_msgpack_codec *)p->index->codec;
}

static inline guildhall_msgpack_view msgpack_document_view_of(const payload *p)
{
    return (guildhall_msgpack_view){p->bytes, p->length, p->index->entries};
}

static inline guildhall_msgpack_token msgpack_document_token_at(const payload *p, position at)
{
    guildhall_msgpack_view view = msgpack_document_view_of(p);
    return guildhall_msgpack_at(&view, at.offset);
}

static guildhall_kind msgpack_document_resolve(const payload *p, position *at)
{
    switch (msgpack_document_token_at(p, *at).type) {
    case GUILDHALL_MSGPACK_MAP: return GUILDHALL_MAP;
    case GUILDHALL_MSGPACK_ARRAY: return GUILDHALL_ARRAY;
    default: return GUILDHALL_SCALAR;
    }
}

static uint32_t msgpack_document_count(const payload *p, position container) { return msgpack_document_token_at(p, container).length; }

static VALUE msgpack_document_build(const payload *p, position at)
{
    return guildhall_msgpack_decode_at(msgpack_document_codec_of(p), p->bytes, p->length, at.offset);
}

static VALUE msgpack_document_build_key(const payload *p, position at)
{
    return guildhall_msgpack_decode_key(msgpack_document_codec_of(p), p->bytes, p->length, at.offset);
}

static int msgpack_document_named(payload *p, position map, VALUE name, position *found, VALUE *fallback)
{
    guildhall_msgpack_view view = msgpack_document_view_of(p);
    guildhall_key key = {(const uint8_t *)RSTRING_PTR(name), (size_t)RSTRING_LEN(name), 0};
    return guildhall_msgpack_find(&view, &p->key_indexes, map, key, found);
}

static int msgpack_document_numbered(payload *p, position map, int64_t number, position *found)
{
    guildhall_msgpack_view view = msgpack_document_view_of(p);
    return guildhall_msgpack_find(&view, &p->key_indexes, map, (guildhall_key){NULL, 0, number}, found);
}

/* Keys that are neither texts nor numbers are rare: each is made and asked. */
static int msgpack_document_other_member(const payload *p, position map, VALUE key, position *found)
{
    guildhall_msgpack_view view = msgpack_document_view_of(p);
    guildhall_msgpack_items items = guildhall_msgpack_items_of(&view, map);
    int there = 0;
    while (guildhall_msgpack_items_next(&items)) {
        if (msgpack_document_token_at(p, items.key).type == GUILDHALL_MSGPACK_STRING || !rb_eql(msgpack_document_build(p, items.key), key)) continue;
        *found = items.value;
        there = 1;
    }
    return there;
}

/* The String that a key given by the caller means for this codec; 0: no text key is meant. */
static VALUE msgpack_document_key_text(const payload *p, VALUE key)
{
    if (msgpack_document_codec_of(p)->rules.symbol_keys) return RB_SYMBOL_P(key) ? rb_sym2str(key) : 0;
    return guildhall_document_text(key);
}

static int msgpack_document_member(payload *p, position map, VALUE key, position *found, VALUE *fallback)
{
    if (FIXNUM_P(key)) return msgpack_document_numbered(p, map, FIX2LONG(key), found);
    VALUE text = msgpack_document_key_text(p, key);
    if (!text) return msgpack_document_other_member(p, map, key, found);
    int there = msgpack_document_named(p, map, text, found, fallback);
    RB_GC_GUARD(text);
    return there;
}

static position msgpack_document_element(const payload *p, position array, uint32_t index)
{
    guildhall_msgpack_view view = msgpack_document_view_of(p);
    return guildhall_msgpack_item(&view, array, index);
}

static void msgpack_document_each(const payload *p, position container, guildhall_visit *visit, void *context)
{
    guildhall_msgpack_view view = msgpack_document_view_of(p);
    guildhall_msgpack_items items = guildhall_msgpack_items_of(&view, container);
    while (guildhall_msgpack_items_next(&items)) {
        visit(items.map ? msgpack_document_build_key(p, items.key) : Qundef, items.value, Qundef, context);
    }
}

static guildhall_outcome msgpack_document_read(const void *codec, const uint8_t *bytes, size_t from, size_t length,
                                               guildhall_index_builder *builder)
{
    return guildhall_msgpack_read(bytes, length, &((const guildhall_msgpack_codec *)codec)->rules, builder);
}

guildhall_document_format guildhall_msgpack_documents = {
    .read = msgpack_document_read, .error = guildhall_msgpack_error, .no_memory = GUILDHALL_MSGPACK_NO_MEMORY,
    .resolve = msgpack_document_resolve, .count = msgpack_document_count, .member = msgpack_document_member,
    .named = msgpack_document_named, .element = msgpack_document_element, .each = msgpack_document_each, .build = msgpack_document_build};

void guildhall_init_msgpack_document(VALUE msgpack) { guildhall_init_documents(msgpack, &guildhall_msgpack_documents); }
