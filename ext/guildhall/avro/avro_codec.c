/* Guildhall::Avro::Program: a compiled schema, made once from what Ruby has worked out. */
#include <ruby.h>
#include "../init.h"
#include "../values.h"
#include "avro_document.h"

typedef struct guildhall_avro_text text;

static void mark(void *pointer)
{
    const guildhall_avro_codec *codec = pointer;
    rb_gc_mark(codec->self);
    for (uint32_t i = 0; i < codec->program.constants_count; i++) rb_gc_mark(codec->constants[i]);
}

static void release(void *pointer)
{
    guildhall_avro_codec *codec = pointer;
    ruby_xfree(codec->memory);
    ruby_xfree(codec);
}

static size_t memsize(const void *pointer)
{
    const guildhall_avro_program *program = &((const guildhall_avro_codec *)pointer)->program;
    return sizeof(guildhall_avro_codec) + program->nodes_count * sizeof *program->nodes +
           program->operands_count * sizeof *program->operands +
           program->constants_count * (sizeof(VALUE) + sizeof *program->texts);
}

static const rb_data_type_t type = {
    "Guildhall::Avro::Program",
    {mark, release, memsize, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE}; /* as its Documents are */

/* Documents refer to their program, so it has to be shareable before there is one. */
const guildhall_avro_codec *guildhall_avro_codec_of(VALUE program)
{
    const guildhall_avro_codec *codec = rb_check_typeddata(program, &type);
    if (RB_UNLIKELY(!codec->ready)) rb_raise(rb_eArgError, "not compiled yet");
    return codec;
}

void guildhall_avro_path(const guildhall_avro_place *place, guildhall_path *path)
{
    if (!place) {
        guildhall_path_init(path);
        return;
    }
    guildhall_avro_path(place->up, path);
    if (place->text) guildhall_path_key(path, (const uint8_t *)place->text, (size_t)place->index);
    else guildhall_path_index(path, (int64_t)place->index);
}

static VALUE allocate(VALUE class)
{
    guildhall_avro_codec *codec;
    VALUE self = TypedData_Make_Struct(class, guildhall_avro_codec, &type, codec);
    codec->self = self;
    codec->rules = guildhall_avro_default_rules;
    guildhall_avro_decoder_setup(codec);
    return self;
}

/* One block of memory for everything that the program points to. */
static void reserve(guildhall_avro_codec *codec, size_t nodes, size_t operands, size_t constants)
{
    size_t size = constants * (sizeof(VALUE) + sizeof(text)) + nodes * sizeof(guildhall_avro_node) +
                  operands * sizeof(uint32_t);
    uint8_t *memory = codec->memory = ruby_xcalloc(size ? size : 1, 1);
    codec->constants = (VALUE *)memory;
    codec->program.texts = (const text *)(memory + constants * sizeof(VALUE));
    codec->program.nodes = (const guildhall_avro_node *)(codec->program.texts + constants);
    codec->program.operands = (const uint32_t *)(codec->program.nodes + nodes);
}

static void copy_constants(VALUE self, guildhall_avro_codec *codec, VALUE constants)
{
    for (uint32_t i = 0; i < RARRAY_LEN(constants); i++) {
        VALUE constant = RARRAY_AREF(constants, i), name = constant;
        RB_OBJ_WRITE(self, &codec->constants[i], constant);
        codec->program.constants_count = i + 1;
        if (RB_SYMBOL_P(name)) name = rb_sym2str(name);
        if (!RB_TYPE_P(name, T_STRING)) continue;
        ((text *)codec->program.texts)[i] = (text){RSTRING_PTR(name), (uint32_t)RSTRING_LEN(name)};
    }
}

static uint32_t field(VALUE node, long index) { return NUM2UINT(rb_ary_entry(node, index)); }

/* What is wrong here is a fault of the compiler in Ruby, and must not become one in memory. */
static uint32_t below(uint32_t index, uint32_t limit)
{
    if (index >= limit) rb_raise(rb_eIndexError, "Avro program: %u is not below %u", index, limit);
    return index;
}

static void check_node(const guildhall_avro_program *program, const guildhall_avro_node *node)
{
    uint64_t operands = 0;
    below(node->type, GUILDHALL_AVRO_MISMATCH + 1);
    below(node->meaning, GUILDHALL_AVRO_NANOS + 1);
    if (node->type == GUILDHALL_AVRO_ENUM || node->type == GUILDHALL_AVRO_UNION) operands = node->count;
    if (node->type == GUILDHALL_AVRO_ARRAY || node->type == GUILDHALL_AVRO_MAP) operands = 1;
    if (node->type == GUILDHALL_AVRO_RECORD) operands = (uint64_t)node->count * 2;
    if (node->first + operands > program->operands_count) rb_raise(rb_eIndexError, "Avro program: operands are missing");
    if (node->type == GUILDHALL_AVRO_MISMATCH || node->meaning != GUILDHALL_AVRO_PLAIN) {
        below(node->kept, program->constants_count);
    }
    for (uint64_t i = 0; i < operands; i++) {
        uint32_t operand = program->operands[node->first + i];
        int name = node->type == GUILDHALL_AVRO_ENUM || (node->type == GUILDHALL_AVRO_RECORD && i % 2);
        if (operand != GUILDHALL_AVRO_SKIPPED || !name) below(operand, name ? program->constants_count : program->nodes_count);
    }
}

/* nodes: Arrays of type, meaning, count, first, kept, minimum. */
static VALUE load(VALUE self, VALUE nodes, VALUE operands, VALUE constants)
{
    rb_check_frozen(self);
    guildhall_avro_codec *codec = rb_check_typeddata(self, &type);
    guildhall_avro_program *program = &codec->program;
    if (codec->memory) rb_raise(rb_eArgError, "loaded already");
    reserve(codec, (size_t)RARRAY_LEN(nodes), (size_t)RARRAY_LEN(operands), (size_t)RARRAY_LEN(constants));
    copy_constants(self, codec, constants);
    for (long i = 0; i < RARRAY_LEN(operands); i++) ((uint32_t *)program->operands)[i] = field(operands, i);
    program->operands_count = (uint32_t)RARRAY_LEN(operands);
    for (long i = 0; i < RARRAY_LEN(nodes); i++) {
        VALUE node = rb_ary_entry(nodes, i);
        ((guildhall_avro_node *)program->nodes)[i] = (guildhall_avro_node){
            (uint8_t)field(node, 0), (uint8_t)field(node, 1), field(node, 2), field(node, 3), field(node, 4), field(node, 5)};
    }
    program->nodes_count = below((uint32_t)RARRAY_LEN(nodes), UINT32_MAX);
    for (uint32_t i = 0; i < program->nodes_count; i++) check_node(program, &program->nodes[i]);
    return self;
}

static VALUE option(VALUE options, const char *name) { return rb_hash_fetch(options, ID2SYM(rb_intern(name))); }

static VALUE configure(VALUE self, VALUE options)
{
    rb_check_frozen(self);
    guildhall_avro_rules *rules = &((guildhall_avro_codec *)rb_check_typeddata(self, &type))->rules;
    rules->max_nesting = NUM2UINT(option(options, "max_nesting"));
    rules->max_bytes = NUM2SIZET(option(options, "max_bytes"));
    rules->max_empty_items = NUM2ULL(option(options, "max_empty_items"));
    rules->allow_invalid_utf8 = RTEST(option(options, "allow_invalid_utf8"));
    return self;
}

static VALUE share(VALUE self)
{
    guildhall_avro_codec *codec = rb_check_typeddata(self, &type);
    below(0, codec->program.nodes_count);
    guildhall_share_whole(self, "Avro program");
    codec->ready = 1;
    return self;
}

/* decode(bytes, from = 0) */
static VALUE decode(int count, VALUE *arguments, VALUE self)
{
    rb_check_arity(count, 1, 2);
    StringValue(arguments[0]);
    return guildhall_avro_decode(guildhall_avro_codec_of(self), arguments[0], count == 2 ? NUM2SIZET(arguments[1]) : 0);
}

/* document(bytes, from = 0) */
static VALUE document(int count, VALUE *arguments, VALUE self)
{
    rb_check_arity(count, 1, 2);
    StringValue(arguments[0]);
    size_t from = count == 2 ? NUM2SIZET(arguments[1]) : 0, length = (size_t)RSTRING_LEN(arguments[0]);
    return guildhall_avro_document(guildhall_avro_codec_of(self), arguments[0], from < length ? from : length);
}

static VALUE native_decoder(VALUE self) { return ULL2NUM((uint64_t)(uintptr_t)&guildhall_avro_codec_of(self)->decoder); }

static VALUE decode_many(VALUE self, VALUE source, VALUE count)
{
    StringValue(source);
    return guildhall_avro_decode_many(guildhall_avro_codec_of(self), source, NUM2ULL(count));
}

static VALUE encode(VALUE self, VALUE object, VALUE prefix)
{
    return guildhall_avro_encode(guildhall_avro_codec_of(self), object, prefix);
}

void guildhall_init_avro(VALUE guildhall)
{
    VALUE avro = rb_define_class_under(guildhall, "Avro", rb_cObject);
    VALUE program = rb_define_class_under(avro, "Program", rb_cObject);
    rb_define_alloc_func(program, allocate);
    rb_undef_method(program, "initialize_copy");
    rb_define_private_method(program, "load", load, 3);
    rb_define_private_method(program, "configure", configure, 1);
    rb_define_private_method(program, "share", share, 0);
    rb_define_method(program, "decode", decode, -1);
    rb_define_method(program, "document", document, -1);
    rb_define_method(program, "native_decoder", native_decoder, 0);
    rb_define_method(program, "decode_many", decode_many, 2);
    rb_define_method(program, "encode", encode, 2);
    guildhall_init_avro_build();
    guildhall_init_avro_encode();
    guildhall_init_avro_document(avro);
    guildhall_init_avro_directory(avro);
}
