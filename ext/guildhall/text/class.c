/* Guildhall::Text: where a text stops being UTF-8. */
#include <ruby.h>
#include "init.h"
#include "utf8.h"

/* The offset of the first byte that is not valid UTF-8; nil: there is none. */
static VALUE text_error_offset(VALUE self, VALUE string)
{
    StringValue(string);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(string), *end = bytes + RSTRING_LEN(string);
    const uint8_t *error = guildhall_utf8_error(bytes, end);
    RB_GC_GUARD(string);
    return error == end ? Qnil : SIZET2NUM((size_t)(error - bytes));
}

void guildhall_init_text(VALUE guildhall)
{
    VALUE text = rb_define_class_under(guildhall, "Text", rb_cObject);
    rb_define_singleton_method(text, "error_offset", text_error_offset, 1);
}
