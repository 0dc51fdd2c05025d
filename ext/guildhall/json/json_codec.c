/* Guildhall::JSON: the codec class, and the same on the class itself with the default options. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/ractor.h>
#include <stdlib.h>
#include "../document/document_memory.h"
#include "../init.h"
#include "../values.h"
#include "json_build.h"
#include "json_codec.h"
#include "json_document.h"
#include "json_split.h"

static VALUE default_codec;
static int utf8_index, ascii_index, binary_index;

static void mark(void *pointer)
{
    const guildhall_json_codec *codec = pointer;
    if (codec->decimal_receiver) rb_gc_mark(codec->decimal_receiver);
}

static size_t memsize(const void *pointer) { return sizeof(guildhall_json_codec); }

/* Not EMBEDDABLE: native callers keep the address of the struct. */
static const rb_data_type_t type = {
    "Guildhall::JSON",
    {mark, RUBY_TYPED_DEFAULT_FREE, memsize, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE};

/* Documents refer to their codec, so it has to be shareable before there is one. */
const guildhall_json_codec *guildhall_json_codec_of(VALUE self)
{
    const guildhall_json_codec *codec = rb_check_typeddata(self, &type);
    if (RB_UNLIKELY(!codec->ready)) rb_raise(rb_eTypeError, "%"PRIsVALUE" is not initialized", rb_obj_class(self));
    return codec;
}

/* With all that it refers to, and what a subclass has added. */
static VALUE share(VALUE self)
{
    guildhall_share_whole(self, "codec");
    ((guildhall_json_codec *)rb_check_typeddata(self, &type))->ready = 1;
    return self;
}

const guildhall_json_codec *guildhall_json_codec_default(void) { return RTYPEDDATA_GET_DATA(default_codec); }

static VALUE allocate(VALUE klass)
{
    guildhall_json_codec *codec;
    VALUE self = TypedData_Make_Struct(klass, guildhall_json_codec, &type, codec);
    codec->self = self;
    codec->rules = guildhall_json_strict;
    codec->decimal_receiver = Qnil;
    guildhall_json_decoder_setup(codec);
    return self;
}

static unsigned flag(VALUE options, const char *name)
{
    return RTEST(rb_hash_fetch(options, ID2SYM(rb_intern(name))));
}

/* The options as Ruby has checked them: every one is there. */
static VALUE configure(VALUE self, VALUE options, VALUE decimal_receiver, VALUE decimal_method)
{
    rb_check_frozen(self);
    guildhall_json_codec *codec = rb_check_typeddata(self, &type);
    codec->rules.max_nesting = NUM2UINT(rb_hash_fetch(options, ID2SYM(rb_intern("max_nesting"))));
    codec->rules.max_digits = NUM2UINT(rb_hash_fetch(options, ID2SYM(rb_intern("max_digits"))));
    codec->rules.max_bytes = NUM2SIZET(rb_hash_fetch(options, ID2SYM(rb_intern("max_bytes"))));
    codec->rules.allow_nan = flag(options, "allow_nan");
    codec->rules.allow_duplicate_key = flag(options, "allow_duplicate_key");
    codec->rules.allow_invalid_utf8 = flag(options, "allow_invalid_utf8");
    codec->rules.allow_trailing_comma = flag(options, "allow_trailing_comma");
    codec->rules.allow_control_characters = flag(options, "allow_control_characters");
    codec->symbolize_names = flag(options, "symbolize_names");
    RB_OBJ_WRITE(self, &codec->decimal_receiver, decimal_receiver);
    if (!NIL_P(decimal_receiver)) codec->decimal_method = rb_to_id(decimal_method);
    return self;
}

static VALUE in_utf8(VALUE source)
{
    int index = rb_enc_get_index(source);
    if (index == utf8_index || index == ascii_index || index == binary_index) return source;
    return rb_str_encode(source, rb_enc_from_encoding(rb_utf8_encoding()), 0, Qnil);
}

VALUE guildhall_json_bytes(VALUE source)
{
    StringValue(source);
    int index = RB_ENCODING_GET_INLINED(source);
    if (RB_UNLIKELY(index != utf8_index)) source = in_utf8(source);
    return guildhall_frozen_bytes(source);
}

static VALUE raise_fault(const guildhall_json_codec *codec, guildhall_json_outcome outcome, VALUE source)
{
    if (outcome.status == GUILDHALL_JSON_NO_MEMORY) rb_memerror();
    rb_exc_raise(guildhall_json_error(codec, outcome.status, outcome.fault, (const uint8_t *)RSTRING_PTR(source),
                                      (size_t)RSTRING_LEN(source)));
    return Qnil;
}

/* What runs the user's decimal_class may switch threads, or decode other texts on this one: the tape it walks must
 * not be the thread's scratch. */
static VALUE decode_by_document(const guildhall_json_codec *codec, VALUE source, const guildhall_json_node *nodes,
                                size_t count)
{
    VALUE buffer = 0;
    guildhall_json_node *copy = rb_alloc_tmp_buffer(&buffer, (long)(count * sizeof *nodes));
    memcpy(copy, nodes, count * sizeof *nodes);
    VALUE bytes = guildhall_json_bytes(source);
    guildhall_json_view view = {(const uint8_t *)RSTRING_PTR(bytes), (const uint8_t *)RSTRING_END(bytes), copy};
    VALUE value = guildhall_json_build(codec, view, 0);
    rb_free_tmp_buffer(&buffer);
    RB_GC_GUARD(bytes);
    return value;
}

/* No copy of the source is needed: nothing points to it once the value is built, and nobody else runs before. */
static VALUE decode(const guildhall_json_codec *codec, VALUE source)
{
    StringValue(source);
    if (RB_UNLIKELY(RB_ENCODING_GET_INLINED(source) != utf8_index)) source = in_utf8(source);
    guildhall_json_scratch *scratch = guildhall_json_scratch_current();
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    guildhall_json_outcome outcome = guildhall_json_parse(bytes, (size_t)RSTRING_LEN(source), &codec->rules, scratch);
    if (RB_UNLIKELY(outcome.status != GUILDHALL_JSON_VALID)) return raise_fault(codec, outcome, source);
    VALUE value;
    if (RB_LIKELY(NIL_P(codec->decimal_receiver))) {
        value = guildhall_json_build(codec, (guildhall_json_view){bytes, (const uint8_t *)RSTRING_END(source), scratch->nodes}, 0);
    } else {
        value = decode_by_document(codec, source, scratch->nodes, outcome.count);
    }
    guildhall_json_scratch_trim(scratch);
    RB_GC_GUARD(source);
    return value;
}

VALUE guildhall_json_document_of(const guildhall_json_codec *codec, VALUE source)
{
    source = guildhall_json_bytes(source);
    guildhall_json_scratch *scratch = guildhall_json_scratch_current();
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_json_outcome outcome = guildhall_json_parse(bytes, length, &codec->rules, scratch);
    if (RB_UNLIKELY(outcome.status != GUILDHALL_JSON_VALID)) return raise_fault(codec, outcome, source);
    guildhall_json_text text = {.owner = source, .bytes = bytes, .length = (uint32_t)length, .count = (uint32_t)outcome.count,
                                .deduplicated = (unsigned)outcome.deduplicated};
    VALUE made = guildhall_json_document_new(codec, text, scratch->nodes);
    guildhall_json_scratch_trim(scratch);
    RB_GC_GUARD(source);
    return made;
}

static VALUE codec_decode(VALUE self, VALUE source) { return decode(guildhall_json_codec_of(self), source); }
static VALUE codec_document(VALUE self, VALUE source) { return guildhall_json_document_of(guildhall_json_codec_of(self), source); }
static VALUE default_decode(VALUE self, VALUE source) { return decode(guildhall_json_codec_default(), source); }
static VALUE default_document(VALUE self, VALUE source) { return guildhall_json_document_of(guildhall_json_codec_default(), source); }

/* A codec of another class with the same options. */
static VALUE codec_as(VALUE self, VALUE klass)
{
    const guildhall_json_codec *from = guildhall_json_codec_of(self);
    VALUE made = allocate(klass);
    guildhall_json_codec *codec = rb_check_typeddata(made, &type);
    codec->rules = from->rules;
    codec->symbolize_names = from->symbolize_names;
    codec->decimal_method = from->decimal_method;
    RB_OBJ_WRITE(made, &codec->decimal_receiver, from->decimal_receiver);
    return share(made);
}

static VALUE native_decoder(VALUE self)
{
    return ULL2NUM((uint64_t)(uintptr_t)&guildhall_json_codec_of(self)->decoder);
}

/* For JSON.each_document: where the next text in the String begins and ends; only where it begins when it is not whole.
 * What is longer than a text may be counts as one, so that nobody waits for its end: the parser refuses it. */
static VALUE next_text(VALUE self, VALUE source, VALUE from, VALUE last)
{
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_json_piece piece = guildhall_json_split(bytes, length, NUM2SIZET(from), RTEST(last));
    if (piece.begin == piece.end && length - piece.begin > guildhall_json_codec_of(self)->rules.max_bytes) piece.end = length;
    return piece.begin == piece.end ? SIZET2NUM(piece.begin) : rb_assoc_new(SIZET2NUM(piece.begin), SIZET2NUM(piece.end));
}

static void define_codec(VALUE json)
{
    rb_define_alloc_func(json, allocate);
    rb_define_private_method(json, "configure", configure, 3);
    rb_define_private_method(json, "share", share, 0);
    rb_define_private_method(json, "as", codec_as, 1);
    rb_define_private_method(json, "next_text", next_text, 3);
    rb_define_method(json, "decode", codec_decode, 1);
    rb_define_method(json, "call", codec_decode, 1);
    rb_define_method(json, "document", codec_document, 1);
    rb_define_singleton_method(json, "decode", default_decode, 1);
    rb_define_singleton_method(json, "call", default_decode, 1);
    rb_define_singleton_method(json, "document", default_document, 1);
}

void guildhall_init_json(VALUE guildhall)
{
    utf8_index = rb_utf8_encindex();
    ascii_index = rb_usascii_encindex();
    binary_index = rb_ascii8bit_encindex();
    VALUE json = rb_define_class_under(guildhall, "JSON", rb_cObject);
    define_codec(json);
    VALUE lazy = rb_define_class_under(json, "Lazy", rb_cObject);
    rb_define_alloc_func(lazy, allocate);
    rb_undef_method(CLASS_OF(lazy), "new");
    rb_define_method(lazy, "decode", codec_document, 1);
    rb_define_method(lazy, "call", codec_document, 1);
    rb_define_method(lazy, "document", codec_document, 1);
    rb_define_method(lazy, "native_decoder", native_decoder, 0);
    rb_gc_register_mark_object(default_codec = share(allocate(json)));
    guildhall_init_json_build();
    guildhall_init_json_document(json);
    guildhall_init_json_error(json);
    guildhall_init_json_encode(json, lazy);
}
