/* Ruby objects from a tape: a walk along it with a stack of values, whatever the depth. */
#include <ruby.h>
#include "codec.h"
#include "init.h"
#include "memory/value_stack.h"
#include "text/ascii.h"
#include "values/caches.h"
#include "values/frozen.h"

#define FRAMES_ON_STACK 128
#define SHORT_TEXT 256

static VALUE empty_array, empty_hash, empty_string;

/* A container that is being built: its values are in the value stack from `base` on. */
typedef struct {
    uint32_t end, base;
    int object;
} frame;

typedef struct {
    const guildhall_json_codec *codec;
    guildhall_json_view view;
    guildhall_caches *caches;
    uint32_t hint;
} builder;

static guildhall_text json_build_text_of(const guildhall_json_codec *codec, int ascii)
{
    if (ascii) return GUILDHALL_TEXT_ASCII;
    return codec->rules.allow_invalid_utf8 ? GUILDHALL_TEXT_UNCHECKED : GUILDHALL_TEXT_UTF8;
}

static VALUE json_build_escaped_string(const guildhall_json_codec *codec, const uint8_t *source, size_t length)
{
    uint8_t on_stack[SHORT_TEXT];
    if (length <= sizeof on_stack) {
        size_t size = guildhall_json_unescape(source, length, on_stack);
        return guildhall_string_new(on_stack, size, json_build_text_of(codec, guildhall_ascii(on_stack, size)));
    }
    VALUE string = rb_utf8_str_new(NULL, (long)length);
    uint8_t *written = (uint8_t *)RSTRING_PTR(string);
    size_t size = guildhall_json_unescape(source, length, written);
    rb_str_set_len(string, (long)size);
    return guildhall_string_finish(string, json_build_text_of(codec, guildhall_ascii(written, size)));
}

static inline VALUE json_build_string(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    const uint8_t *source = guildhall_json_source(view, node);
    size_t length = guildhall_json_length(node);
    if (!length) return empty_string;
    guildhall_json_type type = guildhall_json_type_of(node);
    if (type == GUILDHALL_JSON_ESCAPED) return json_build_escaped_string(codec, source, length);
    return guildhall_string_new(source, length, json_build_text_of(codec, type == GUILDHALL_JSON_ASCII));
}

static VALUE json_build_decimal(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    VALUE text = rb_usascii_str_new((const char *)guildhall_json_source(view, node), guildhall_json_length(node));
    return rb_ractor_make_shareable(rb_funcall(codec->decimal_receiver, codec->decimal_method, 1, text));
}

VALUE guildhall_json_scalar(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    switch (guildhall_json_type_of(node)) {
    case GUILDHALL_JSON_NULL: return Qnil;
    case GUILDHALL_JSON_FALSE: return Qfalse;
    case GUILDHALL_JSON_TRUE: return Qtrue;
    case GUILDHALL_JSON_INTEGER: return LONG2FIX(guildhall_json_integer(node));
    case GUILDHALL_JSON_BIG_INTEGER: return guildhall_integer_from_digits(guildhall_json_source(view, node), guildhall_json_length(node));
    case GUILDHALL_JSON_FLOAT:
        if (RB_UNLIKELY(!NIL_P(codec->decimal_receiver))) return json_build_decimal(codec, view, node);
        return guildhall_float_new(guildhall_json_double(view, node));
    case GUILDHALL_JSON_CONSTANT: return guildhall_float_new(guildhall_json_double(view, node));
    default: return json_build_string(codec, view, node);
    }
}

static VALUE json_build_escaped_key(builder *build, guildhall_json_node node)
{
    VALUE text = json_build_escaped_string(build->codec, guildhall_json_source(build->view, node), guildhall_json_length(node));
    VALUE key = rb_str_to_interned_str(text);
    return build->codec->symbolize_names ? rb_str_intern(key) : key;
}

static inline VALUE json_build_key_of(builder *build, guildhall_json_node node)
{
    guildhall_json_type type = guildhall_json_type_of(node);
    if (RB_UNLIKELY(type == GUILDHALL_JSON_ESCAPED)) return json_build_escaped_key(build, node);
    return guildhall_key_cached(&build->caches->keys, &build->hint, guildhall_json_source(build->view, node), guildhall_json_length(node),
                                json_build_text_of(build->codec, type == GUILDHALL_JSON_ASCII), build->codec->symbolize_names);
}

VALUE guildhall_json_key(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node)
{
    builder build = {codec, view, guildhall_caches_current(), 0};
    return json_build_key_of(&build, node);
}

static inline VALUE json_build_cached(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node, guildhall_caches *caches)
{
    guildhall_json_type type = guildhall_json_type_of(node);
    if (type == GUILDHALL_JSON_INTEGER) return LONG2FIX(guildhall_json_integer(node));
    size_t length = guildhall_json_length(node);
    if ((type == GUILDHALL_JSON_ASCII || type == GUILDHALL_JSON_UTF8) && length) {
        const uint8_t *source = guildhall_json_source(view, node);
        return guildhall_string_cached(&caches->values, source, length, json_build_text_of(codec, type == GUILDHALL_JSON_ASCII));
    }
    return guildhall_json_scalar(codec, view, node);
}

VALUE guildhall_json_cached_scalar(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node, guildhall_caches *caches)
{
    return json_build_cached(codec, view, node, caches);
}

static inline VALUE json_build_scalar(builder *build, guildhall_json_node node) { return json_build_cached(build->codec, build->view, node, build->caches); }

static inline VALUE json_build_closed(builder *build, const frame *closed, const VALUE *values, uint32_t top)
{
    const VALUE *first = values + closed->base;
    long count = (long)(top - closed->base);
    return closed->object ? guildhall_hash_from_template(&build->caches->templates, count / 2, first)
                          : guildhall_array_new(count, first);
}

static VALUE json_build_container(builder *build, uint32_t index, VALUE *values, frame *frames)
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
                if (object) values[top++] = json_build_key_of(build, nodes[index++]);
                continue;
            }
            values[top++] = object ? empty_hash : empty_array;
        } else {
            values[top++] = json_build_scalar(build, node);
        }
        while (index == current.end) {
            VALUE built = json_build_closed(build, &current, values, top);
            top = current.base;
            values[top++] = built;
            current = frames[--depth];
            if (!depth) return built;
        }
        if (current.object) values[top++] = json_build_key_of(build, nodes[index++]);
    }
}

VALUE guildhall_json_build(const guildhall_json_codec *codec, guildhall_json_view view, uint32_t index)
{
    guildhall_json_node node = view.nodes[index];
    if (!guildhall_json_is_container(node)) return guildhall_json_scalar(codec, view, node);
    if (!guildhall_json_length(node)) {
        return guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT ? empty_hash : empty_array;
    }
    builder build = {codec, view, guildhall_caches_current(), 0};
    uint32_t size = guildhall_json_offset(node) - index, depth = codec->rules.max_nesting + 2;
    if (depth > size) depth = size;
    guildhall_value_stack values;
    guildhall_value_stack_init(&values);
    guildhall_value_stack_reserve(&values, size);
    frame on_stack[FRAMES_ON_STACK];
    VALUE buffer = 0;
    frame *frames = depth <= FRAMES_ON_STACK ? on_stack : ALLOCV_N(frame, buffer, depth);
    VALUE built = json_build_container(&build, index, values.values, frames);
    ALLOCV_END(buffer);
    guildhall_value_stack_release(&values);
    return built;
}

void guildhall_init_json_build(void)
{
    rb_gc_register_mark_object(empty_array = guildhall_hand_over(guildhall_array_new(0, NULL)));
    rb_gc_register_mark_object(empty_hash = guildhall_hand_over(guildhall_share(rb_hash_new())));
    empty_string = rb_str_to_interned_str(guildhall_string_new("", 0, GUILDHALL_TEXT_ASCII));
    rb_gc_register_mark_object(empty_string);
}
