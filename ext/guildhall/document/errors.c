/* What codecs raise. */
#include <ruby.h>
#include "errors.h"

static VALUE errors_text(const char *bytes, size_t length)
{
    VALUE string = rb_utf8_str_new(bytes, (long)length), scrubbed = rb_str_scrub(string, Qnil);
    return rb_obj_freeze(NIL_P(scrubbed) ? string : scrubbed);
}

static void errors_set(VALUE hash, const char *name, VALUE value) { rb_hash_aset(hash, ID2SYM(rb_intern(name)), value); }

VALUE guildhall_decode_error(const char *codec, const char *reason, size_t error_offset, const guildhall_path *path,
                             const uint8_t *bytes, size_t length)
{
    char excerpt[GUILDHALL_EXCERPT_BYTES];
    size_t excerpt_length = guildhall_excerpt(bytes, length, error_offset, excerpt);
    VALUE details = rb_hash_new();
    errors_set(details, "codec", errors_text(codec, strlen(codec)));
    errors_set(details, "offset", SIZET2NUM(error_offset));
    errors_set(details, "path", errors_text(path->text, path->length));
    errors_set(details, "excerpt", errors_text(excerpt, excerpt_length));
    VALUE arguments[] = {errors_text(reason, strlen(reason)), details};
    return rb_class_new_instance_kw(2, arguments, rb_path2class("Guildhall::DecodeError"), RB_PASS_KEYWORDS);
}

VALUE guildhall_encode_error(void) { return rb_path2class("Guildhall::EncodeError"); }

VALUE guildhall_no_memory(void) { return rb_exc_new_cstr(rb_eNoMemError, "failed to allocate memory"); }
