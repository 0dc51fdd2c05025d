/* Ruby objects to JSON. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <math.h>
#include "codec.h"
#include "document.h"
#include "document/any.h"
#include "memory/byte_buffer.h"
#include "memory/stack_check.h"
#include "scan.h"
#include "shortest.h"
#include "text/hash.h"
#include "values/frozen.h"

typedef struct {
    guildhall_byte_buffer bytes;
    const guildhall_json_codec *codec;
    uint32_t depth;
    int deep; /* it holds a text of others that may be nested too deep where it stands */
} output;

static ID to_json;
static VALUE json_class;

static void json_encode_value(output *out, VALUE value);

NORETURN(static void json_encode_fail(const char *reason, VALUE object));
static void json_encode_fail(const char *reason, VALUE object)
{
    VALUE error_class = rb_const_get_at(json_class, rb_intern("EncodeError"));
    VALUE arguments[] = {rb_utf8_str_new_cstr(reason), object};
    rb_exc_raise(rb_funcallv(error_class, rb_intern("at"), 2, arguments));
}

static inline void json_encode_append(output *out, const void *bytes, size_t length)
{
    guildhall_byte_buffer_append(&out->bytes, bytes, length);
}

static inline void json_encode_append_byte(output *out, char byte)
{
    *guildhall_byte_buffer_room(&out->bytes, 1) = (uint8_t)byte;
    out->bytes.at++;
}

static void json_encode_escape(output *out, uint8_t byte)
{
    static const char letters[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char escape[6] = {'\\', 'u', '0', '0', '0', '0'};
    if (byte >= ' ' || letters[byte]) {
        escape[1] = byte >= ' ' ? (char)byte : letters[byte];
        json_encode_append(out, escape, 2);
        return;
    }
    escape[4] = (char)('0' + (byte >> 4));
    escape[5] = "0123456789abcdef"[byte & 15];
    json_encode_append(out, escape, 6);
}

static __attribute__((noinline)) void json_encode_with_escapes(output *out, const uint8_t *at, size_t length)
{
    const uint8_t *end = at + length;
    unsigned high = 0;
    json_encode_append_byte(out, '"');
    for (;;) {
        const uint8_t *stop = guildhall_json_scan(at, end, &high);
        json_encode_append(out, at, (size_t)(stop - at));
        if (stop == end) break;
        json_encode_escape(out, *stop);
        at = stop + 1;
    }
    json_encode_append_byte(out, '"');
}

/* ---- copies a text that needs no escapes, and finds out on the way whether it does: most texts are short, and to look and to copy apart
 * costs them twice */

/* Copies eight bytes; 0 when one of them needs an escape. */
static inline int json_encode_copy_8(char *to, const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
    memcpy(to, &word, 8);
    return !guildhall_json_stops8(word);
}

/* Sixteen of them. */
static inline int json_encode_copy_16(char *to, const uint8_t *from)
{
#if defined(GUILDHALL_JSON_SSE2)
    __m128i block = _mm_loadu_si128((const __m128i *)from);
    _mm_storeu_si128((__m128i *)to, block);
    return !guildhall_json_stops16(block);
#elif defined(GUILDHALL_JSON_NEON)
    uint8x16_t block = vld1q_u8(from);
    vst1q_u8((uint8_t *)to, block);
    return !vmaxvq_u8(guildhall_json_stops16(block));
#else
    return json_encode_copy_8(to, from) & json_encode_copy_8(to + 8, from + 8);
#endif
}

static inline int json_encode_copy_short(char *to, const uint8_t *from, size_t length)
{
    guildhall_ends ends = guildhall_ends_of(from, length);
    guildhall_ends_copy(to, ends, length);
    uint64_t spaces = length >= 4 ? 0 : length ? 0x2020202020000000ull : 0x2020202020202020ull; /* need no escape */
    return !guildhall_json_stops8(ends.head | ends.tail << 32 | spaces);
}

/* 0 when something needs an escape: what has been copied by then is of no use. What does not fill a block is copied
 * with bytes before it, once more. */
static inline int json_encode_copy_plain(char *to, const uint8_t *from, size_t length)
{
    if (length < 8) return json_encode_copy_short(to, from, length);
    if (length < 16) return json_encode_copy_8(to, from) & json_encode_copy_8(to + length - 8, from + length - 8);
    for (size_t i = 0; i + 16 < length; i += 16) {
        if (!json_encode_copy_16(to + i, from + i)) return 0;
    }
    return json_encode_copy_16(to + length - 16, from + length - 16);
}

static inline void json_encode_text(output *out, const uint8_t *bytes, size_t length)
{
    char *target = (char *)guildhall_byte_buffer_room(&out->bytes, length + 2);
    if (RB_UNLIKELY(!json_encode_copy_plain(target + 1, bytes, length))) return json_encode_with_escapes(out, bytes, length);
    target[0] = target[length + 1] = '"';
    out->bytes.at += length + 2;
}

static VALUE json_encode_in_utf8(VALUE string)
{
    int index = rb_enc_get_index(string), range = rb_enc_str_coderange(string);
    if (range == ENC_CODERANGE_7BIT && rb_enc_asciicompat(rb_enc_from_index(index))) return string;
    if (index == guildhall_utf8_index || index == guildhall_ascii_index) {
        if (range == ENC_CODERANGE_BROKEN) json_encode_fail("the String is not valid UTF-8", string);
        return string;
    }
    if (index == guildhall_binary_index) json_encode_fail("the String is binary and not ASCII; force_encoding it to what it is", string);
    VALUE text = guildhall_in_utf8(string);
    if (NIL_P(text)) json_encode_fail("the String cannot be converted to UTF-8", string);
    return text;
}

static void json_encode_string(output *out, VALUE string)
{
    if (RB_UNLIKELY(RB_ENCODING_GET_INLINED(string) != guildhall_utf8_index || (RB_ENC_CODERANGE(string) != ENC_CODERANGE_7BIT &&
                                                                       RB_ENC_CODERANGE(string) != ENC_CODERANGE_VALID))) {
        string = json_encode_in_utf8(string);
    }
    json_encode_text(out, (const uint8_t *)RSTRING_PTR(string), (size_t)RSTRING_LEN(string));
    RB_GC_GUARD(string);
}

/* Does not show it: for that its digits would have to be made. */
NORETURN(static void json_encode_fail_digits(const output *out));
static void json_encode_fail_digits(const output *out)
{
    char reason[128];
    snprintf(reason, sizeof reason, "%s, %u", guildhall_json_status_text(GUILDHALL_JSON_TOO_MANY_DIGITS), out->codec->rules.max_digits);
    json_encode_fail(reason, Qnil);
}

static const char pairs_of_digits[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960"
    "616263646566676869707172737475767778798081828384858687888990919293949596979899";

static void json_encode_fixnum(output *out, long value)
{
    char digits[24], *at = digits + sizeof digits;
    unsigned long rest = value < 0 ? -(unsigned long)value : (unsigned long)value;
    for (; rest >= 100; rest /= 100) memcpy(at -= 2, pairs_of_digits + rest % 100 * 2, 2);
    if (rest >= 10) memcpy(at -= 2, pairs_of_digits + rest * 2, 2);
    else *--at = (char)('0' + rest);
    if (RB_UNLIKELY((size_t)(digits + sizeof digits - at) > out->codec->rules.max_digits)) json_encode_fail_digits(out);
    if (value < 0) *--at = '-';
    json_encode_append(out, at, (size_t)(digits + sizeof digits - at));
}

#define DOUBLE_DIGITS 400 /* more than any of them has when it is written out */

static void json_encode_float(output *out, VALUE number)
{
    double value = RFLOAT_VALUE(number);
    if (isfinite(value)) {
        uint8_t *text = guildhall_byte_buffer_room(&out->bytes, GUILDHALL_JSON_DOUBLE_BYTES);
        size_t length = guildhall_json_write_double(value, (char *)text);
        if (RB_UNLIKELY(out->codec->rules.max_decimal_digits < DOUBLE_DIGITS && guildhall_json_written_digits(text, length) > out->codec->rules.max_decimal_digits))
            json_encode_fail_digits(out);
        out->bytes.at += length;
        return;
    }
    if (!out->codec->rules.allow_nan) json_encode_fail("NaN and Infinity are not JSON (allow_nan: true writes them)", number);
    const char *word = isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    json_encode_append(out, word, strlen(word));
}

static void json_encode_enter(output *out)
{
    if (++out->depth > out->codec->rules.max_nesting) json_encode_fail("nested deeper than max_nesting; does it contain itself?", Qnil);
    guildhall_check_stack(out->depth);
}

/* What comes next has seldom been touched lately: it is fetched from memory while what precedes it is written. */
static inline void json_encode_fetch(VALUE object)
{
    if (RB_SPECIAL_CONST_P(object)) return;
    __builtin_prefetch((const void *)object);
    __builtin_prefetch((const char *)object + 64);
}

static void json_encode_array(output *out, VALUE array)
{
    json_encode_enter(out);
    json_encode_append_byte(out, '[');
    for (long i = 0; i < RARRAY_LEN(array); i++) {
        if (i) json_encode_append_byte(out, ',');
        if (i + 1 < RARRAY_LEN(array)) json_encode_fetch(RARRAY_AREF(array, i + 1));
        json_encode_value(out, RARRAY_AREF(array, i));
    }
    json_encode_append_byte(out, ']');
    out->depth--;
}

typedef struct {
    output *out;
    int kinds, first;
} hash_walk;

/* In other encodings, two keys may become one text. */
static VALUE json_encode_key_text(VALUE key, int *kind)
{
    VALUE text = key;
    *kind = GUILDHALL_CONVERTED_KEY;
    if (RB_LIKELY(RB_TYPE_P(key, T_STRING))) *kind = GUILDHALL_STRING_KEY;
    else if (RB_SYMBOL_P(key)) *kind = GUILDHALL_SYMBOL_KEY, text = rb_sym2str(key);
    else return rb_obj_as_string(key);
    int index = RB_ENCODING_GET_INLINED(text);
    if (RB_UNLIKELY(index != guildhall_utf8_index && index != guildhall_ascii_index)) *kind = GUILDHALL_CONVERTED_KEY;
    return text;
}

static int json_encode_pair(VALUE key, VALUE value, VALUE argument)
{
    hash_walk *walk = (hash_walk *)argument;
    int kind;
    if (!walk->first) json_encode_append_byte(walk->out, ',');
    walk->first = 0;
    json_encode_string(walk->out, json_encode_key_text(key, &kind));
    walk->kinds |= kind;
    json_encode_append_byte(walk->out, ':');
    json_encode_value(walk->out, value);
    return ST_CONTINUE;
}

static int json_encode_collect_text(VALUE key, VALUE value, VALUE texts)
{
    int kind;
    rb_hash_aset(texts, json_encode_in_utf8(json_encode_key_text(key, &kind)), Qtrue);
    return ST_CONTINUE;
}

static void json_encode_hash(output *out, VALUE hash)
{
    hash_walk walk = {out, 0, 1};
    json_encode_enter(out);
    json_encode_append_byte(out, '{');
    rb_hash_foreach(hash, json_encode_pair, (VALUE)&walk);
    json_encode_append_byte(out, '}');
    out->depth--;
    if (guildhall_keys_may_collide(walk.kinds)) {
        VALUE texts = rb_hash_new();
        rb_hash_foreach(hash, json_encode_collect_text, texts);
        if (RHASH_SIZE(texts) != RHASH_SIZE(hash) && !out->codec->rules.allow_duplicate_key) {
            json_encode_fail("two keys of the Hash are the same text (allow_duplicate_key: true writes both)", hash);
        }
    }
}

/* Is a text that the one codec accepts JSON to those who read what the other writes? */
static int json_encode_copies(const guildhall_json_rules *from, const guildhall_json_rules *to)
{
    if (from->allow_invalid_utf8 || from->allow_trailing_comma || from->allow_control_characters) return 0;
    if (from->max_digits > to->max_digits || from->max_decimal_digits > to->max_decimal_digits) return 0;
    return !from->allow_nan || to->allow_nan;
}

/* May the text, where it is written, be nested deeper than the codec reads? Not where it has few brackets, which are faster counted than
 * followed. */
static int json_encode_may_be_deep(const output *out, const uint8_t *source, size_t length)
{
    size_t opening = 0;
    for (size_t i = 0; i < length; i++) opening += (source[i] & 0xdf) == ('[' & 0xdf); /* [ and { differ in one bit */
    return out->depth + opening > out->codec->rules.max_nesting;
}

static void json_encode_document(output *out, VALUE document)
{
    guildhall_cursor cursor = guildhall_document_self(document);
    const guildhall_json_codec *codec = guildhall_json_codec_in(&cursor.view);
    size_t length;
    const uint8_t *source = json_encode_copies(&codec->rules, &out->codec->rules) ? guildhall_json_document_source(&cursor, &length) : NULL;
    if (source) {
        json_encode_append(out, source, length);
        out->deep |= json_encode_may_be_deep(out, source, length);
    } else json_encode_value(out, guildhall_json_build(codec, guildhall_json_view_of(&cursor.view), cursor.position.offset));
    RB_GC_GUARD(document);
}

/* The object that is written instead. */
static void json_encode_instead(output *out, VALUE object)
{
    json_encode_enter(out);
    json_encode_value(out, object);
    out->depth--;
    RB_GC_GUARD(object);
}

/* Does the codec read what others have written? */
static void json_encode_check(const output *out, const uint8_t *bytes, size_t length, const char *whose)
{
    guildhall_json_scratch *scratch = guildhall_json_scratch_current();
    guildhall_json_outcome outcome = guildhall_json_parse(bytes, length, &out->codec->rules, scratch);
    guildhall_json_scratch_trim(scratch);
    if (outcome.status == GUILDHALL_JSON_VALID) return;
    if (outcome.status == GUILDHALL_JSON_NO_MEMORY) rb_memerror();
    char reason[192];
    snprintf(reason, sizeof reason, "this codec could not read %s: %s", whose, guildhall_json_status_text(outcome.status));
    json_encode_fail(reason, Qnil);
}

static void json_encode_own_json(output *out, VALUE object)
{
    VALUE state = Qnil, text = rb_check_string_type(rb_funcallv(object, to_json, rb_obj_method_arity(object, to_json) == 1, &state));
    if (NIL_P(text)) json_encode_fail("its to_json does not return a String", object);
    if (RB_ENCODING_GET(text) == guildhall_binary_index) text = rb_utf8_str_new(RSTRING_PTR(text), RSTRING_LEN(text));
    text = json_encode_in_utf8(text);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(text);
    size_t length = (size_t)RSTRING_LEN(text);
    json_encode_check(out, bytes, length, "what a to_json has written");
    out->deep |= json_encode_may_be_deep(out, bytes, length);
    guildhall_byte_buffer_append_string(&out->bytes, text);
}

/* Does the codec read numbers as Kernel's method of this name makes them? */
static int json_encode_reads_by(const output *out, ID method)
{
    return out->codec->decimal_receiver == rb_mKernel && out->codec->decimal_method == method;
}

static int json_encode_is_decimal(const output *out, VALUE object)
{
    return json_encode_reads_by(out, rb_intern("BigDecimal")) && !strcmp(rb_obj_classname(object), "BigDecimal") &&
           RTEST(rb_funcall(object, rb_intern("finite?"), 0));
}

/* A codec does not write what it would not read. */
static VALUE json_encode_limited(const output *out, VALUE text)
{
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(text);
    if (guildhall_json_written_digits(bytes, (size_t)RSTRING_LEN(text)) > out->codec->rules.max_digits) json_encode_fail_digits(out);
    return text;
}

/* Without its digits, of which to make a text takes more than linear time: more than the limit for certain? */
static int json_encode_is_long(const output *out, VALUE integer)
{
    if (!RB_TYPE_P(integer, T_BIGNUM)) return 0;
    return (double)(rb_absint_size(integer, NULL) - 1) * 2.40824 > out->codec->rules.max_digits; /* digits a byte */
}

static void json_encode_bignum(output *out, VALUE integer)
{
    if (json_encode_is_long(out, integer)) json_encode_fail_digits(out);
    guildhall_byte_buffer_append_string(&out->bytes, json_encode_limited(out, rb_big2str(integer, 10)));
}

/* Zeros that a decimal is written out with: enough for the range of a Float. Beyond, it keeps its exponent: a few bytes could
 * become thousands. */
#define ZEROS 400

static void json_encode_decimal(output *out, VALUE decimal)
{
    int64_t exponent = NUM2LL(rb_funcall(decimal, rb_intern("exponent"), 0));
    int64_t digits = NUM2LL(rb_funcall(decimal, rb_intern("n_significant_digits"), 0));
    const char *form = exponent > digits + ZEROS || exponent < -ZEROS ? "E" : "F";
    VALUE text = rb_funcall(decimal, rb_intern("to_s"), 1, rb_str_new_cstr(form));
    guildhall_byte_buffer_append_string(&out->bytes, json_encode_limited(out, text));
}

static VALUE json_encode_foreign(void) { return rb_const_get_at(json_class, rb_intern("Foreign")); }

/* Ruby writes the digits, or says that they do not end. */
static void json_encode_rational(output *out, VALUE rational)
{
    VALUE text = rb_funcall(json_encode_foreign(), rb_intern("digits"), 1, rational);
    if (NIL_P(text)) json_encode_fail("a Rational has no end of digits; round it, or write its to_s", rational);
    guildhall_byte_buffer_append_string(&out->bytes, json_encode_limited(out, text));
}

/* Seldom, and large: not for the frame of every value. */
static __attribute__((noinline)) void json_encode_other(output *out, VALUE object)
{
    if (guildhall_json_document_p(object)) return json_encode_document(out, object);
    if (guildhall_document_p(object)) return json_encode_instead(out, guildhall_document_decoded_value(object));
    if (json_encode_is_decimal(out, object)) return json_encode_decimal(out, object);
    if (RB_TYPE_P(object, T_RATIONAL)) {
        if (json_encode_is_long(out, rb_rational_num(object)) || json_encode_is_long(out, rb_rational_den(object))) json_encode_fail_digits(out);
        if (json_encode_reads_by(out, rb_intern("Rational"))) return json_encode_rational(out, object);
    }
    VALUE made = rb_funcall(json_encode_foreign(), rb_intern("plain"), 1, object);
    if (made == object) json_encode_own_json(out, object);
    else json_encode_instead(out, made);
}

static void json_encode_value(output *out, VALUE value)
{
    if (NIL_P(value)) return json_encode_append(out, "null", 4);
    if (value == Qtrue) return json_encode_append(out, "true", 4);
    if (value == Qfalse) return json_encode_append(out, "false", 5);
    if (RB_FIXNUM_P(value)) return json_encode_fixnum(out, FIX2LONG(value));
    if (RB_FLOAT_TYPE_P(value)) return json_encode_float(out, value);
    if (RB_SYMBOL_P(value)) return json_encode_string(out, rb_sym2str(value));
    switch (rb_type(value)) {
    case T_STRING: return json_encode_string(out, value);
    case T_HASH: return json_encode_hash(out, value);
    case T_ARRAY: return json_encode_array(out, value);
    case T_BIGNUM: return json_encode_bignum(out, value);
    default: json_encode_other(out, value);
    }
}

static void json_encode_check_length(const output *out)
{
    size_t length = guildhall_byte_buffer_length(&out->bytes);
    if (RB_LIKELY(length <= out->codec->rules.max_bytes)) return;
    char reason[128];
    snprintf(reason, sizeof reason, "%zu bytes are more than max_bytes, %zu, that this codec reads", length, out->codec->rules.max_bytes);
    json_encode_fail(reason, Qnil);
}

static VALUE json_encode(VALUE self, VALUE value)
{
    output out;
    guildhall_byte_buffer_init(&out.bytes);
    out.codec = guildhall_json_codec_of(self);
    out.depth = 0;
    out.deep = 0;
    json_encode_value(&out, value);
    json_encode_check_length(&out);
    if (RB_UNLIKELY(out.deep)) json_encode_check(&out, out.bytes.begin, guildhall_byte_buffer_length(&out.bytes), "the text, with a Document or a to_json within it");
    return guildhall_byte_buffer_finish(&out.bytes, GUILDHALL_TEXT_UNCHECKED);
}

void guildhall_init_json_encode(VALUE json, VALUE lazy)
{
    to_json = rb_intern("to_json");
    json_class = json;
    rb_define_method(json, "encode", json_encode, 1);
    rb_define_method(lazy, "encode", json_encode, 1);
    rb_define_singleton_method(json, "encode", json_encode, 1);
}
