/* Guildhall::Avro::Program: a compiled schema, made once from what Ruby has worked out. */
#include <ruby.h>
#include "codec.h"
#include "document/any.h"
#include "fit.h"
#include "init.h"
#include "values/frozen.h"

typedef struct guildhall_avro_text text;

static VALUE avro_class;

static void avro_codec_mark(void *pointer)
{
    const guildhall_avro_codec *codec = pointer;
    guildhall_codec_mark(codec);
    for (uint32_t i = 0; i < codec->program.constants_count; i++) {
        rb_gc_mark(codec->constants[i]);
        if (codec->names[i]) rb_gc_mark(codec->names[i]);
    }
}

static void avro_codec_release(void *pointer)
{
    guildhall_avro_codec *codec = pointer;
    ruby_xfree(codec->memory);
    ruby_xfree(codec);
}

static size_t avro_codec_memsize(const void *pointer)
{
    return sizeof(guildhall_avro_codec) + ((const guildhall_avro_codec *)pointer)->size;
}

static const rb_data_type_t type = {
    "Guildhall::Avro::Program",
    {avro_codec_mark, avro_codec_release, avro_codec_memsize},
    &guildhall_codec_type, 0, GUILDHALL_CODEC_FLAGS};

const guildhall_avro_codec *guildhall_avro_codec_of(VALUE program) { return guildhall_codec_of(program, &type); }

static VALUE avro_codec_allocate(VALUE class)
{
    guildhall_avro_codec *codec;
    VALUE self = TypedData_Make_Struct(class, guildhall_avro_codec, &type, codec);
    codec->self = self;
    codec->rules = guildhall_avro_default_rules;
    codec->format = &guildhall_avro_documents;
    codec->decoder = guildhall_document_decoder(codec);
    return self;
}

/* One block of memory for everything that the program points to. */
static void avro_codec_reserve(guildhall_avro_codec *codec, size_t nodes, size_t operands, size_t constants)
{
    size_t size = constants * (2 * sizeof(VALUE) + sizeof(text)) + nodes * sizeof(guildhall_avro_node) + operands * sizeof(uint32_t);
    uint8_t *memory = codec->memory = ruby_xcalloc(size ? size : 1, 1);
    codec->size = size;
    codec->constants = (VALUE *)memory;
    codec->names = codec->constants + constants;
    codec->program.texts = (const text *)(codec->names + constants);
    codec->program.nodes = (const guildhall_avro_node *)(codec->program.texts + constants);
    codec->program.operands = (const uint32_t *)(codec->program.nodes + nodes);
}

/* Pins the Strings too that the texts point into: of a Symbol it is one that the garbage collector may move. */
static void avro_codec_copy_constants(VALUE self, guildhall_avro_codec *codec, VALUE constants)
{
    for (uint32_t i = 0; i < RARRAY_LEN(constants); i++) {
        VALUE constant = RARRAY_AREF(constants, i), name = constant;
        RB_OBJ_WRITE(self, &codec->constants[i], constant);
        codec->program.constants_count = i + 1;
        if (RB_SYMBOL_P(name)) name = rb_sym2str(name);
        if (!RB_TYPE_P(name, T_STRING)) continue;
        RB_OBJ_WRITE(self, &codec->names[i], name);
        ((text *)codec->program.texts)[i] = (text){RSTRING_PTR(name), (uint32_t)RSTRING_LEN(name)};
    }
}

VALUE guildhall_avro_name(const guildhall_avro_codec *codec, const guildhall_avro_node *node)
{
    return codec->constants[codec->program.operands[node->first - 1]];
}

VALUE guildhall_avro_branch_class(void) { return rb_const_get_at(avro_class, rb_intern("Branch")); }

VALUE guildhall_avro_tagged(const guildhall_avro_codec *codec, uint32_t branch, VALUE value)
{
    const guildhall_avro_node *node = &codec->program.nodes[branch];
    if (!codec->tagged || node->type != GUILDHALL_AVRO_RECORD) return value;
    VALUE members[] = {guildhall_avro_name(codec, node), value};
    return rb_ractor_make_shareable(rb_funcallv(guildhall_avro_branch_class(), rb_intern("new"), 2, members));
}

static uint32_t avro_codec_field(VALUE node, long index) { return NUM2UINT(rb_ary_entry(node, index)); }

/* What is wrong here is a bug of the compiler in Ruby, and must not become one in memory. */
static uint32_t avro_codec_below(uint32_t index, uint32_t limit)
{
    if (index >= limit) rb_raise(rb_eIndexError, "Avro program: %u is not below %u", index, limit);
    return index;
}

/* A record's: a name and a value each, for the fields that are missing in the payload. */
static void avro_codec_check_defaults(const guildhall_avro_program *program, const guildhall_avro_node *record)
{
    uint64_t named = 0, first = record->first + (uint64_t)record->count * 2;
    for (uint32_t i = 0; i < record->count; i++) named += program->operands[record->first + i * 2 + 1] != GUILDHALL_AVRO_SKIPPED;
    if (record->kept < named) rb_raise(rb_eIndexError, "Avro program: a record has more fields than its Hash");
    uint64_t end = first + (record->kept - named) * 2;
    if (end > program->operands_count) rb_raise(rb_eIndexError, "Avro program: defaults are missing");
    for (uint64_t i = first; i < end; i++) avro_codec_below(program->operands[i], program->constants_count);
}

static void avro_codec_check_node(const guildhall_avro_program *program, const guildhall_avro_node *node)
{
    uint64_t operands = 0;
    avro_codec_below(node->type, GUILDHALL_AVRO_MISMATCH + 1);
    avro_codec_below(node->meaning, GUILDHALL_AVRO_LOCAL_NANOS + 1);
    if (node->type == GUILDHALL_AVRO_ENUM || node->type == GUILDHALL_AVRO_UNION) operands = node->count;
    if (node->type == GUILDHALL_AVRO_ARRAY || node->type == GUILDHALL_AVRO_MAP) operands = 1;
    if (node->type == GUILDHALL_AVRO_RECORD) operands = (uint64_t)node->count * 2;
    if (guildhall_avro_named(node)) {
        avro_codec_below(0, node->first);
        avro_codec_below(node->first - 1, program->operands_count);
        avro_codec_below(program->operands[node->first - 1], program->constants_count);
    }
    if (node->first + operands > program->operands_count) rb_raise(rb_eIndexError, "Avro program: operands are missing");
    if (node->type == GUILDHALL_AVRO_MISMATCH || node->meaning != GUILDHALL_AVRO_PLAIN) {
        avro_codec_below(node->kept, program->constants_count);
    }
    for (uint64_t i = 0; i < operands; i++) {
        uint32_t operand = program->operands[node->first + i];
        int name = node->type == GUILDHALL_AVRO_ENUM || (node->type == GUILDHALL_AVRO_RECORD && i % 2);
        if (operand != GUILDHALL_AVRO_SKIPPED || !name) avro_codec_below(operand, name ? program->constants_count : program->nodes_count);
    }
    if (node->type == GUILDHALL_AVRO_RECORD) avro_codec_check_defaults(program, node);
}

/* nodes: Arrays of type, meaning, count, first, kept, minimum, inside, unpaid. */
static VALUE avro_codec_load(VALUE self, VALUE nodes, VALUE operands, VALUE constants)
{
    rb_check_frozen(self);
    guildhall_avro_codec *codec = rb_check_typeddata(self, &type);
    guildhall_avro_program *program = &codec->program;
    if (codec->memory) rb_raise(rb_eArgError, "loaded already");
    avro_codec_reserve(codec, (size_t)RARRAY_LEN(nodes), (size_t)RARRAY_LEN(operands), (size_t)RARRAY_LEN(constants));
    avro_codec_copy_constants(self, codec, constants);
    for (long i = 0; i < RARRAY_LEN(operands); i++) ((uint32_t *)program->operands)[i] = avro_codec_field(operands, i);
    program->operands_count = (uint32_t)RARRAY_LEN(operands);
    for (long i = 0; i < RARRAY_LEN(nodes); i++) {
        VALUE node = rb_ary_entry(nodes, i);
        ((guildhall_avro_node *)program->nodes)[i] = (guildhall_avro_node){
            (uint8_t)avro_codec_field(node, 0), (uint8_t)avro_codec_field(node, 1), avro_codec_field(node, 2),
            avro_codec_field(node, 3), avro_codec_field(node, 4), avro_codec_field(node, 5), avro_codec_field(node, 6), avro_codec_field(node, 7)};
        codec->alternatives |= program->nodes[i].type == GUILDHALL_AVRO_UNION && program->nodes[i].kept > 1;
    }
    program->nodes_count = avro_codec_below((uint32_t)RARRAY_LEN(nodes), UINT32_MAX);
    for (uint32_t i = 0; i < program->nodes_count; i++) avro_codec_check_node(program, &program->nodes[i]);
    return self;
}

static VALUE avro_codec_configure(VALUE self, VALUE options)
{
    rb_check_frozen(self);
    guildhall_avro_codec *codec = rb_check_typeddata(self, &type);
    guildhall_avro_rules *rules = &codec->rules;
    rules->max_nesting = NUM2UINT(guildhall_option(options, "max_nesting"));
    rules->max_bytes = NUM2SIZET(guildhall_option(options, "max_bytes"));
    rules->max_empty_items = NUM2ULL(guildhall_option(options, "max_empty_items"));
    rules->allow_invalid_utf8 = RTEST(guildhall_option(options, "allow_invalid_utf8"));
    codec->tagged = RTEST(guildhall_option(options, "tagged_unions"));
    return self;
}

static VALUE avro_codec_share(VALUE self)
{
    avro_codec_below(0, ((guildhall_avro_codec *)rb_check_typeddata(self, &type))->program.nodes_count);
    return guildhall_codec_share(self);
}

/* from: where the value begins; beyond the end it is as if nothing were there. */
static VALUE avro_codec_decode(VALUE self, VALUE bytes, VALUE from)
{
    StringValue(bytes);
    return guildhall_avro_decode(guildhall_avro_codec_of(self), bytes, NUM2SIZET(from));
}

static VALUE avro_codec_document(VALUE self, VALUE bytes, VALUE from)
{
    VALUE source = guildhall_frozen_bytes(bytes);
    size_t begin = NUM2SIZET(from), length = (size_t)RSTRING_LEN(source);
    return guildhall_document_of(guildhall_avro_codec_of(self), source, begin < length ? begin : length);
}

static VALUE avro_codec_decode_many(VALUE self, VALUE source, VALUE count)
{
    StringValue(source);
    return guildhall_avro_decode_many(guildhall_avro_codec_of(self), source, NUM2ULL(count));
}

static VALUE avro_codec_encode(VALUE self, VALUE object, VALUE prefix)
{
    return guildhall_avro_encode(guildhall_avro_codec_of(self), object, prefix, NULL);
}

/* For a block of values, in which the value itself may be one that takes no byte: the bytes, empty items, unpaid fields. */
static VALUE avro_codec_encode_measured(VALUE self, VALUE object)
{
    const guildhall_avro_codec *codec = guildhall_avro_codec_of(self);
    const guildhall_avro_node *root = codec->program.nodes;
    guildhall_avro_cost cost;
    VALUE bytes = guildhall_avro_encode(codec, object, Qnil, &cost);
    if (!root->minimum) cost.empty_items += (uint64_t)root->inside + 1;
    return rb_ary_new_from_args(3, bytes, ULL2NUM(cost.empty_items), ULL2NUM(cost.unpaid_fields));
}

/* How many unpaid fields may be in that many bytes. */
static VALUE avro_codec_unpaid_fields(VALUE self, VALUE length)
{
    return ULL2NUM(guildhall_avro_unpaid_fields(&guildhall_avro_codec_of(self)->rules, NUM2SIZET(length)));
}

void guildhall_init_avro(VALUE guildhall)
{
    VALUE avro = rb_define_class_under(guildhall, "Avro", rb_cObject);
    guildhall_codec_native_values(avro);
    rb_gc_register_mark_object(avro_class = avro);
    VALUE program = rb_define_class_under(avro, "Program", rb_cObject);
    rb_define_alloc_func(program, avro_codec_allocate);
    rb_undef_method(program, "initialize_copy");
    rb_define_private_method(program, "load", avro_codec_load, 3);
    rb_define_private_method(program, "configure", avro_codec_configure, 1);
    rb_define_private_method(program, "share", avro_codec_share, 0);
    rb_define_method(program, "decode", avro_codec_decode, 2);
    rb_define_method(program, "document", avro_codec_document, 2);
    rb_define_method(program, "native_decoder", guildhall_codec_native_decoder, 0);
    rb_define_method(program, "decode_many", avro_codec_decode_many, 2);
    rb_define_method(program, "encode", avro_codec_encode, 2);
    rb_define_method(program, "encode_measured", avro_codec_encode_measured, 1);
    rb_define_method(program, "unpaid_fields", avro_codec_unpaid_fields, 1);
    guildhall_init_avro_build();
    guildhall_init_avro_fit();
    guildhall_init_avro_document(avro);
    guildhall_init_avro_directory(avro);
}
