/* Guildhall::Avro::Directory: compiled schemas by the number that payloads name in a header, and a native decoder for
 * such payloads. Schemas may be added while native threads look others up: the list only grows, at its head, and what
 * stands in it never changes. */
#include <ruby.h>
#include <stdatomic.h>
#include "../init.h"
#include "../values.h"
#include "avro_document.h"

typedef struct entry {
    struct entry *next;
    uint64_t number;
    const guildhall_avro_codec *codec;
} entry;

typedef struct {
    guildhall_decoder decoder; /* context: this struct */
    uint8_t magic[2];
    uint32_t magic_bytes, number_bytes;
    int big_end;               /* which end of the number comes first */
    _Atomic(entry *) entries;
} guildhall_avro_directory;

typedef guildhall_avro_directory directory;

static void mark(void *pointer)
{
    directory *directory = pointer;
    for (entry *e = atomic_load_explicit(&directory->entries, memory_order_acquire); e; e = e->next) {
        rb_gc_mark(e->codec->self);
    }
}

static void release(void *pointer)
{
    directory *directory = pointer;
    for (entry *e = atomic_load_explicit(&directory->entries, memory_order_relaxed), *next; e; e = next) {
        next = e->next;
        ruby_xfree(e);
    }
    ruby_xfree(directory);
}

static const rb_data_type_t type = {
    "Guildhall::Avro::Directory",
    {mark, release, NULL, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE};

static directory *directory_of(VALUE self) { return rb_check_typeddata(self, &type); }

static uint64_t number_in(const directory *directory, const uint8_t *bytes)
{
    uint64_t number = 0;
    uint32_t count = directory->number_bytes;
    for (uint32_t i = 0; i < count; i++) number = number << 8 | bytes[directory->big_end ? i : count - 1 - i];
    return number;
}

static const guildhall_avro_codec *find(const directory *directory, uint64_t number)
{
    const entry *e = atomic_load_explicit(&directory->entries, memory_order_acquire);
    while (e && e->number != number) e = e->next;
    return e ? e->codec : NULL;
}

static inline size_t header_bytes(const directory *directory)
{
    return (size_t)directory->magic_bytes + directory->number_bytes;
}

/* NULL: no such header, or a number that nobody has added; Ruby knows what to say, or where to ask. */
static const guildhall_avro_codec *named(const directory *directory, const uint8_t *bytes, size_t length)
{
    if (length < header_bytes(directory) || memcmp(bytes, directory->magic, directory->magic_bytes)) return NULL;
    return find(directory, number_in(directory, bytes + directory->magic_bytes));
}

static guildhall_decoded decode(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    const guildhall_avro_codec *codec = named(context, bytes, length);
    if (!codec) return GUILDHALL_DEFER;
    return guildhall_avro_decoder_decode(codec, bytes, header_bytes(context), length, result);
}

static VALUE error(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    guildhall_avro_outcome outcome = {(guildhall_avro_status)result->error_code, result->error_offset};
    return guildhall_avro_error(named(context, bytes, length), outcome, bytes, header_bytes(context), length);
}

static VALUE allocate(VALUE class)
{
    guildhall_avro_directory *directory;
    VALUE self = TypedData_Make_Struct(class, guildhall_avro_directory, &type, directory);
    directory->decoder = (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI, .size = sizeof(guildhall_decoder), .context = directory, .decode = decode,
        .wrap = guildhall_document_wrap, .error = error, .free = guildhall_document_free};
    return self;
}

/* magic: the bytes that a header begins with; number_bytes: of the number after them; big_end: its order. */
static VALUE initialize(VALUE self, VALUE magic, VALUE number_bytes, VALUE big_end)
{
    rb_check_frozen(self);
    directory *directory = directory_of(self);
    StringValue(magic);
    if (RSTRING_LEN(magic) > 2 || NUM2UINT(number_bytes) > 8) rb_raise(rb_eArgError, "a longer header than there is");
    directory->magic_bytes = (uint32_t)RSTRING_LEN(magic);
    memcpy(directory->magic, RSTRING_PTR(magic), directory->magic_bytes);
    directory->number_bytes = NUM2UINT(number_bytes);
    directory->big_end = RTEST(big_end);
    return guildhall_share(self);
}

/* With the GVL of any Ractor. */
static VALUE add(VALUE self, VALUE number, VALUE program)
{
    directory *directory = directory_of(self);
    const guildhall_avro_codec *codec = guildhall_avro_codec_of(program);
    uint64_t wanted = NUM2ULL(number);
    entry *made = ruby_xmalloc(sizeof *made);
    *made = (entry){atomic_load_explicit(&directory->entries, memory_order_acquire), wanted, codec};
    while (!atomic_compare_exchange_weak_explicit(&directory->entries, &made->next, made, memory_order_acq_rel,
                                                  memory_order_acquire)) {}
    RB_OBJ_WRITTEN(self, Qundef, program);
    return self;
}

static VALUE native_decoder(VALUE self) { return ULL2NUM((uint64_t)(uintptr_t)&directory_of(self)->decoder); }

void guildhall_init_avro_directory(VALUE avro)
{
    VALUE class = rb_define_class_under(avro, "Directory", rb_cObject);
    rb_define_alloc_func(class, allocate);
    rb_undef_method(class, "initialize_copy");
    rb_define_method(class, "initialize", initialize, 3);
    rb_define_method(class, "add", add, 2);
    rb_define_method(class, "native_decoder", native_decoder, 0);
}
