/* MessagePack bytes → frozen Ruby objects, in one pass.
 *
 * What Ruby code an extension type runs may switch threads or decode other payloads: everything that a decode needs
 * lies on its own C stack, and the source is frozen.
 */
#include <ruby.h>
#include <time.h>
#include "codec.h"
#include "values/builder.h"

typedef guildhall_msgpack_status status;
typedef guildhall_msgpack_token token;

typedef struct {
    uint32_t done, children, map;
    uint32_t base; /* where its values begin on the stack */
} level;

typedef struct {
    guildhall_msgpack_input input;
    const guildhall_msgpack_rules *rules;
    uint32_t depth;
    const guildhall_msgpack_codec *codec;
    const uint8_t *bytes;
    guildhall_builder out;
    level levels[GUILDHALL_MSGPACK_NESTING_LIMIT];
} scan;

#define MSGPACK(name) msgpack_build_##name
#define msgpack_build_child(s, around, is_key) GUILDHALL_MSGPACK_VALID

static ID id_unpack_extension;

static inline status msgpack_build_push_text(scan *s, VALUE made)
{
    return RB_UNLIKELY(made == Qundef) ? GUILDHALL_MSGPACK_INVALID_UTF8 : guildhall_builder_push(&s->out, made);
}

static status msgpack_build_extension(scan *s, const token *token)
{
    guildhall_msgpack_timestamp timestamp;
    if (!guildhall_msgpack_knows(s->rules, token->extension)) return GUILDHALL_MSGPACK_UNKNOWN_EXTENSION;
    if (token->extension == GUILDHALL_MSGPACK_TIMESTAMP_TYPE && !s->rules->own_timestamps) {
        if (!guildhall_msgpack_read_timestamp(token->bytes, token->length, &timestamp)) return GUILDHALL_MSGPACK_BAD_TIMESTAMP;
        struct timespec spec = {(time_t)timestamp.seconds, (long)timestamp.nanoseconds};
        VALUE time = rb_time_timespec_new(&spec, INT_MAX - 1); /* in UTC */
        return guildhall_builder_push(&s->out, rb_ractor_make_shareable(rb_obj_freeze(time)));
    }
    VALUE payload = guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY);
    VALUE made = rb_funcall(s->codec->self, id_unpack_extension, 2, INT2FIX(token->extension), payload);
    return guildhall_builder_push(&s->out, rb_ractor_make_shareable(made));
}

static inline status msgpack_build_text_key(scan *s, const token *token)
{
    int allow_invalid = s->rules->allow_invalid_utf8 && !s->rules->symbol_keys;
    return msgpack_build_push_text(s, guildhall_builder_key(&s->out, token->bytes, token->length, allow_invalid, s->rules->symbol_keys));
}

/* As the gem does it: a Symbol of bytes that are not text is binary too. */
static status msgpack_build_binary(scan *s, const token *token, int is_key)
{
    int symbol = is_key && s->rules->symbol_keys;
    if (symbol && guildhall_ascii(token->bytes, token->length)) return msgpack_build_text_key(s, token);
    VALUE bytes = guildhall_string_new(token->bytes, token->length, GUILDHALL_TEXT_BINARY);
    return guildhall_builder_push(&s->out, symbol ? rb_str_intern(bytes) : bytes);
}

static inline status msgpack_build_scalar(scan *s, const token *token, int is_key)
{
    switch (token->type) {
    case GUILDHALL_MSGPACK_STRING:
        if (is_key) return msgpack_build_text_key(s, token);
        return msgpack_build_push_text(s, guildhall_builder_text(&s->out, token->bytes, token->length, s->rules->allow_invalid_utf8));
    case GUILDHALL_MSGPACK_INTEGER: return guildhall_builder_push(&s->out, guildhall_integer_new(token->number));
    case GUILDHALL_MSGPACK_NIL: return guildhall_builder_push(&s->out, Qnil);
    case GUILDHALL_MSGPACK_FALSE: return guildhall_builder_push(&s->out, Qfalse);
    case GUILDHALL_MSGPACK_TRUE: return guildhall_builder_push(&s->out, Qtrue);
    case GUILDHALL_MSGPACK_UNSIGNED: return guildhall_builder_push(&s->out, guildhall_unsigned_new((uint64_t)token->number));
    case GUILDHALL_MSGPACK_FLOAT: return guildhall_builder_push(&s->out, guildhall_float_new(token->real));
    case GUILDHALL_MSGPACK_BINARY: return msgpack_build_binary(s, token, is_key);
    default: return msgpack_build_extension(s, token);
    }
}

static inline status msgpack_build_open(scan *s, level *opened, const token *token)
{
    opened->base = (uint32_t)s->out.stack.count;
    return GUILDHALL_MSGPACK_VALID;
}

static inline status msgpack_build_close(scan *s, const level *closed)
{
    return guildhall_builder_push(&s->out, guildhall_builder_close(&s->out, closed->base, (int)closed->map));
}

static inline status msgpack_build_empty(scan *s, uint32_t map)
{
    return guildhall_builder_push(&s->out, guildhall_builder_close(&s->out, s->out.stack.count, (int)map));
}

#include "scan.inc.c"

NORETURN(static void msgpack_build_fail(const scan *s));
static void msgpack_build_fail(const scan *s)
{
    rb_exc_raise(guildhall_msgpack_error(s->codec, (guildhall_outcome){0}, s->bytes, 0, (size_t)(s->input.end - s->bytes)));
}

VALUE guildhall_msgpack_decode_at(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from,
                                  guildhall_msgpack_part part)
{
    scan s; /* the list of open containers is long: what is not used of it is not touched */
    s.input = (guildhall_msgpack_input){bytes + from, bytes + length};
    s.rules = &codec->rules;
    s.depth = 0;
    s.codec = codec;
    s.bytes = bytes;
    guildhall_builder_init(&s.out);
    bool key = part == GUILDHALL_MSGPACK_KEY;
    if (RB_UNLIKELY(length > codec->rules.max_bytes || msgpack_build_value(&s, key) != GUILDHALL_MSGPACK_VALID)) msgpack_build_fail(&s);
    if (RB_UNLIKELY(part == GUILDHALL_MSGPACK_PAYLOAD && s.input.at != s.input.end)) msgpack_build_fail(&s);
    VALUE made = s.out.stack.values[0];
    guildhall_value_stack_release(&s.out.stack);
    return made;
}

/* Extension types run Ruby code, which could change a source that is not frozen. */
static VALUE msgpack_build_steady(const guildhall_msgpack_codec *codec, VALUE source)
{
    StringValue(source);
    return codec->types || codec->rules.allow_unknown_extensions ? rb_str_new_frozen(source) : source;
}

VALUE guildhall_msgpack_decode(const guildhall_msgpack_codec *codec, VALUE source)
{
    source = msgpack_build_steady(codec, source);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    VALUE made = guildhall_msgpack_decode_at(codec, bytes, (size_t)RSTRING_LEN(source), 0, GUILDHALL_MSGPACK_PAYLOAD);
    RB_GC_GUARD(source);
    return made;
}

void guildhall_init_msgpack_build(void)
{
    id_unpack_extension = rb_intern("unpack_extension");
}
