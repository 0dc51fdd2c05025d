/* Guildhall::MessagePack, the class: made, configured, asked. */
#include <ruby.h>
#include "codec.h"
#include "document/any.h"
#include "init.h"
#include "values/frozen.h"

static VALUE default_codec;

static void msgpack_codec_mark(void *codec) { guildhall_codec_mark(codec); }

static const rb_data_type_t type = {
    "Guildhall::MessagePack",
    {msgpack_codec_mark, RUBY_TYPED_DEFAULT_FREE, NULL},
    &guildhall_codec_type, 0, GUILDHALL_CODEC_FLAGS};

/* The class itself has the default options. */
static const guildhall_msgpack_codec *msgpack_codec_of(VALUE self)
{
    return RB_BUILTIN_TYPE(self) == T_CLASS ? RTYPEDDATA_GET_DATA(default_codec) : guildhall_codec_of(self, &type);
}

static VALUE msgpack_codec_allocate(VALUE class)
{
    guildhall_msgpack_codec *codec;
    VALUE self = TypedData_Make_Struct(class, guildhall_msgpack_codec, &type, codec);
    codec->self = self;
    codec->rules = guildhall_msgpack_default_rules;
    codec->format = &guildhall_msgpack_documents;
    codec->decoder = guildhall_document_decoder(codec);
    codec->value_decoder = guildhall_value_decoder(codec);
    return self;
}

/* The options as Ruby has checked them: every one is there. */
static VALUE msgpack_codec_configure(VALUE self, VALUE options, VALUE extension_types)
{
    rb_check_frozen(self);
    guildhall_msgpack_codec *codec = rb_check_typeddata(self, &type);
    codec->rules.max_nesting = NUM2UINT(guildhall_option(options, "max_nesting"));
    codec->rules.max_bytes = NUM2SIZET(guildhall_option(options, "max_bytes"));
    codec->rules.allow_invalid_utf8 = RTEST(guildhall_option(options, "allow_invalid_utf8"));
    codec->rules.allow_unknown_extensions = RTEST(guildhall_option(options, "allow_unknown_ext"));
    codec->rules.symbol_keys = RTEST(guildhall_option(options, "symbolize_names"));
    codec->types = RARRAY_LEN(extension_types) > 0;
    for (long i = 0; i < RARRAY_LEN(extension_types); i++) {
        uint8_t number = (uint8_t)NUM2INT(rb_ary_entry(extension_types, i));
        codec->rules.extensions[number >> 5] |= 1u << (number & 31);
        if ((int8_t)number == GUILDHALL_MSGPACK_TIMESTAMP_TYPE) codec->rules.own_timestamps = 1;
    }
    return self;
}

/* Reads again, which finds the same error and the path to it. */
VALUE guildhall_msgpack_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length)
{
    guildhall_path path;
    if (outcome.status != GUILDHALL_MSGPACK_NO_MEMORY)
        outcome = guildhall_msgpack_locate(bytes, length, &((const guildhall_msgpack_codec *)codec)->rules, &path);
    if (outcome.status == GUILDHALL_MSGPACK_NO_MEMORY) return guildhall_no_memory(); /* nothing is wrong with the payload */
    return guildhall_decode_error("MessagePack", guildhall_msgpack_status_text((guildhall_msgpack_status)outcome.status),
                                  outcome.error_offset, &path, bytes, length);
}

/* The address of a decoder that makes the whole value; nil: Ruby code has a part in values. Of a subclass it is not said. */
static VALUE msgpack_codec_value_decoder(VALUE self)
{
    if (!guildhall_codec_native_values_p(self)) return Qnil;
    const guildhall_msgpack_codec *codec = msgpack_codec_of(self);
    bool native = !codec->types && !codec->rules.allow_unknown_extensions;
    return native ? ULL2NUM((uint64_t)(uintptr_t)&codec->value_decoder) : Qnil;
}

static VALUE msgpack_codec_decode(VALUE self, VALUE source) { return guildhall_msgpack_decode(msgpack_codec_of(self), source); }
static VALUE msgpack_codec_encode(VALUE self, VALUE object) { return guildhall_msgpack_encode(msgpack_codec_of(self), object); }
static VALUE msgpack_codec_document(VALUE self, VALUE source)
{
    return guildhall_document_of(msgpack_codec_of(self), guildhall_frozen_bytes(source), 0);
}

/* The options of another codec. */
static VALUE msgpack_codec_copy_options(VALUE self, VALUE other)
{
    rb_check_frozen(self);
    guildhall_msgpack_codec *codec = rb_check_typeddata(self, &type);
    codec->rules = msgpack_codec_of(other)->rules;
    codec->types = msgpack_codec_of(other)->types;
    return self;
}

static void msgpack_codec_define_lazy(VALUE msgpack)
{
    VALUE lazy = rb_define_class_under(msgpack, "Lazy", msgpack);
    rb_define_method(lazy, "decode", msgpack_codec_document, 1);
    rb_define_method(lazy, "call", msgpack_codec_document, 1);
    rb_define_method(lazy, "native_decoder", guildhall_codec_native_decoder, 0);
    rb_define_private_method(lazy, "copy_options", msgpack_codec_copy_options, 1);
}

void guildhall_init_msgpack(VALUE guildhall)
{
    VALUE msgpack = rb_define_class_under(guildhall, "MessagePack", rb_cObject);
    rb_define_alloc_func(msgpack, msgpack_codec_allocate);
    rb_undef_method(msgpack, "initialize_copy");
    rb_define_private_method(msgpack, "configure", msgpack_codec_configure, 2);
    rb_define_private_method(msgpack, "share", guildhall_codec_share, 0);
    rb_define_method(msgpack, "decode", msgpack_codec_decode, 1);
    rb_define_method(msgpack, "call", msgpack_codec_decode, 1);
    rb_define_method(msgpack, "encode", msgpack_codec_encode, 1);
    rb_define_singleton_method(msgpack, "decode", msgpack_codec_decode, 1);
    rb_define_singleton_method(msgpack, "call", msgpack_codec_decode, 1);
    rb_define_method(msgpack, "document", msgpack_codec_document, 1);
    rb_define_method(msgpack, "value_decoder", msgpack_codec_value_decoder, 0);
    rb_define_singleton_method(msgpack, "value_decoder", msgpack_codec_value_decoder, 0);
    rb_define_singleton_method(msgpack, "encode", msgpack_codec_encode, 1);
    rb_define_singleton_method(msgpack, "document", msgpack_codec_document, 1);
    rb_gc_register_mark_object(default_codec = guildhall_codec_share(msgpack_codec_allocate(msgpack)));
    guildhall_codec_native_values(msgpack);
    guildhall_init_msgpack_build();
    guildhall_init_msgpack_encode(msgpack);
    msgpack_codec_define_lazy(msgpack);
    guildhall_init_msgpack_document(msgpack);
}
