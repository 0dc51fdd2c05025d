/* MessagePack bytes → frozen Ruby objects, in one pass.
 *
 * What Ruby code an extension type runs may switch threads or decode other payloads: everything that a decode needs
 * lies on its own C stack, and the source is frozen.
 */
#include <ruby.h>
#include <time.h>
#include "../ascii.h"
#include "../stack_check.h"
#include "../utf8.h"
#include "../value_stack.h"
#include "../values.h"
#include "msgpack_codec.h"

typedef struct {
    guildhall_msgpack_input input;
    const guildhall_msgpack_codec *codec;
    guildhall_keys *keys;
    guildhall_repeats *repeats;
    uint32_t hint, depth;
    const uint8_t *bytes;
    guildhall_value_stack stack;
} builder;

static ID id_unpack_extension;

static VALUE value(builder *b);

/* Reads again, which finds the same fault and the path to it. */
NORETURN(static void fail(const builder *b));
static void fail(const builder *b)
{
    size_t length = (size_t)(b->input.end - b->bytes);
    guildhall_notes notes = {0};
    guildhall_msgpack_outcome outcome = guildhall_msgpack_read(b->bytes, length, &b->codec->rules, &notes);
    guildhall_notes_free(&notes);
    rb_exc_raise(guildhall_msgpack_error(b->codec, outcome, b->bytes, length));
}

/* A text that is not ASCII may wait until somebody asks whether it is valid, unless the rules ask. */
static inline VALUE text(builder *b, const guildhall_msgpack_token *token)
{
    if (RB_LIKELY(guildhall_ascii(token->bytes, token->length))) {
        return guildhall_string_repeated(b->repeats, token->bytes, token->length, GUILDHALL_TEXT_ASCII);
    }
    if (b->codec->rules.allow_invalid_utf8) {
        return guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_UNCHECKED);
    }
    if (guildhall_utf8_classify(token->bytes, token->length) == GUILDHALL_UTF8_INVALID) fail(b);
    return guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_UTF8);
}

static VALUE extension(builder *b, const guildhall_msgpack_token *token)
{
    guildhall_msgpack_timestamp timestamp;
    if (!guildhall_msgpack_knows(&b->codec->rules, token->extension)) fail(b);
    if (token->extension == GUILDHALL_MSGPACK_TIMESTAMP_TYPE && !b->codec->rules.own_timestamps) {
        if (!guildhall_msgpack_read_timestamp(token->bytes, token->length, &timestamp)) fail(b);
        struct timespec spec = {(time_t)timestamp.seconds, (long)timestamp.nanoseconds};
        return rb_ractor_make_shareable(rb_obj_freeze(rb_time_timespec_new(&spec, INT_MAX - 1))); /* in UTC */
    }
    VALUE payload = guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY);
    VALUE made = rb_funcall(b->codec->self, id_unpack_extension, 2, INT2FIX(token->extension), payload);
    return rb_ractor_make_shareable(made);
}

static inline void enter(builder *b)
{
    if (RB_UNLIKELY(++b->depth > b->codec->rules.max_nesting)) fail(b);
    guildhall_check_stack(b->depth);
}

static VALUE array(builder *b, uint32_t count)
{
    enter(b);
    size_t base = b->stack.count;
    for (uint32_t i = 0; i < count; i++) guildhall_value_stack_push(&b->stack, value(b));
    VALUE made = guildhall_array_repeated(b->repeats, count, b->stack.values + base);
    b->stack.count = base;
    b->depth--;
    return made;
}

static inline VALUE text_key(builder *b, const guildhall_msgpack_token *token)
{
    const guildhall_msgpack_rules *rules = &b->codec->rules;
    if (RB_UNLIKELY(!rules->allow_invalid_utf8 || rules->symbol_keys) && !guildhall_ascii(token->bytes, token->length) &&
        guildhall_utf8_classify(token->bytes, token->length) == GUILDHALL_UTF8_INVALID) fail(b);
    if (rules->symbol_keys) {
        return guildhall_key_symbol(b->keys, &b->hint, token->bytes, token->length, GUILDHALL_TEXT_UNCHECKED);
    }
    return guildhall_key_string(b->keys, &b->hint, token->bytes, token->length, GUILDHALL_TEXT_UNCHECKED);
}

static VALUE value_of(builder *b, const guildhall_msgpack_token *token);

static inline void next(builder *b, guildhall_msgpack_token *token)
{
    if (RB_UNLIKELY(guildhall_msgpack_next(&b->input, token) != GUILDHALL_MSGPACK_VALID)) fail(b);
}

static inline VALUE key(builder *b)
{
    guildhall_msgpack_token token;
    next(b, &token);
    return RB_LIKELY(token.type == GUILDHALL_MSGPACK_STRING) ? text_key(b, &token) : value_of(b, &token);
}

static VALUE map(builder *b, uint32_t count)
{
    enter(b);
    size_t base = b->stack.count;
    for (uint32_t i = 0; i < count; i++) {
        guildhall_value_stack_push(&b->stack, key(b));
        guildhall_value_stack_push(&b->stack, value(b));
    }
    VALUE made = guildhall_hash_repeated(b->repeats, count, b->stack.values + base);
    b->stack.count = base;
    b->depth--;
    return made;
}

static VALUE value_of(builder *b, const guildhall_msgpack_token *token)
{
    switch (token->type) {
    case GUILDHALL_MSGPACK_NIL: return Qnil;
    case GUILDHALL_MSGPACK_FALSE: return Qfalse;
    case GUILDHALL_MSGPACK_TRUE: return Qtrue;
    case GUILDHALL_MSGPACK_INTEGER: return guildhall_integer_new(token->number);
    case GUILDHALL_MSGPACK_UNSIGNED: return guildhall_unsigned_new((uint64_t)token->number);
    case GUILDHALL_MSGPACK_FLOAT: return guildhall_float_new(token->real);
    case GUILDHALL_MSGPACK_STRING: return text(b, token);
    case GUILDHALL_MSGPACK_BINARY: return guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY);
    case GUILDHALL_MSGPACK_EXTENSION: return extension(b, token);
    case GUILDHALL_MSGPACK_ARRAY: return array(b, token->length);
    case GUILDHALL_MSGPACK_MAP: return map(b, token->length);
    }
    return Qundef;
}

/* Short texts and small numbers are most of what payloads hold: they are taken without the detour of a token. */
static VALUE value(builder *b)
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
            return text(b, &token);
        }
    }
    next(b, &token);
    return value_of(b, &token);
}

/* Extension types run Ruby code, which could change a source that is not frozen. */
static VALUE steady(const guildhall_msgpack_codec *codec, VALUE source)
{
    StringValue(source);
    return codec->types || codec->rules.allow_unknown_extensions ? rb_str_new_frozen(source) : source;
}

static void begin(builder *b, const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t from, size_t length)
{
    b->bytes = bytes;
    b->input = (guildhall_msgpack_input){bytes + from, bytes + length};
    b->codec = codec;
    b->keys = guildhall_keys_current();
    b->repeats = guildhall_repeats_current();
    b->hint = 0;
    b->depth = 0;
    guildhall_value_stack_init(&b->stack);
    if (RB_UNLIKELY(length > codec->rules.max_bytes)) fail(b);
}

VALUE guildhall_msgpack_decode(const guildhall_msgpack_codec *codec, VALUE source)
{
    source = steady(codec, source);
    builder b;
    begin(&b, codec, (const uint8_t *)RSTRING_PTR(source), 0, (size_t)RSTRING_LEN(source));
    VALUE made = value(&b);
    if (RB_UNLIKELY(b.input.at != b.input.end)) fail(&b);
    guildhall_value_stack_release(&b.stack);
    RB_GC_GUARD(source);
    return made;
}

static VALUE decode_one(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from,
                        VALUE (*one)(builder *))
{
    builder b;
    begin(&b, codec, bytes, from, length);
    VALUE made = one(&b);
    guildhall_value_stack_release(&b.stack);
    return made;
}

VALUE guildhall_msgpack_decode_at(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from)
{
    return decode_one(codec, bytes, length, from, value);
}

VALUE guildhall_msgpack_decode_key(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from)
{
    return decode_one(codec, bytes, length, from, key);
}

void guildhall_init_msgpack_build(void)
{
    id_unpack_extension = rb_intern("unpack_extension");
}
