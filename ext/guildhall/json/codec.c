/* Guildhall::JSON: the codec class, and the same on the class itself with the default options. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/ractor.h>
#include <stdlib.h>
#include "codec.h"
#include "document.h"
#include "init.h"
#include "document/any.h"
#include "locate.h"
#include "source.h"
#include "values/frozen.h"

static VALUE default_codec;
static void json_codec_mark(void *pointer)
{
    const guildhall_json_codec *codec = pointer;
    guildhall_codec_mark(codec);
    if (codec->decimal_receiver) rb_gc_mark(codec->decimal_receiver);
}

static size_t json_codec_memsize(const void *pointer) { return sizeof(guildhall_json_codec); }

static const rb_data_type_t type = {
    .wrap_struct_name = "Guildhall::JSON",
    .function = {.dmark = json_codec_mark, .dfree = RUBY_TYPED_DEFAULT_FREE, .dsize = json_codec_memsize},
    .parent = &guildhall_codec_type,
    .flags = GUILDHALL_CODEC_FLAGS,
};

const guildhall_json_codec *guildhall_json_codec_of(VALUE self)
{
    return RB_TYPE_P(self, T_CLASS) ? RTYPEDDATA_GET_DATA(default_codec) : guildhall_codec_of(self, &type);
}

const guildhall_decoder *guildhall_json_value_decoder(VALUE task)
{
    VALUE class = CLASS_OF(default_codec);
    bool own = task == class || (rb_typeddata_is_kind_of(task, &type) && rb_obj_class(task) == class);
    const guildhall_json_codec *codec = own ? guildhall_json_codec_of(task) : NULL;
    return codec && NIL_P(codec->decimal_receiver) ? &codec->value_decoder : NULL;
}

/* The address of a decoder that makes the whole value; nil: Ruby code has a part in values. Of a subclass it is not said. */
static VALUE json_codec_value_decoder(VALUE self)
{
    const guildhall_decoder *decoder = guildhall_json_value_decoder(self);
    return decoder ? ULL2NUM((uint64_t)(uintptr_t)decoder) : Qnil;
}

static VALUE json_codec_document_of(const void *codec, VALUE source)
{
    return guildhall_document_of(codec, guildhall_json_bytes(source), 0);
}

static VALUE json_codec_allocate(VALUE klass)
{
    guildhall_json_codec *codec;
    VALUE self = TypedData_Make_Struct(klass, guildhall_json_codec, &type, codec);
    codec->self = self;
    codec->rules = guildhall_json_strict;
    codec->decimal_receiver = Qnil;
    codec->format = &guildhall_json_documents;
    codec->decoder = guildhall_document_decoder(codec);
    codec->decoder.call = json_codec_document_of;
    codec->value_decoder = guildhall_value_decoder(codec);
    return self;
}

static unsigned json_codec_flag(VALUE options, const char *name) { return RTEST(guildhall_option(options, name)); }

/* The options as Ruby has checked them: every one is there. */
static VALUE json_codec_configure(VALUE self, VALUE options, VALUE decimal_receiver, VALUE decimal_method)
{
    rb_check_frozen(self);
    guildhall_json_codec *codec = rb_check_typeddata(self, &type);
    codec->rules.max_nesting = NUM2UINT(guildhall_option(options, "max_nesting"));
    codec->rules.max_digits = NUM2UINT(guildhall_option(options, "max_digits"));
    codec->rules.max_bytes = NUM2SIZET(guildhall_option(options, "max_bytes"));
    codec->rules.allow_nan = json_codec_flag(options, "allow_nan");
    codec->rules.allow_duplicate_key = json_codec_flag(options, "allow_duplicate_key");
    codec->rules.allow_invalid_utf8 = json_codec_flag(options, "allow_invalid_utf8");
    codec->rules.allow_trailing_comma = json_codec_flag(options, "allow_trailing_comma");
    codec->rules.allow_control_characters = json_codec_flag(options, "allow_control_characters");
    codec->symbolize_names = codec->rules.symbol_keys = json_codec_flag(options, "symbolize_names");
    RB_OBJ_WRITE(self, &codec->decimal_receiver, decimal_receiver);
    if (NIL_P(decimal_receiver)) return self;
    codec->decimal_method = rb_to_id(decimal_method);
    codec->rules.max_decimal_digits = codec->rules.max_digits;
    return self;
}

static VALUE json_codec_in_utf8(VALUE source)
{
    int index = rb_enc_get_index(source);
    if (index == guildhall_utf8_index || index == guildhall_ascii_index || index == guildhall_binary_index) return source;
    VALUE text = guildhall_in_utf8(source);
    if (!NIL_P(text)) return text;
    guildhall_path path;
    guildhall_path_init(&path);
    rb_exc_raise(guildhall_decode_error("JSON", "the String cannot be converted to UTF-8", 0, &path, (const uint8_t *)RSTRING_PTR(source),
                                        (size_t)RSTRING_LEN(source)));
}

VALUE guildhall_json_bytes(VALUE source)
{
    StringValue(source);
    int index = RB_ENCODING_GET_INLINED(source);
    if (RB_UNLIKELY(index != guildhall_utf8_index)) source = json_codec_in_utf8(source);
    return guildhall_frozen_bytes(source);
}

static VALUE json_codec_text(const char *bytes) { return rb_obj_freeze(rb_utf8_str_new_cstr(bytes)); }

static VALUE json_codec_reason(const guildhall_json_codec *codec, guildhall_json_status status)
{
    const char *text = guildhall_json_status_text(status);
    if (status != GUILDHALL_JSON_TOO_MANY_DIGITS) return json_codec_text(text);
    return rb_obj_freeze(rb_enc_sprintf(rb_utf8_encoding(), "%s, %u", text, codec->rules.max_digits));
}

VALUE guildhall_json_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length)
{
    guildhall_json_status status = (guildhall_json_status)outcome.status;
    if (status == GUILDHALL_JSON_NO_MEMORY) return guildhall_no_memory();
    guildhall_json_location location;
    guildhall_json_locate(bytes, length, outcome.error_offset, &location);
    VALUE arguments[] = {
        json_codec_reason(codec, status), SIZET2NUM(outcome.error_offset), SIZET2NUM(location.line),
        SIZET2NUM(location.column), json_codec_text(location.path), json_codec_text(location.excerpt),
    };
    VALUE error_class = rb_const_get_at(CLASS_OF(default_codec), rb_intern("ParseError"));
    return rb_funcallv(error_class, rb_intern("at"), 6, arguments);
}

static VALUE json_codec_raise_error(const guildhall_json_codec *codec, guildhall_json_outcome outcome, VALUE source)
{
    if (outcome.status == GUILDHALL_JSON_NO_MEMORY) rb_memerror();
    guildhall_outcome invalid = {outcome.status, outcome.error_offset};
    VALUE error = guildhall_json_error(codec, invalid, (const uint8_t *)RSTRING_PTR(source), 0, (size_t)RSTRING_LEN(source));
    guildhall_json_scratch_trim(guildhall_json_scratch_current());
    rb_exc_raise(error);
    return Qnil;
}

/* What runs the user's decimal_class may switch threads, or decode other texts on this one: the tape it walks must
 * not be the thread's scratch. */
static VALUE json_codec_decode_by_document(const guildhall_json_codec *codec, VALUE source, const guildhall_json_node *nodes,
                                           size_t count)
{
    VALUE buffer = 0;
    guildhall_json_node *copy = ALLOCV_N(guildhall_json_node, buffer, count);
    memcpy(copy, nodes, count * sizeof *nodes);
    VALUE bytes = guildhall_json_bytes(source);
    guildhall_json_view view = {(const uint8_t *)RSTRING_PTR(bytes), (const uint8_t *)RSTRING_END(bytes), copy};
    VALUE value = guildhall_json_build(codec, view, 0);
    ALLOCV_END(buffer);
    RB_GC_GUARD(bytes);
    return value;
}

/* No copy of the source is needed: nothing points to it once the value is built, and no other code runs before. */
static VALUE json_codec_decode(VALUE self, VALUE source)
{
    const guildhall_json_codec *codec = guildhall_json_codec_of(self);
    StringValue(source);
    if (RB_UNLIKELY(RB_ENCODING_GET_INLINED(source) != guildhall_utf8_index)) source = json_codec_in_utf8(source);
    guildhall_json_scratch *scratch = guildhall_json_scratch_current();
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    guildhall_json_outcome outcome = guildhall_json_parse(bytes, (size_t)RSTRING_LEN(source), &codec->rules, scratch);
    if (RB_UNLIKELY(outcome.status != GUILDHALL_JSON_VALID)) return json_codec_raise_error(codec, outcome, source);
    VALUE value;
    if (RB_LIKELY(NIL_P(codec->decimal_receiver))) {
        value = guildhall_json_build(codec, (guildhall_json_view){bytes, (const uint8_t *)RSTRING_END(source), scratch->nodes}, 0);
    } else {
        value = json_codec_decode_by_document(codec, source, scratch->nodes, outcome.count);
    }
    guildhall_json_scratch_trim(scratch);
    RB_GC_GUARD(source);
    return value;
}

static VALUE json_codec_document(VALUE self, VALUE source) { return json_codec_document_of(guildhall_json_codec_of(self), source); }

/* A codec of another class with the same options. */
static VALUE json_codec_as(VALUE self, VALUE klass)
{
    const guildhall_json_codec *from = guildhall_json_codec_of(self);
    VALUE made = json_codec_allocate(klass);
    guildhall_json_codec *codec = rb_check_typeddata(made, &type);
    codec->rules = from->rules;
    codec->symbolize_names = from->symbolize_names;
    codec->decimal_method = from->decimal_method;
    RB_OBJ_WRITE(made, &codec->decimal_receiver, from->decimal_receiver);
    return guildhall_codec_share(made);
}

/* For JSON.each_document: where the next text in the String begins and ends; only where it begins when it is not whole.
 * What is longer than a text may be counts as one, so that its end is not waited for: the parser refuses it. */
static VALUE json_codec_next_text(VALUE self, VALUE source, VALUE from, VALUE last)
{
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_json_range piece = guildhall_json_split(bytes, length, NUM2SIZET(from), RTEST(last));
    if (piece.begin == piece.end && length - piece.begin > guildhall_json_codec_of(self)->rules.max_bytes) piece.end = length;
    return piece.begin == piece.end ? SIZET2NUM(piece.begin) : rb_assoc_new(SIZET2NUM(piece.begin), SIZET2NUM(piece.end));
}

void guildhall_init_json(VALUE guildhall)
{
    VALUE json = rb_define_class_under(guildhall, "JSON", rb_cObject);
    rb_define_alloc_func(json, json_codec_allocate);
    rb_define_private_method(json, "configure", json_codec_configure, 3);
    rb_define_private_method(json, "share", guildhall_codec_share, 0);
    rb_define_private_method(json, "as", json_codec_as, 1);
    rb_define_private_method(json, "next_text", json_codec_next_text, 3);
    rb_define_method(json, "decode", json_codec_decode, 1);
    rb_define_method(json, "call", json_codec_decode, 1);
    rb_define_method(json, "document", json_codec_document, 1);
    rb_define_singleton_method(json, "decode", json_codec_decode, 1);
    rb_define_singleton_method(json, "call", json_codec_decode, 1);
    rb_define_singleton_method(json, "document", json_codec_document, 1);
    rb_define_method(json, "value_decoder", json_codec_value_decoder, 0);
    rb_define_singleton_method(json, "value_decoder", json_codec_value_decoder, 0);
    VALUE lazy = rb_define_class_under(json, "Lazy", rb_cObject);
    rb_define_alloc_func(lazy, json_codec_allocate);
    rb_undef_method(CLASS_OF(lazy), "new");
    rb_define_method(lazy, "decode", json_codec_document, 1);
    rb_define_method(lazy, "call", json_codec_document, 1);
    rb_define_method(lazy, "document", json_codec_document, 1);
    rb_define_method(lazy, "native_decoder", guildhall_codec_native_decoder, 0);
    rb_gc_register_mark_object(default_codec = guildhall_codec_share(json_codec_allocate(json)));
    guildhall_codec_native_values(json);
    guildhall_init_json_build();
    guildhall_init_json_document(json);
    guildhall_init_json_encode(json, lazy);
}
