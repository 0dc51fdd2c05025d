/* Strings, arrays, hashes and numbers that are frozen and shareable from the start. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "frozen.h"
#include "init.h"

int guildhall_utf8_index, guildhall_ascii_index, guildhall_binary_index;

VALUE guildhall_string_finish(VALUE string, guildhall_text text)
{
    VALUE flags = 0;
    if (text != GUILDHALL_TEXT_BINARY) RB_ENCODING_SET_INLINED(string, guildhall_utf8_index);
    if (text == GUILDHALL_TEXT_ASCII) flags |= RUBY_ENC_CODERANGE_7BIT;
    if (text == GUILDHALL_TEXT_UTF8) flags |= RUBY_ENC_CODERANGE_VALID;
    RB_FL_SET_RAW(string, flags);
    return guildhall_share(string);
}

VALUE guildhall_string_new(const void *bytes, size_t length, guildhall_text text)
{
    return guildhall_string_finish(rb_str_new((const char *)bytes, (long)length), text);
}

VALUE guildhall_string_settled(VALUE frozen)
{
    if (!guildhall_borrows(frozen)) return frozen;
    VALUE copy = rb_str_dup(frozen); /* of the same class */
    rb_str_modify(copy);
    return rb_obj_freeze(copy);
}

static VALUE frozen_convert(VALUE string) { return rb_str_encode(string, rb_enc_from_encoding(rb_utf8_encoding()), 0, Qnil); }
static VALUE frozen_unconvertible(VALUE unused, VALUE error) { return Qnil; }

VALUE guildhall_in_utf8(VALUE string) { return rb_rescue2(frozen_convert, string, frozen_unconvertible, Qnil, rb_eEncodingError, (VALUE)0); }

VALUE guildhall_array_new(long count, const VALUE *elements)
{
    return guildhall_share(rb_ary_new_from_values(count, elements));
}

VALUE guildhall_open_hash_new(long count, const VALUE *pairs)
{
    VALUE hash = rb_hash_new_capa(count);
    rb_hash_bulk_insert(count * 2, pairs, hash);
    return hash;
}

VALUE guildhall_hash_new(long count, const VALUE *pairs) { return guildhall_share(guildhall_open_hash_new(count, pairs)); }

VALUE guildhall_integer_from_digits(const uint8_t *digits, size_t length)
{
    VALUE buffer = 0;
    char *terminated = ALLOCV(buffer, length + 1);
    memcpy(terminated, digits, length);
    terminated[length] = '\0';
    VALUE integer = rb_cstr2inum(terminated, 10);
    ALLOCV_END(buffer);
    return guildhall_number(integer);
}

void guildhall_init_values(void)
{
    guildhall_utf8_index = rb_utf8_encindex();
    guildhall_ascii_index = rb_usascii_encindex();
    guildhall_binary_index = rb_ascii8bit_encindex();
}
