/* What MessagePack brings to Documents. */
#include <ruby.h>
#include "../document/document_memory.h"
#include "msgpack_document.h"

typedef guildhall_spot spot;
typedef guildhall_payload payload;

static inline const guildhall_msgpack_codec *codec_of(const payload *p) { return p->marks->codec; }

static inline guildhall_msgpack_view view_of(const payload *p)
{
    return (guildhall_msgpack_view){p->bytes, p->length, p->marks->words};
}

static inline guildhall_msgpack_token token_at(const payload *p, spot at)
{
    guildhall_msgpack_view view = view_of(p);
    return guildhall_msgpack_at(&view, at.offset);
}

static VALUE codec_object(const void *codec) { return ((const guildhall_msgpack_codec *)codec)->self; }

static guildhall_kind resolve(const payload *p, spot *at)
{
    switch (token_at(p, *at).type) {
    case GUILDHALL_MSGPACK_MAP: return GUILDHALL_MAP;
    case GUILDHALL_MSGPACK_ARRAY: return GUILDHALL_ARRAY;
    default: return GUILDHALL_SCALAR;
    }
}

static uint32_t count(const payload *p, spot container) { return token_at(p, container).length; }

static VALUE build(const payload *p, spot at)
{
    return guildhall_msgpack_decode_at(codec_of(p), p->bytes, p->length, at.offset);
}

static VALUE build_key(const payload *p, spot at)
{
    return guildhall_msgpack_decode_key(codec_of(p), p->bytes, p->length, at.offset);
}

static int named(payload *p, spot map, VALUE name, spot *found, VALUE *fallback)
{
    guildhall_msgpack_view view = view_of(p);
    guildhall_key key = {(const uint8_t *)RSTRING_PTR(name), (size_t)RSTRING_LEN(name), 0};
    return guildhall_msgpack_find(&view, &p->indexes, map, key, found);
}

static int numbered(payload *p, spot map, int64_t number, spot *found)
{
    guildhall_msgpack_view view = view_of(p);
    return guildhall_msgpack_find(&view, &p->indexes, map, (guildhall_key){NULL, 0, number}, found);
}

/* Keys that are neither texts nor numbers are rare: each is made and asked. */
static int other_member(const payload *p, spot map, VALUE key, spot *found)
{
    guildhall_msgpack_view view = view_of(p);
    guildhall_msgpack_items items = guildhall_msgpack_items_of(&view, map);
    int there = 0;
    while (guildhall_msgpack_items_next(&items)) {
        if (token_at(p, items.key).type == GUILDHALL_MSGPACK_STRING || !rb_eql(build(p, items.key), key)) continue;
        *found = items.value;
        there = 1;
    }
    return there;
}

/* The String that a key given by the caller means for this codec; 0: no text key is meant. */
static VALUE key_text(const payload *p, VALUE key)
{
    if (codec_of(p)->rules.symbol_keys) return RB_SYMBOL_P(key) ? rb_sym2str(key) : 0;
    return guildhall_document_text(key);
}

static int member(payload *p, spot map, VALUE key, spot *found, VALUE *fallback)
{
    if (FIXNUM_P(key)) return numbered(p, map, FIX2LONG(key), found);
    VALUE text = key_text(p, key);
    if (!text) return other_member(p, map, key, found);
    int there = named(p, map, text, found, fallback);
    RB_GC_GUARD(text);
    return there;
}

static spot element(const payload *p, spot array, uint32_t position)
{
    guildhall_msgpack_view view = view_of(p);
    return guildhall_msgpack_item(&view, array, position);
}

static void each(const payload *p, spot container, guildhall_visit *visit, void *context)
{
    guildhall_msgpack_view view = view_of(p);
    guildhall_msgpack_items items = guildhall_msgpack_items_of(&view, container);
    while (guildhall_msgpack_items_next(&items)) {
        visit(items.map ? build_key(p, items.key) : Qundef, items.value, Qundef, context);
    }
}

guildhall_document_format guildhall_msgpack_documents = {
    .codec_object = codec_object, .resolve = resolve, .count = count, .member = member, .named = named,
    .element = element, .each = each, .build = build};

VALUE guildhall_msgpack_document(const guildhall_msgpack_codec *codec, VALUE source)
{
    source = guildhall_frozen_bytes(source);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_notes *notes = guildhall_notes_of_thread();
    if (!notes) rb_memerror();
    guildhall_msgpack_outcome outcome = guildhall_msgpack_read(bytes, length, &codec->rules, notes);
    if (RB_UNLIKELY(outcome.status != GUILDHALL_MSGPACK_VALID)) {
        rb_exc_raise(guildhall_msgpack_error(codec, outcome, bytes, length));
    }
    guildhall_marks *marks = guildhall_marks_new(&guildhall_msgpack_documents, codec, 0, notes);
    guildhall_notes_trim(notes);
    if (!marks) rb_memerror();
    return guildhall_document_new(source, bytes, length, marks);
}

void guildhall_init_msgpack_document(VALUE msgpack) { guildhall_init_documents(msgpack, &guildhall_msgpack_documents); }
