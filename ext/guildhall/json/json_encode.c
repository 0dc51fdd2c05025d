/* Ruby objects to JSON. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <math.h>
#include "../stack_check.h"
#include "../values.h"
#include "json_codec.h"
#include "json_build.h"
#include "json_document.h"
#include "json_source.h"
#include "json_plain.h"
#include "json_scan.h"
#include "json_shortest.h"

#define BYTES_ON_STACK 4096

/* Where the text is written: on the stack, as long as it fits, then into a String that nobody else sees, which the
 * collector frees when an exception ends the work. */
typedef struct {
    const guildhall_json_codec *codec;
    char *bytes;
    size_t used, capacity;
    VALUE heap; /* 0: on the stack */
    uint32_t depth;
} output;

static ID to_json;
static int utf8_index, ascii_index, binary_index;
static VALUE json_class;

static void write_value(output *out, VALUE value);

NORETURN(static void fail(const char *reason, VALUE object));
static void fail(const char *reason, VALUE object)
{
    VALUE error_class = rb_const_get_at(json_class, rb_intern("EncodeError"));
    VALUE arguments[] = {rb_utf8_str_new_cstr(reason), object};
    rb_exc_raise(rb_funcallv(error_class, rb_intern("at"), 2, arguments));
}

static void grow(output *out, size_t needed)
{
    size_t capacity = out->capacity * 2;
    while (capacity < out->used + needed) capacity *= 2;
    if (out->heap) {
        rb_str_set_len(out->heap, (long)out->used);
        rb_str_modify_expand(out->heap, (long)(capacity - out->used));
    } else {
        out->heap = rb_str_buf_new((long)capacity);
        memcpy(RSTRING_PTR(out->heap), out->bytes, out->used);
    }
    out->bytes = RSTRING_PTR(out->heap);
    out->capacity = capacity;
}

static inline char *room(output *out, size_t needed)
{
    if (RB_UNLIKELY(out->capacity - out->used < needed)) grow(out, needed);
    return out->bytes + out->used;
}

static inline void append(output *out, const void *bytes, size_t length)
{
    memcpy(room(out, length), bytes, length);
    out->used += length;
}

static inline void append_byte(output *out, char byte)
{
    *room(out, 1) = byte;
    out->used++;
}

static void write_escape(output *out, uint8_t byte)
{
    static const char letters[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char escape[6] = {'\\', 'u', '0', '0', '0', '0'};
    if (byte >= ' ' || letters[byte]) {
        escape[1] = byte >= ' ' ? (char)byte : letters[byte];
        append(out, escape, 2);
        return;
    }
    escape[4] = (char)('0' + (byte >> 4));
    escape[5] = "0123456789abcdef"[byte & 15];
    append(out, escape, 6);
}

static __attribute__((noinline)) void write_with_escapes(output *out, const uint8_t *at, size_t length)
{
    const uint8_t *end = at + length;
    unsigned high = 0;
    append_byte(out, '"');
    for (;;) {
        const uint8_t *stop = guildhall_json_scan(at, end, &high);
        append(out, at, (size_t)(stop - at));
        if (stop == end) break;
        write_escape(out, *stop);
        at = stop + 1;
    }
    append_byte(out, '"');
}

static inline void write_text(output *out, const uint8_t *bytes, size_t length)
{
    char *target = room(out, length + 2);
    if (RB_UNLIKELY(!guildhall_json_copy_plain(target + 1, bytes, length))) return write_with_escapes(out, bytes, length);
    target[0] = target[length + 1] = '"';
    out->used += length + 2;
}

static VALUE in_utf8(VALUE string)
{
    int index = rb_enc_get_index(string), range = rb_enc_str_coderange(string);
    if (range == ENC_CODERANGE_7BIT && rb_enc_asciicompat(rb_enc_from_index(index))) return string;
    if (index == utf8_index || index == ascii_index) {
        if (range == ENC_CODERANGE_BROKEN) fail("the String is not valid UTF-8", string);
        return string;
    }
    if (index == binary_index) fail("the String is binary and not ASCII; force_encoding it to what it is", string);
    return rb_str_encode(string, rb_enc_from_encoding(rb_utf8_encoding()), 0, Qnil);
}

static void write_string(output *out, VALUE string)
{
    if (RB_UNLIKELY(RB_ENCODING_GET_INLINED(string) != utf8_index || (RB_ENC_CODERANGE(string) != ENC_CODERANGE_7BIT &&
                                                                       RB_ENC_CODERANGE(string) != ENC_CODERANGE_VALID))) {
        string = in_utf8(string);
    }
    write_text(out, (const uint8_t *)RSTRING_PTR(string), (size_t)RSTRING_LEN(string));
    RB_GC_GUARD(string);
}

static const char pairs_of_digits[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960"
    "616263646566676869707172737475767778798081828384858687888990919293949596979899";

static void write_fixnum(output *out, long value)
{
    char digits[24], *at = digits + sizeof digits;
    unsigned long rest = value < 0 ? -(unsigned long)value : (unsigned long)value;
    for (; rest >= 100; rest /= 100) memcpy(at -= 2, pairs_of_digits + rest % 100 * 2, 2);
    if (rest >= 10) memcpy(at -= 2, pairs_of_digits + rest * 2, 2);
    else *--at = (char)('0' + rest);
    if (value < 0) *--at = '-';
    append(out, at, (size_t)(digits + sizeof digits - at));
}

static void write_float(output *out, VALUE number)
{
    double value = RFLOAT_VALUE(number);
    if (isfinite(value)) {
        out->used += guildhall_json_write_double(value, room(out, GUILDHALL_JSON_DOUBLE_BYTES));
        return;
    }
    if (!out->codec->rules.allow_nan) fail("NaN and Infinity are not JSON (allow_nan: true writes them)", number);
    const char *word = isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    append(out, word, strlen(word));
}

static void enter(output *out)
{
    if (++out->depth > out->codec->rules.max_nesting) fail("nested deeper than max_nesting; does it contain itself?", Qnil);
    guildhall_check_stack(out->depth);
}

/* What comes next has seldom been touched lately: it is fetched from memory while what stands before it is written. */
static inline void fetch(VALUE object)
{
    if (RB_SPECIAL_CONST_P(object)) return;
    __builtin_prefetch((const void *)object);
    __builtin_prefetch((const char *)object + 64);
}

static void write_array(output *out, VALUE array)
{
    enter(out);
    append_byte(out, '[');
    for (long i = 0; i < RARRAY_LEN(array); i++) {
        if (i) append_byte(out, ',');
        if (i + 1 < RARRAY_LEN(array)) fetch(RARRAY_AREF(array, i + 1));
        write_value(out, RARRAY_AREF(array, i));
    }
    append_byte(out, ']');
    out->depth--;
}

/* Which kinds of keys a Hash has: keys of one kind are different texts, of several kinds perhaps not. */
enum { STRING_KEY = 1, SYMBOL_KEY = 2, OTHER_KEY = 4 };

typedef struct {
    output *out;
    int kinds, first;
} hash_walk;

static VALUE key_text(VALUE key, int *kind)
{
    if (RB_LIKELY(RB_TYPE_P(key, T_STRING))) return *kind = STRING_KEY, key;
    if (RB_SYMBOL_P(key)) return *kind = SYMBOL_KEY, rb_sym2str(key);
    *kind = OTHER_KEY;
    return rb_obj_as_string(key);
}

static int write_pair(VALUE key, VALUE value, VALUE argument)
{
    hash_walk *walk = (hash_walk *)argument;
    int kind;
    if (!walk->first) append_byte(walk->out, ',');
    walk->first = 0;
    write_string(walk->out, key_text(key, &kind));
    walk->kinds |= kind;
    append_byte(walk->out, ':');
    write_value(walk->out, value);
    return ST_CONTINUE;
}

static int collect_text(VALUE key, VALUE value, VALUE texts)
{
    int kind;
    rb_hash_aset(texts, key_text(key, &kind), Qtrue);
    return ST_CONTINUE;
}

static void write_hash(output *out, VALUE hash)
{
    hash_walk walk = {out, 0, 1};
    enter(out);
    append_byte(out, '{');
    rb_hash_foreach(hash, write_pair, (VALUE)&walk);
    append_byte(out, '}');
    out->depth--;
    if (walk.kinds & (walk.kinds - 1) || walk.kinds == OTHER_KEY) {
        VALUE texts = rb_hash_new();
        rb_hash_foreach(hash, collect_text, texts);
        if (RHASH_SIZE(texts) != RHASH_SIZE(hash) && !out->codec->rules.allow_duplicate_key) {
            fail("two keys of the Hash are the same text (allow_duplicate_key: true writes both)", hash);
        }
    }
}

static void write_document(output *out, VALUE document)
{
    const guildhall_json_text *text = guildhall_json_document_text(document);
    guildhall_json_cursor cursor = guildhall_json_document_read(document);
    if (text->deduplicated) return write_value(out, guildhall_json_build(cursor.codec, cursor.view, cursor.index));
    guildhall_json_range range = guildhall_json_range_of(cursor.view, cursor.index, text->length);
    append(out, cursor.view.bytes + range.begin, range.end - range.begin);
    RB_GC_GUARD(document);
}

/* Anything else says itself how it looks as JSON, or is a String, as with the json gem. */
static void write_other(output *out, VALUE object)
{
    if (guildhall_json_document_p(object)) return write_document(out, object);
    if (rb_respond_to(object, to_json)) {
        VALUE text = rb_funcall(object, to_json, 0);
        StringValue(text);
        append(out, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
        RB_GC_GUARD(text);
    } else {
        write_string(out, rb_obj_as_string(object));
    }
}

static void write_value(output *out, VALUE value)
{
    if (NIL_P(value)) return append(out, "null", 4);
    if (value == Qtrue) return append(out, "true", 4);
    if (value == Qfalse) return append(out, "false", 5);
    if (RB_FIXNUM_P(value)) return write_fixnum(out, FIX2LONG(value));
    if (RB_FLOAT_TYPE_P(value)) return write_float(out, value);
    if (RB_SYMBOL_P(value)) return write_string(out, rb_sym2str(value));
    switch (rb_type(value)) {
    case T_STRING: return write_string(out, value);
    case T_HASH: return write_hash(out, value);
    case T_ARRAY: return write_array(out, value);
    case T_BIGNUM: {
        VALUE digits = rb_big2str(value, 10);
        append(out, RSTRING_PTR(digits), (size_t)RSTRING_LEN(digits));
        RB_GC_GUARD(digits);
        return;
    }
    default: write_other(out, value);
    }
}

VALUE guildhall_json_encode(const guildhall_json_codec *codec, VALUE value)
{
    char on_stack[BYTES_ON_STACK];
    output out = {.codec = codec, .bytes = on_stack, .capacity = sizeof on_stack};
    write_value(&out, value);
    VALUE text = guildhall_string_new(out.bytes, out.used, GUILDHALL_TEXT_UNCHECKED);
    if (out.heap) rb_str_resize(out.heap, 0);
    RB_GC_GUARD(out.heap);
    return text;
}

static VALUE codec_encode(VALUE self, VALUE value) { return guildhall_json_encode(guildhall_json_codec_of(self), value); }
static VALUE default_encode(VALUE self, VALUE value) { return guildhall_json_encode(guildhall_json_codec_default(), value); }

void guildhall_init_json_encode(VALUE json, VALUE lazy)
{
    to_json = rb_intern("to_json");
    utf8_index = rb_utf8_encindex();
    ascii_index = rb_usascii_encindex();
    binary_index = rb_ascii8bit_encindex();
    json_class = json;
    rb_define_method(json, "encode", codec_encode, 1);
    rb_define_method(lazy, "encode", codec_encode, 1);
    rb_define_singleton_method(json, "encode", default_encode, 1);
}
