/* Guildhall::Text: where a text stops being UTF-8. */
#include <ruby.h>
#include "init.h"
#include "utf8.h"

/* The offset of the first byte that is not valid UTF-8; nil: there is none. */
static VALUE text_fault(VALUE self, VALUE string)
{
    StringValue(string);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(string), *end = bytes + RSTRING_LEN(string);
    const uint8_t *fault = guildhall_utf8_fault(bytes, end);
    RB_GC_GUARD(string);
    return fault == end ? Qnil : SIZET2NUM((size_t)(fault - bytes));
}

void guildhall_init_text(VALUE guildhall)
{
    VALUE text = rb_define_class_under(guildhall, "Text", rb_cObject);
    rb_define_singleton_method(text, "fault", text_fault, 1);
}
