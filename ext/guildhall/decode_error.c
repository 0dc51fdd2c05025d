/* Faults of binary formats as Ruby exceptions. */
#include <ruby.h>
#include "decode_error.h"

static VALUE text(const char *bytes, size_t length)
{
    VALUE string = rb_utf8_str_new(bytes, (long)length), scrubbed = rb_str_scrub(string, Qnil);
    return rb_obj_freeze(NIL_P(scrubbed) ? string : scrubbed);
}

static void set(VALUE hash, const char *name, VALUE value) { rb_hash_aset(hash, ID2SYM(rb_intern(name)), value); }

VALUE guildhall_decode_error(const char *codec, const char *reason, size_t fault, const guildhall_path *path,
                             const uint8_t *bytes, size_t length)
{
    char excerpt[GUILDHALL_EXCERPT_BYTES];
    size_t excerpt_length = guildhall_excerpt(bytes, length, fault, excerpt);
    VALUE details = rb_hash_new();
    set(details, "codec", text(codec, strlen(codec)));
    set(details, "offset", SIZET2NUM(fault));
    set(details, "path", text(path->text, path->length));
    set(details, "excerpt", text(excerpt, excerpt_length));
    VALUE arguments[] = {text(reason, strlen(reason)), details};
    VALUE guildhall = rb_const_get_at(rb_cObject, rb_intern("Guildhall"));
    VALUE error = rb_const_get_at(guildhall, rb_intern("DecodeError"));
    return rb_class_new_instance_kw(2, arguments, error, RB_PASS_KEYWORDS);
}

VALUE guildhall_no_memory(void) { return rb_exc_new_cstr(rb_eNoMemError, "failed to allocate memory"); }
