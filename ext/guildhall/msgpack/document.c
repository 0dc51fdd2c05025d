/* What MessagePack brings to Documents. */
#include <ruby.h>
#include "codec.h"
#include "document/any.h"

#define DOCUMENT(name) msgpack_document_##name
typedef guildhall_position position;
typedef guildhall_view view;

static inline const guildhall_msgpack_codec *msgpack_document_codec_of(const view *v)
{
    return (const guildhall_msgpack_codec *)v->codec;
}

static inline guildhall_msgpack_token msgpack_document_token_at(const view *v, position at) { return guildhall_msgpack_at(v, at.offset); }

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
    return guildhall_msgpack_decode_at(msgpack_document_codec_of(v), v->bytes, v->length, at.offset, GUILDHALL_MSGPACK_VALUE);
}

static VALUE msgpack_document_build_key(const view *v, position at)
{
    return guildhall_msgpack_decode_at(msgpack_document_codec_of(v), v->bytes, v->length, at.offset, GUILDHALL_MSGPACK_KEY);
}

static int msgpack_document_named(const view *v, position map, VALUE name, position *found, VALUE *fallback)
{
    return guildhall_msgpack_find(v, map, (guildhall_key){(const uint8_t *)RSTRING_PTR(name), (size_t)RSTRING_LEN(name), 0}, found);
}

/* Arrays, maps and extensions, and what is looked for in an index where extension types are not registered: each is made and asked. */
static int msgpack_document_other_member(const view *v, position map, VALUE key, position *found)
{
    guildhall_msgpack_items items = guildhall_msgpack_items_of(v, map);
    int there = 0;
    while (guildhall_msgpack_items_next(&items)) {
        if (msgpack_document_token_at(v, items.key).type == GUILDHALL_MSGPACK_STRING || !rb_eql(msgpack_document_build_key(v, items.key), key)) continue;
        *found = items.value;
        there = 1;
    }
    return there;
}

static int msgpack_document_integer_key(VALUE number, guildhall_key *key)
{
    uint64_t magnitude;
    int sign = rb_integer_pack(number, &magnitude, 1, sizeof magnitude, 0, INTEGER_PACK_NATIVE_BYTE_ORDER | INTEGER_PACK_LSWORD_FIRST);
    int fits = sign == 1 || (sign == -1 && magnitude <= (uint64_t)1 << 63);
    int kind = sign == 1 && magnitude > INT64_MAX ? GUILDHALL_MSGPACK_KEY_UNSIGNED : GUILDHALL_MSGPACK_KEY_INTEGER;
    *key = (guildhall_key){NULL, kind, (int64_t)(sign < 0 ? 0 - magnitude : magnitude)};
    return fits;
}

/* The binary key that the caller means; 0: none. */
static VALUE msgpack_document_binary_key(const view *v, VALUE key)
{
    int symbols = msgpack_document_codec_of(v)->rules.symbol_keys;
    if (symbols ? !RB_SYMBOL_P(key) : !RB_TYPE_P(key, T_STRING)) return 0;
    VALUE text = symbols ? rb_sym2str(key) : key;
    return RB_ENCODING_GET(text) == guildhall_binary_index && !rb_enc_str_asciionly_p(text) ? text : 0;
}

/* Keys that are no texts: where no Ruby code has a say, what is in the payload says whether they are equal. */
static int msgpack_document_odd_member(const view *v, position map, VALUE key, position *found)
{
    guildhall_key wanted;
    if (msgpack_document_codec_of(v)->types) return msgpack_document_other_member(v, map, key, found);
    if (RB_TYPE_P(key, T_BIGNUM)) return msgpack_document_integer_key(key, &wanted) && guildhall_msgpack_find(v, map, wanted, found);
    if (RB_FLOAT_TYPE_P(key)) {
        double number = RFLOAT_VALUE(key);
        return number == number && guildhall_msgpack_find(v, map, guildhall_msgpack_float_key(number), found);
    }
    if (NIL_P(key)) return guildhall_msgpack_find(v, map, guildhall_msgpack_word_key(GUILDHALL_MSGPACK_NIL), found);
    if (key == Qtrue) return guildhall_msgpack_find(v, map, guildhall_msgpack_word_key(GUILDHALL_MSGPACK_TRUE), found);
    if (key == Qfalse) return guildhall_msgpack_find(v, map, guildhall_msgpack_word_key(GUILDHALL_MSGPACK_FALSE), found);
    VALUE binary = msgpack_document_binary_key(v, key);
    if (!binary) return msgpack_document_other_member(v, map, key, found);
    wanted = (guildhall_key){(const uint8_t *)RSTRING_PTR(binary), (size_t)RSTRING_LEN(binary), GUILDHALL_MSGPACK_KEY_BINARY};
    int there = guildhall_msgpack_find(v, map, wanted, found);
    RB_GC_GUARD(binary);
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
    if (FIXNUM_P(key)) return guildhall_msgpack_find(v, map, (guildhall_key){NULL, GUILDHALL_MSGPACK_KEY_INTEGER, FIX2LONG(key)}, found);
    VALUE text = msgpack_document_key_text(v, key);
    if (!text) return msgpack_document_odd_member(v, map, key, found);
    int there = msgpack_document_named(v, map, text, found, fallback);
    RB_GC_GUARD(text);
    return there;
}

#define msgpack_document_element guildhall_msgpack_item
#define msgpack_document_items guildhall_msgpack_items

static void msgpack_document_start(guildhall_msgpack_items *items, const view *v, position container)
{
    *items = guildhall_msgpack_items_of(v, container);
}

static int msgpack_document_next(guildhall_msgpack_items *items, position *value, VALUE *fallback)
{
    if (!guildhall_msgpack_items_next(items)) return 0;
    *value = items->value;
    return 1;
}

static VALUE msgpack_document_key(const guildhall_msgpack_items *items, const view *v) { return msgpack_document_build_key(v, items->key); }

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

#include "document/methods.inc.c"

void guildhall_init_msgpack_document(VALUE msgpack) { msgpack_document_define(msgpack, &guildhall_msgpack_documents, "MapDocument"); }
