/* Errors as Ruby exceptions. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "codec.h"
#include "document/errors.h"
#include "init.h"
#include "locate.h"

static VALUE json_module;

static VALUE json_error_text(const char *bytes) { return rb_obj_freeze(rb_utf8_str_new_cstr(bytes)); }

static VALUE json_error_reason(const guildhall_json_codec *codec, guildhall_json_status status)
{
    const char *text = guildhall_json_status_text(status);
    if (status != GUILDHALL_JSON_TOO_MANY_DIGITS) return json_error_text(text);
    return rb_obj_freeze(rb_enc_sprintf(rb_utf8_encoding(), "%s, %u", text, codec->rules.max_digits));
}

VALUE guildhall_json_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length)
{
    guildhall_json_status status = (guildhall_json_status)outcome.status;
    if (status == GUILDHALL_JSON_NO_MEMORY) return guildhall_no_memory();
    guildhall_json_location location;
    guildhall_json_locate(bytes, length, outcome.error_offset, &location);
    VALUE arguments[] = {
        json_error_reason(codec, status), INT2FIX(status), SIZET2NUM(outcome.error_offset), SIZET2NUM(location.line),
        SIZET2NUM(location.column), json_error_text(location.path), json_error_text(location.excerpt),
    };
    VALUE error_class = rb_const_get_at(json_module, rb_intern("ParseError"));
    return rb_funcallv(error_class, rb_intern("at"), 7, arguments);
}

void guildhall_init_json_error(VALUE json)
{
    json_module = json;
    rb_gc_register_mark_object(json_module);
}
