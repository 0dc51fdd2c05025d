/* Ruby objects from a tape: a walk along it with a stack of values, whatever the depth. */
#include <ruby.h>
#include "../init.h"
#include "../utf8.h"
#include "../values.h"
#include "json_build.h"

#define VALUES_ON_STACK 512
#define FRAMES_ON_STACK 64
#define SHORT_TEXT 256

static VALUE empty_array, empty_hash, empty_string;

/* A container that is being built: its values stand in the value stack from `base` on. */
typedef struct {
    uint32_t end, base;
    int object;
} frame;

typedef struct {
    const guildhall_json_codec *codec;
    guildhall_json_view view;
    guildhall_keys *keys;
    guildhall_repeats *repeats;
    uint32_t hint;
} builder;

static guildhall_text text_of(const guildhall_json_codec *codec, int ascii)
{
    if (ascii) return GUILDHALL_TEXT_ASCII;
    return codec->rules.allow_invalid_utf8 ? GUILDHALL_TEXT_UNCHECKED : GUILDHALL_TEXT_UTF8;
}

static guildhall_text written_text(const guildhall_json_codec *codec, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] & 0x80) return text_of(codec, 0);
    }
    return GUILDHALL_TEXT_ASCII;
}

static VALUE escaped_string(const guildhall_json_codec *codec, const uint8_t *source, size_t length)
{
    uint8_t on_stack[SHORT_TEXT];
    if (length <= sizeof on_stack) {
        size_t size = guildhall_json_unescape(source, length, on_stack);
        return guildhall_string_new(on_stack, size, written_text(codec, on_stack, size));
    }
    VALUE string = rb_utf8_str_new(NULL, (long)length);
    uint8_t *written = (uint8_t *)RSTRING_PTR(string);
    size_t size = guildhall_json_unescape(source, length, written);
    rb_str_set_len(string, (long)size);
    return guildhall_string_finish(string, written_text(codec, written, size));
}

static inline VALUE string(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    const uint8_t *source = guildhall_json_source(view, node);
    size_t length = guildhall_json_length(node);
    if (!length) return empty_string;
    guildhall_json_type type = guildhall_json_type_of(node);
    if (type == GUILDHALL_JSON_ESCAPED) return escaped_string(codec, source, length);
    return guildhall_string_new(source, length, text_of(codec, type == GUILDHALL_JSON_ASCII));
}

static VALUE decimal(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    VALUE text = rb_usascii_str_new((const char *)guildhall_json_source(view, node), guildhall_json_length(node));
    return rb_ractor_make_shareable(rb_funcall(codec->decimal_receiver, codec->decimal_method, 1, text));
}

static VALUE big_integer(guildhall_json_view view, guildhall_json_node node)
{
    return guildhall_integer_from_digits(guildhall_json_source(view, node), guildhall_json_length(node));
}

VALUE guildhall_json_scalar(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    switch (guildhall_json_type_of(node)) {
    case GUILDHALL_JSON_NULL: return Qnil;
    case GUILDHALL_JSON_FALSE: return Qfalse;
    case GUILDHALL_JSON_TRUE: return Qtrue;
    case GUILDHALL_JSON_INTEGER: return LONG2FIX(guildhall_json_integer(node));
    case GUILDHALL_JSON_BIG_INTEGER: return big_integer(view, node);
    case GUILDHALL_JSON_FLOAT:
        if (RB_UNLIKELY(!NIL_P(codec->decimal_receiver))) return decimal(codec, view, node);
        return guildhall_float_new(guildhall_json_double(view, node));
    case GUILDHALL_JSON_CONSTANT: return guildhall_float_new(guildhall_json_double(view, node));
    default: return string(codec, view, node);
    }
}

static inline VALUE plain_key(builder *build, const uint8_t *text, size_t length, guildhall_text kind)
{
    if (build->codec->symbolize_names) return guildhall_key_symbol(build->keys, &build->hint, text, length, kind);
    return guildhall_key_string(build->keys, &build->hint, text, length, kind);
}

static VALUE escaped_key(builder *build, guildhall_json_node node)
{
    VALUE text = escaped_string(build->codec, guildhall_json_source(build->view, node), guildhall_json_length(node));
    VALUE key = rb_str_to_interned_str(text);
    return build->codec->symbolize_names ? rb_str_intern(key) : key;
}

static inline VALUE key_of(builder *build, guildhall_json_node node)
{
    guildhall_json_type type = guildhall_json_type_of(node);
    if (RB_UNLIKELY(type == GUILDHALL_JSON_ESCAPED)) return escaped_key(build, node);
    return plain_key(build, guildhall_json_source(build->view, node), guildhall_json_length(node),
                     text_of(build->codec, type == GUILDHALL_JSON_ASCII));
}

VALUE guildhall_json_key(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    builder build = {codec, view, guildhall_keys_current(), NULL, 0};
    return key_of(&build, node);
}

/* As guildhall_json_scalar, but short strings perhaps from the cache. */
static inline VALUE scalar(builder *build, guildhall_json_node node)
{
    guildhall_json_type type = guildhall_json_type_of(node);
    if (type == GUILDHALL_JSON_INTEGER) return LONG2FIX(guildhall_json_integer(node));
    size_t length = guildhall_json_length(node);
    if ((type == GUILDHALL_JSON_ASCII || type == GUILDHALL_JSON_UTF8) && length) {
        const uint8_t *source = guildhall_json_source(build->view, node);
        return guildhall_string_repeated(build->repeats, source, length, text_of(build->codec, type == GUILDHALL_JSON_ASCII));
    }
    return guildhall_json_scalar(build->codec, build->view, node);
}

static inline VALUE close_container(builder *build, const frame *closed, const VALUE *values, uint32_t top)
{
    const VALUE *first = values + closed->base;
    long count = (long)(top - closed->base);
    return closed->object ? guildhall_hash_repeated(build->repeats, count / 2, first)
                          : guildhall_array_repeated(build->repeats, count, first);
}

static VALUE build_container(builder *build, uint32_t index, VALUE *values, frame *frames)
{
    const guildhall_json_node *nodes = build->view.nodes;
    uint32_t top = 0, depth = 0;
    frame current = {0, 0, 0};
    for (;;) {
        guildhall_json_node node = nodes[index++];
        if (guildhall_json_is_container(node)) {
            int object = guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT;
            if (guildhall_json_length(node)) {
                frames[depth++] = current;
                current = (frame){guildhall_json_offset(node), top, object};
                if (object) values[top++] = key_of(build, nodes[index++]);
                continue;
            }
            values[top++] = object ? empty_hash : empty_array;
        } else {
            values[top++] = scalar(build, node);
        }
        while (index == current.end) {
            VALUE built = close_container(build, &current, values, top);
            top = current.base;
            values[top++] = built;
            current = frames[--depth];
            if (!depth) return built;
        }
        if (current.object) values[top++] = key_of(build, nodes[index++]);
    }
}

static VALUE build_with_buffers(builder *build, uint32_t index, uint32_t size, uint32_t depth)
{
    VALUE values_buffer = 0, frames_buffer = 0;
    VALUE *values = rb_alloc_tmp_buffer_with_count(&values_buffer, size * sizeof(VALUE), size);
    memset(values, 0, size * sizeof(VALUE)); /* the garbage collector reads all of it */
    frame *frames = rb_alloc_tmp_buffer(&frames_buffer, (long)(depth * sizeof(frame)));
    VALUE built = build_container(build, index, values, frames);
    rb_free_tmp_buffer(&frames_buffer);
    rb_free_tmp_buffer(&values_buffer);
    return built;
}

VALUE guildhall_json_build(const guildhall_json_codec *codec, guildhall_json_view view, uint32_t index)
{
    guildhall_json_node node = view.nodes[index];
    if (!guildhall_json_is_container(node)) return guildhall_json_scalar(codec, view, node);
    if (!guildhall_json_length(node)) {
        return guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT ? empty_hash : empty_array;
    }
    builder build = {codec, view, guildhall_keys_current(), guildhall_repeats_current(), 0};
    uint32_t size = guildhall_json_offset(node) - index, depth = codec->rules.max_nesting + 2;
    if (depth > size) depth = size;
    if (size <= VALUES_ON_STACK && depth <= FRAMES_ON_STACK) {
        VALUE values[VALUES_ON_STACK];
        frame frames[FRAMES_ON_STACK];
        return build_container(&build, index, values, frames);
    }
    return build_with_buffers(&build, index, size, depth);
}

void guildhall_init_json_build(void)
{
    rb_gc_register_mark_object(empty_array = guildhall_array_new(0, NULL));
    rb_gc_register_mark_object(empty_hash = guildhall_share(rb_hash_new()));
    empty_string = rb_str_to_interned_str(guildhall_string_new("", 0, GUILDHALL_TEXT_ASCII));
    rb_gc_register_mark_object(empty_string);
}
