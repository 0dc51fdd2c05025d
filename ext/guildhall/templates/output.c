/* What templates write with: values go to the end of a String, escaped for HTML or as they are, without other Strings in between.
 * Any Ractor may call these: they touch nothing but what they are given. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "init.h"

static ID id_html_safe;

typedef struct {
    const char *bytes;
    long length;
} entity;

static const entity entities[] = {
    {NULL, 0}, {"&amp;", 5}, {"&lt;", 4}, {"&gt;", 4}, {"&quot;", 6}, {"&#39;", 5},
};
static const uint8_t special[256] = {['&'] = 1, ['<'] = 2, ['>'] = 3, ['"'] = 4, ['\''] = 5};

enum { BLOCK = 48 }; /* times the longest growth, 5, still fits a byte */

/* How much longer it is when it is escaped. Without a table and in bytes: the compiler makes vectors of it. */
static inline uint8_t templates_output_growth(const uint8_t *bytes, long length)
{
    uint8_t more = 0;
    for (long i = 0; i < length; i++) {
        uint8_t byte = bytes[i];
        more += (uint8_t)((byte == '&') * 4 + (byte == '<') * 3 + (byte == '>') * 3 + (byte == '"') * 5 + (byte == '\'') * 4);
    }
    return more;
}

static long templates_output_escaped_length(const uint8_t *bytes, long length)
{
    long total = length;
    for (; length >= BLOCK; bytes += BLOCK, length -= BLOCK) total += templates_output_growth(bytes, BLOCK);
    for (long i = 0; i < length; i++) total += special[bytes[i]] ? entities[special[bytes[i]]].length - 1 : 0;
    return total;
}

static void templates_output_write_escaped(char *out, const uint8_t *bytes, long length)
{
    const uint8_t *end = bytes + length;
    for (const uint8_t *from = bytes; bytes <= end; bytes++) {
        if (bytes < end && !special[*bytes]) continue;
        memcpy(out, from, (size_t)(bytes - from));
        out += bytes - from;
        from = bytes + 1;
        if (bytes == end) break;
        memcpy(out, entities[special[*bytes]].bytes, (size_t)entities[special[*bytes]].length);
        out += entities[special[*bytes]].length;
    }
}

/* What is known of the characters of both, one behind the other. Nothing is looked up: the buffer may be long, and what compiled code
 * appends leaves it unknown. */
static int templates_output_joined_coderange(VALUE first, VALUE second)
{
    int one = ENC_CODERANGE(first), other = ENC_CODERANGE(second);
    if (one == ENC_CODERANGE_7BIT && other == ENC_CODERANGE_7BIT) return ENC_CODERANGE_7BIT;
    bool valid = (one == ENC_CODERANGE_7BIT || one == ENC_CODERANGE_VALID) && (other == ENC_CODERANGE_7BIT || other == ENC_CODERANGE_VALID);
    return valid ? ENC_CODERANGE_VALID : ENC_CODERANGE_UNKNOWN;
}

/* Ensures room for that number of bytes at the end; grows by doubling. */
static char *templates_output_room_for(VALUE buffer, long bytes)
{
    long length = RSTRING_LEN(buffer);
    if ((long)rb_str_capacity(buffer) < length + bytes) rb_str_modify_expand(buffer, bytes > length ? bytes : length);
    else rb_str_modify(buffer);
    return RSTRING_PTR(buffer) + length;
}

/* Written in place where both are of one encoding, as they nearly always are. */
static void templates_output_append_longer(VALUE buffer, VALUE string, long total)
{
    int known = templates_output_joined_coderange(buffer, string);
    char *out = templates_output_room_for(buffer, total);
    templates_output_write_escaped(out, (const uint8_t *)RSTRING_PTR(string), RSTRING_LEN(string));
    rb_str_set_len(buffer, RSTRING_LEN(buffer) + total);
    ENC_CODERANGE_SET(buffer, known);
}

static void templates_output_append_transcoded(VALUE buffer, VALUE string, long total)
{
    VALUE room;
    char *escaped = ALLOCV_N(char, room, total);
    templates_output_write_escaped(escaped, (const uint8_t *)RSTRING_PTR(string), RSTRING_LEN(string));
    rb_enc_str_buf_cat(buffer, escaped, total, rb_enc_get(string));
    ALLOCV_END(room);
}

/* In UTF-16, say, what is special is no single byte: it could only be left as it is. */
static void templates_output_check_encoding(VALUE string)
{
    rb_encoding *encoding = rb_enc_get(string);
    if (rb_enc_asciicompat(encoding) || RSTRING_LEN(string) == 0) return;
    rb_raise(rb_eEncCompatError, "text in %s cannot be escaped; encode it as UTF-8 first", rb_enc_name(encoding));
}

/* All that is special is one byte, and in no encoding that knows ASCII part of another character. */
static void templates_output_append_escaped(VALUE buffer, VALUE string)
{
    templates_output_check_encoding(string);
    long length = RSTRING_LEN(string), total = templates_output_escaped_length((const uint8_t *)RSTRING_PTR(string), length);
    if (total == length) rb_str_buf_append(buffer, string);
    else if (rb_enc_get_index(buffer) == rb_enc_get_index(string)) templates_output_append_longer(buffer, string, total);
    else templates_output_append_transcoded(buffer, string, total);
    RB_GC_GUARD(string);
}

static void templates_output_append_integer(VALUE buffer, long number)
{
    char digits[24], *first = digits + sizeof(digits);
    unsigned long rest = number < 0 ? 0ul - (unsigned long)number : (unsigned long)number;
    do *--first = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) *--first = '-';
    rb_enc_str_buf_cat(buffer, first, digits + sizeof(digits) - first, rb_usascii_encoding());
}

/* Most values are Strings and nothing else. */
static inline bool templates_output_plain_string(VALUE value)
{
    return !RB_SPECIAL_CONST_P(value) && RBASIC_CLASS(value) == rb_cString;
}

/* Whether it says itself that it is HTML. */
static bool templates_output_html_safe(VALUE value)
{
    if (templates_output_plain_string(value)) return false;

    VALUE answer = rb_check_funcall(value, id_html_safe, 0, NULL);
    return answer != Qundef && RTEST(answer);
}

static void templates_output_append(VALUE buffer, VALUE value, bool escape)
{
    Check_Type(buffer, T_STRING);
    if (templates_output_plain_string(value)) {
        if (escape) templates_output_append_escaped(buffer, value);
        else rb_str_buf_append(buffer, value);
        return;
    }
    if (FIXNUM_P(value)) {
        templates_output_append_integer(buffer, FIX2LONG(value));
        return;
    }
    if (NIL_P(value)) return;

    VALUE string = rb_obj_as_string(value);
    if (escape && !templates_output_html_safe(value) && !templates_output_html_safe(string)) templates_output_append_escaped(buffer, string);
    else rb_str_buf_append(buffer, string);
}

/* @api private. Escaping#guildhall_append(buffer, value): as `buffer << value.to_s`. */
static VALUE templates_output_view_append(VALUE self, VALUE buffer, VALUE value)
{
    templates_output_append(buffer, value, false);
    return buffer;
}

/* @api private. Escaping#guildhall_escape(buffer, value): the same, escaped unless it is safe. */
static VALUE templates_output_view_escape(VALUE self, VALUE buffer, VALUE value)
{
    templates_output_append(buffer, value, true);
    return buffer;
}

/* @api private. Escaping#guildhall_take(buffer, from): what was written from that byte on, which the buffer then lacks. Ruby's own way,
 * bytesplice, looks through the whole buffer each time. */
static VALUE templates_output_view_take(VALUE self, VALUE buffer, VALUE from)
{
    Check_Type(buffer, T_STRING);
    long length = RSTRING_LEN(buffer), start = NUM2LONG(from);
    if (start < 0 || start >= length) return rb_enc_str_new(NULL, 0, rb_enc_get(buffer));

    VALUE taken = rb_enc_str_new(RSTRING_PTR(buffer) + start, length - start, rb_enc_get(buffer));
    bool ascii = ENC_CODERANGE(buffer) == ENC_CODERANGE_7BIT;
    rb_str_modify(buffer);
    rb_str_set_len(buffer, start);
    if (ascii) ENC_CODERANGE_SET(buffer, ENC_CODERANGE_7BIT);
    return taken;
}

/* @api private. Escaping.escape(value): a String; the value's own where there is nothing to escape. */
static VALUE templates_output_escape(VALUE self, VALUE value)
{
    VALUE string = rb_obj_as_string(value);
    if (templates_output_html_safe(value) || templates_output_html_safe(string)) return string;

    templates_output_check_encoding(string);
    if (templates_output_escaped_length((const uint8_t *)RSTRING_PTR(string), RSTRING_LEN(string)) == RSTRING_LEN(string)) return string;

    VALUE escaped = rb_enc_str_new(NULL, 0, rb_enc_get(string));
    templates_output_append_escaped(escaped, string);
    return escaped;
}

void guildhall_init_templates(VALUE guildhall)
{
    id_html_safe = rb_intern("html_safe?");
    VALUE escaping = rb_define_module_under(guildhall, "Escaping");
    rb_define_singleton_method(escaping, "escape", templates_output_escape, 1);
    rb_define_private_method(escaping, "guildhall_append", templates_output_view_append, 2);
    rb_define_private_method(escaping, "guildhall_escape", templates_output_view_escape, 2);
    rb_define_private_method(escaping, "guildhall_take", templates_output_view_take, 2);
}
