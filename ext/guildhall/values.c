/* Strings, arrays, hashes and numbers that are frozen and shareable from birth. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "init.h"
#include "values.h"

static int utf8_index;

VALUE guildhall_string_finish(VALUE string, guildhall_text text)
{
    VALUE flags = RUBY_FL_FREEZE | RUBY_FL_SHAREABLE;
    if (text == GUILDHALL_TEXT_ASCII) flags |= RUBY_ENC_CODERANGE_7BIT;
    if (text == GUILDHALL_TEXT_UTF8) flags |= RUBY_ENC_CODERANGE_VALID;
    RB_FL_SET_RAW(string, flags);
    return string;
}

VALUE guildhall_string_new(const void *bytes, size_t length, guildhall_text text)
{
    VALUE string = rb_str_new((const char *)bytes, (long)length);
    if (text != GUILDHALL_TEXT_BINARY) RB_ENCODING_SET_INLINED(string, utf8_index);
    return guildhall_string_finish(string, text);
}

static int check_variable(ID variable, VALUE value, st_data_t name)
{
    if (rb_ractor_shareable_p(value)) return ST_CONTINUE;
    VALUE path = rb_sprintf("%s.%" PRIsVALUE, (const char *)name, rb_id2str(variable));
    rb_funcall(rb_path2class("Guildhall::Shareable"), rb_intern("check!"), 2, value, path);
    return ST_STOP;
}

VALUE guildhall_share_whole(VALUE object, const char *name)
{
    rb_ivar_foreach(object, check_variable, (st_data_t)name);
    return rb_ractor_make_shareable(rb_obj_freeze(object));
}

VALUE guildhall_array_new(long count, const VALUE *elements)
{
    return guildhall_share(rb_ary_new_from_values(count, elements));
}

VALUE guildhall_hash_new(long count, const VALUE *pairs)
{
    VALUE hash = rb_hash_new_capa(count);
    rb_hash_bulk_insert(count * 2, pairs, hash);
    return guildhall_share(hash);
}

VALUE guildhall_integer_from_digits(const uint8_t *digits, size_t length)
{
    char on_stack[64];
    VALUE buffer = 0;
    char *terminated = on_stack;
    if (length >= sizeof on_stack) terminated = rb_alloc_tmp_buffer(&buffer, (long)length + 1);
    memcpy(terminated, digits, length);
    terminated[length] = '\0';
    VALUE integer = rb_cstr2inum(terminated, 10);
    if (buffer) rb_free_tmp_buffer(&buffer);
    return guildhall_number(integer);
}

void guildhall_init_values(void)
{
    utf8_index = rb_utf8_encindex();
}
