/* Functions that the classes of codecs share, and the errors that they raise. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "codec.h"

const rb_data_type_t guildhall_codec_type = {"Guildhall codec", {NULL, RUBY_TYPED_DEFAULT_FREE, NULL}, 0, 0, GUILDHALL_CODEC_FLAGS};

const void *guildhall_codec_of(VALUE self, const rb_data_type_t *type)
{
    const guildhall_codec *codec = rb_check_typeddata(self, type);
    if (RB_UNLIKELY(!codec->ready)) rb_raise(rb_eTypeError, "%"PRIsVALUE" is not initialized", rb_obj_class(self));
    return codec;
}

enum { MAX_NATIVE = 8 };
static VALUE native[MAX_NATIVE];
static int native_count;

void guildhall_codec_native_values(VALUE class)
{
    if (native_count == MAX_NATIVE) rb_bug("guildhall: more than %d native codecs", MAX_NATIVE);
    native[native_count++] = class;
    rb_gc_register_mark_object(class);
}

bool guildhall_codec_native_values_p(VALUE task)
{
    VALUE class = rb_obj_class(task);
    for (int i = 0; i < native_count; i++) {
        if (native[i] == class || native[i] == task) return true;
    }
    return false;
}

static int codec_check_variable(ID variable, VALUE value, st_data_t unused)
{
    if (rb_ractor_shareable_p(value)) return ST_CONTINUE;
    VALUE path = rb_sprintf("codec.%" PRIsVALUE, rb_id2str(variable));
    rb_funcall(rb_path2class("Guildhall::Shareable"), rb_intern("check!"), 2, value, path);
    return ST_STOP;
}

/* First asks whether it can be shared, and raises NotShareableError, which says what of it cannot: nothing was frozen then. Ruby
 * itself then notes that it is shareable, with what it refers to. */
VALUE guildhall_codec_share(VALUE self)
{
    guildhall_codec *codec = rb_check_typeddata(self, &guildhall_codec_type);
    rb_ivar_foreach(self, codec_check_variable, 0);
    rb_ractor_make_shareable(rb_obj_freeze(self));
    codec->ready = 1;
    return self;
}

VALUE guildhall_codec_native_decoder(VALUE self)
{
    const guildhall_codec *codec = guildhall_codec_of(self, &guildhall_codec_type);
    return ULL2NUM((uint64_t)(uintptr_t)&codec->decoder);
}

static VALUE codec_text(const char *bytes, size_t length)
{
    VALUE string = rb_utf8_str_new(bytes, (long)length), scrubbed = rb_str_scrub(string, Qnil);
    return rb_obj_freeze(NIL_P(scrubbed) ? string : scrubbed);
}

static void codec_set(VALUE hash, const char *name, VALUE value) { rb_hash_aset(hash, ID2SYM(rb_intern(name)), value); }

VALUE guildhall_decode_error(const char *codec, const char *reason, size_t error_offset, const guildhall_path *path,
                             const uint8_t *bytes, size_t length)
{
    char excerpt[GUILDHALL_EXCERPT_BYTES];
    size_t excerpt_length = guildhall_excerpt(bytes, length, error_offset, excerpt);
    VALUE details = rb_hash_new();
    codec_set(details, "codec", codec_text(codec, strlen(codec)));
    codec_set(details, "offset", SIZET2NUM(error_offset));
    codec_set(details, "path", codec_text(path->text, path->length));
    codec_set(details, "excerpt", codec_text(excerpt, excerpt_length));
    VALUE arguments[] = {codec_text(reason, strlen(reason)), details};
    return rb_class_new_instance_kw(2, arguments, rb_path2class("Guildhall::DecodeError"), RB_PASS_KEYWORDS);
}

VALUE guildhall_encode_error(void) { return rb_path2class("Guildhall::EncodeError"); }

VALUE guildhall_no_memory(void) { return rb_exc_new_cstr(rb_eNoMemError, "failed to allocate memory"); }
