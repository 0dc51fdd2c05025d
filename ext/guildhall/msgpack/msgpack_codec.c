/* Guildhall::MessagePack, the class: made, configured, asked. */
#include <ruby.h>
#include "../init.h"
#include "../values.h"
#include "msgpack_document.h"

static VALUE default_codec;

static void mark(void *pointer)
{
    rb_gc_mark(((const guildhall_msgpack_codec *)pointer)->self);
}

static const rb_data_type_t type = {
    "Guildhall::MessagePack",
    {mark, RUBY_TYPED_DEFAULT_FREE, NULL, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE}; /* as its Documents are */

/* Documents refer to their codec, so it has to be shareable before there is one. */
static const guildhall_msgpack_codec *codec_of(VALUE self)
{
    const guildhall_msgpack_codec *codec = rb_check_typeddata(self, &type);
    if (RB_UNLIKELY(!codec->ready)) rb_raise(rb_eTypeError, "%"PRIsVALUE" is not initialized", rb_obj_class(self));
    return codec;
}

static const guildhall_msgpack_codec *codec_default(void) { return RTYPEDDATA_GET_DATA(default_codec); }

static VALUE allocate(VALUE class)
{
    guildhall_msgpack_codec *codec;
    VALUE self = TypedData_Make_Struct(class, guildhall_msgpack_codec, &type, codec);
    codec->self = self;
    codec->rules = guildhall_msgpack_default_rules;
    guildhall_msgpack_decoder_setup(codec);
    return self;
}

static VALUE option(VALUE options, const char *name) { return rb_hash_fetch(options, ID2SYM(rb_intern(name))); }

/* The options as Ruby has checked them: every one is there. */
static VALUE configure(VALUE self, VALUE options, VALUE extension_types)
{
    rb_check_frozen(self);
    guildhall_msgpack_codec *codec = rb_check_typeddata(self, &type);
    codec->rules.max_nesting = NUM2UINT(option(options, "max_nesting"));
    codec->rules.max_bytes = NUM2SIZET(option(options, "max_bytes"));
    codec->rules.allow_invalid_utf8 = RTEST(option(options, "allow_invalid_utf8"));
    codec->rules.allow_unknown_extensions = RTEST(option(options, "allow_unknown_ext"));
    codec->rules.symbol_keys = RTEST(option(options, "symbolize_keys"));
    codec->types = RARRAY_LEN(extension_types) > 0;
    for (long i = 0; i < RARRAY_LEN(extension_types); i++) {
        uint8_t number = (uint8_t)NUM2INT(rb_ary_entry(extension_types, i));
        codec->rules.extensions[number >> 5] |= 1u << (number & 31);
        if ((int8_t)number == GUILDHALL_MSGPACK_TIMESTAMP_TYPE) codec->rules.own_timestamps = 1;
    }
    return self;
}

/* With all that it refers to: a flag on the codec alone would promise too much. */
static VALUE share(VALUE self)
{
    guildhall_share_whole(self, "codec");
    ((guildhall_msgpack_codec *)rb_check_typeddata(self, &type))->ready = 1;
    return self;
}

static VALUE codec_decode(VALUE self, VALUE source) { return guildhall_msgpack_decode(codec_of(self), source); }
static VALUE codec_encode(VALUE self, VALUE object) { return guildhall_msgpack_encode(codec_of(self), object); }
static VALUE codec_document(VALUE self, VALUE source) { return guildhall_msgpack_document(codec_of(self), source); }
static VALUE default_document(VALUE self, VALUE source) { return guildhall_msgpack_document(codec_default(), source); }
static VALUE default_decode(VALUE self, VALUE source) { return guildhall_msgpack_decode(codec_default(), source); }
static VALUE default_encode(VALUE self, VALUE object) { return guildhall_msgpack_encode(codec_default(), object); }

static VALUE native_decoder(VALUE self) { return ULL2NUM((uint64_t)(uintptr_t)&codec_of(self)->decoder); }

/* The options of another codec. */
static VALUE copy_options(VALUE self, VALUE other)
{
    rb_check_frozen(self);
    guildhall_msgpack_codec *codec = rb_check_typeddata(self, &type);
    codec->rules = codec_of(other)->rules;
    codec->types = codec_of(other)->types;
    return self;
}

static void define_lazy(VALUE msgpack)
{
    VALUE lazy = rb_define_class_under(msgpack, "Lazy", msgpack);
    rb_define_method(lazy, "decode", codec_document, 1);
    rb_define_method(lazy, "call", codec_document, 1);
    rb_define_method(lazy, "native_decoder", native_decoder, 0);
    rb_define_private_method(lazy, "copy_options", copy_options, 1);
}

void guildhall_init_msgpack(VALUE guildhall)
{
    VALUE msgpack = rb_define_class_under(guildhall, "MessagePack", rb_cObject);
    rb_define_alloc_func(msgpack, allocate);
    rb_undef_method(msgpack, "initialize_copy");
    rb_define_private_method(msgpack, "configure", configure, 2);
    rb_define_private_method(msgpack, "share", share, 0);
    rb_define_method(msgpack, "decode", codec_decode, 1);
    rb_define_method(msgpack, "call", codec_decode, 1);
    rb_define_method(msgpack, "encode", codec_encode, 1);
    rb_define_singleton_method(msgpack, "decode", default_decode, 1);
    rb_define_singleton_method(msgpack, "call", default_decode, 1);
    rb_define_method(msgpack, "document", codec_document, 1);
    rb_define_singleton_method(msgpack, "encode", default_encode, 1);
    rb_define_singleton_method(msgpack, "document", default_document, 1);
    rb_gc_register_mark_object(default_codec = share(allocate(msgpack)));
    guildhall_init_msgpack_build();
    guildhall_init_msgpack_encode(msgpack);
    define_lazy(msgpack);
    guildhall_init_msgpack_document(msgpack);
}
