/* MessagePack bytes → frozen Ruby objects, in one pass.
 *
 * What Ruby code an extension type runs may switch threads or decode other payloads: everything that a decode needs
 * lies on its own C stack, and the source is frozen.
 */
#include <ruby.h>
#include <time.h>
#include "codec.h"
#include "values/builder.h"

typedef struct {
    guildhall_msgpack_input input;
    const guildhall_msgpack_codec *codec;
    const uint8_t *bytes;
    guildhall_builder out;
} builder;

static ID id_unpack_extension;

static VALUE msgpack_build_value(builder *b);

/* Reads again, which finds the same error and the path to it. */
NORETURN(static void msgpack_build_fail(const builder *b));
static void msgpack_build_fail(const builder *b)
{
    size_t length = (size_t)(b->input.end - b->bytes);
    guildhall_index_builder index = {0};
    guildhall_outcome outcome = guildhall_msgpack_read(b->bytes, length, &b->codec->rules, &index);
    guildhall_index_builder_free(&index);
    rb_exc_raise(guildhall_msgpack_error(b->codec, outcome, b->bytes, 0, length));
}

static inline VALUE msgpack_build_text(builder *b, const guildhall_msgpack_token *token)
{
    VALUE text = guildhall_builder_text(&b->out, token->bytes, token->length, b->codec->rules.allow_invalid_utf8);
    if (RB_UNLIKELY(text == Qundef)) msgpack_build_fail(b);
    return text;
}

static VALUE msgpack_build_extension(builder *b, const guildhall_msgpack_token *token)
{
    guildhall_msgpack_timestamp timestamp;
    if (!guildhall_msgpack_knows(&b->codec->rules, token->extension)) msgpack_build_fail(b);
    if (token->extension == GUILDHALL_MSGPACK_TIMESTAMP_TYPE && !b->codec->rules.own_timestamps) {
        if (!guildhall_msgpack_read_timestamp(token->bytes, token->length, &timestamp)) msgpack_build_fail(b);
        struct timespec spec = {(time_t)timestamp.seconds, (long)timestamp.nanoseconds};
        return rb_ractor_make_shareable(rb_obj_freeze(rb_time_timespec_new(&spec, INT_MAX - 1))); /* in UTC */
    }
    VALUE payload = guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY);
    VALUE made = rb_funcall(b->codec->self, id_unpack_extension, 2, INT2FIX(token->extension), payload);
    return rb_ractor_make_shareable(made);
}

static inline void msgpack_build_enter(builder *b)
{
    if (RB_UNLIKELY(!guildhall_builder_open(&b->out, b->codec->rules.max_nesting))) msgpack_build_fail(b);
}

static VALUE msgpack_build_array(builder *b, uint32_t count)
{
    msgpack_build_enter(b);
    size_t base = b->out.stack.count;
    for (uint32_t i = 0; i < count; i++) guildhall_builder_push(&b->out, msgpack_build_value(b));
    return guildhall_builder_close(&b->out, base, 0);
}

static inline VALUE msgpack_build_text_key(builder *b, const guildhall_msgpack_token *token)
{
    const guildhall_msgpack_rules *rules = &b->codec->rules;
    int allow_invalid = rules->allow_invalid_utf8 && !rules->symbol_keys;
    VALUE key = guildhall_builder_key(&b->out, token->bytes, token->length, allow_invalid, rules->symbol_keys);
    if (RB_UNLIKELY(key == Qundef)) msgpack_build_fail(b);
    return key;
}

/* As the gem does it: a Symbol of bytes that are not text is binary too. */
static VALUE msgpack_build_binary_key(builder *b, const guildhall_msgpack_token *token)
{
    if (!b->codec->rules.symbol_keys) return guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY);
    if (guildhall_ascii(token->bytes, token->length)) return msgpack_build_text_key(b, token);
    return rb_str_intern(guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY));
}

static VALUE msgpack_build_value_of(builder *b, const guildhall_msgpack_token *token);

static inline void msgpack_build_next(builder *b, guildhall_msgpack_token *token)
{
    if (RB_UNLIKELY(guildhall_msgpack_next(&b->input, token) != GUILDHALL_MSGPACK_VALID)) msgpack_build_fail(b);
}

static inline VALUE msgpack_build_key(builder *b)
{
    guildhall_msgpack_token token;
    msgpack_build_next(b, &token);
    if (RB_LIKELY(token.type == GUILDHALL_MSGPACK_STRING)) return msgpack_build_text_key(b, &token);
    return token.type == GUILDHALL_MSGPACK_BINARY ? msgpack_build_binary_key(b, &token) : msgpack_build_value_of(b, &token);
}

static VALUE msgpack_build_map(builder *b, uint32_t count)
{
    msgpack_build_enter(b);
    size_t base = b->out.stack.count;
    for (uint32_t i = 0; i < count; i++) {
        guildhall_builder_push(&b->out, msgpack_build_key(b));
        guildhall_builder_push(&b->out, msgpack_build_value(b));
    }
    return guildhall_builder_close(&b->out, base, 1);
}

static VALUE msgpack_build_value_of(builder *b, const guildhall_msgpack_token *token)
{
    switch (token->type) {
    case GUILDHALL_MSGPACK_NIL: return Qnil;
    case GUILDHALL_MSGPACK_FALSE: return Qfalse;
    case GUILDHALL_MSGPACK_TRUE: return Qtrue;
    case GUILDHALL_MSGPACK_INTEGER: return guildhall_integer_new(token->number);
    case GUILDHALL_MSGPACK_UNSIGNED: return guildhall_unsigned_new((uint64_t)token->number);
    case GUILDHALL_MSGPACK_FLOAT: return guildhall_float_new(token->real);
    case GUILDHALL_MSGPACK_STRING: return msgpack_build_text(b, token);
    case GUILDHALL_MSGPACK_BINARY: return guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY);
    case GUILDHALL_MSGPACK_EXTENSION: return msgpack_build_extension(b, token);
    case GUILDHALL_MSGPACK_ARRAY: return msgpack_build_array(b, token->length);
    case GUILDHALL_MSGPACK_MAP: return msgpack_build_map(b, token->length);
    }
    return Qundef;
}

/* Short texts and small numbers are most of what payloads hold: they are taken without the detour of a token. */
static VALUE msgpack_build_value(builder *b)
{
    guildhall_msgpack_token token;
    if (RB_LIKELY(b->input.at < b->input.end)) {
        uint8_t head = *b->input.at;
        if (head < 0x80) {
            b->input.at++;
            return INT2FIX(head);
        }
        if ((head & 0xe0) == 0xa0 && guildhall_msgpack_left(&b->input) > (head & 31u)) {
            token.length = head & 31u;
            token.bytes = b->input.at + 1;
            b->input.at += token.length + 1;
            return msgpack_build_text(b, &token);
        }
    }
    msgpack_build_next(b, &token);
    return msgpack_build_value_of(b, &token);
}

/* Extension types run Ruby code, which could change a source that is not frozen. */
static VALUE msgpack_build_steady(const guildhall_msgpack_codec *codec, VALUE source)
{
    StringValue(source);
    return codec->types || codec->rules.allow_unknown_extensions ? rb_str_new_frozen(source) : source;
}

static void msgpack_build_begin(builder *b, const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t from, size_t length)
{
    b->bytes = bytes;
    b->input = (guildhall_msgpack_input){bytes + from, bytes + length};
    b->codec = codec;
    guildhall_builder_init(&b->out);
    if (RB_UNLIKELY(length > codec->rules.max_bytes)) msgpack_build_fail(b);
}

VALUE guildhall_msgpack_decode(const guildhall_msgpack_codec *codec, VALUE source)
{
    source = msgpack_build_steady(codec, source);
    builder b;
    msgpack_build_begin(&b, codec, (const uint8_t *)RSTRING_PTR(source), 0, (size_t)RSTRING_LEN(source));
    VALUE made = msgpack_build_value(&b);
    if (RB_UNLIKELY(b.input.at != b.input.end)) msgpack_build_fail(&b);
    guildhall_value_stack_release(&b.out.stack);
    RB_GC_GUARD(source);
    return made;
}

static VALUE msgpack_build_decode_one(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from,
                        VALUE (*one)(builder *))
{
    builder b;
    msgpack_build_begin(&b, codec, bytes, from, length);
    VALUE made = one(&b);
    guildhall_value_stack_release(&b.out.stack);
    return made;
}

VALUE guildhall_msgpack_decode_at(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from)
{
    return msgpack_build_decode_one(codec, bytes, length, from, msgpack_build_value);
}

VALUE guildhall_msgpack_decode_key(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from)
{
    return msgpack_build_decode_one(codec, bytes, length, from, msgpack_build_key);
}

void guildhall_init_msgpack_build(void)
{
    id_unpack_extension = rb_intern("unpack_extension");
}
