/* Guildhall::Avro::Directory: compiled schemas by the number that payloads name in a header, and a native decoder for
 * such payloads. Schemas may be added while native threads look others up: the list only grows, at its head, and what
 * stands in it never changes. */
#include <ruby.h>
#include <stdatomic.h>
#include "codec.h"
#include "init.h"
#include "values/frozen.h"

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

static void avro_directory_mark(void *pointer)
{
    directory *directory = pointer;
    for (entry *e = atomic_load_explicit(&directory->entries, memory_order_acquire); e; e = e->next) {
        rb_gc_mark(e->codec->self);
    }
}

static void avro_directory_release(void *pointer)
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
    {avro_directory_mark, avro_directory_release, NULL},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | GUILDHALL_SHARED_TYPE};

static directory *avro_directory_of(VALUE self) { return rb_check_typeddata(self, &type); }

static uint64_t avro_directory_number_in(const directory *directory, const uint8_t *bytes)
{
    uint64_t number = 0;
    uint32_t count = directory->number_bytes;
    for (uint32_t i = 0; i < count; i++) number = number << 8 | bytes[directory->big_end ? i : count - 1 - i];
    return number;
}

static inline size_t avro_directory_header_bytes(const directory *directory)
{
    return (size_t)directory->magic_bytes + directory->number_bytes;
}

/* NULL: no such header, or a number that has not been added; Ruby knows what to say, or where to ask. */
static const guildhall_avro_codec *avro_directory_named(const directory *directory, const uint8_t *bytes, size_t length)
{
    if (length < avro_directory_header_bytes(directory) || memcmp(bytes, directory->magic, directory->magic_bytes)) return NULL;
    uint64_t number = avro_directory_number_in(directory, bytes + directory->magic_bytes);
    const entry *e = atomic_load_explicit(&directory->entries, memory_order_acquire);
    while (e && e->number != number) e = e->next;
    return e ? e->codec : NULL;
}

static guildhall_decoded avro_directory_decode(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    const guildhall_avro_codec *codec = avro_directory_named(context, bytes, length);
    if (!codec) return GUILDHALL_DEFER;
    return guildhall_document_decode(codec, bytes, avro_directory_header_bytes(context), length, result);
}

static VALUE avro_directory_error(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    return guildhall_document_error(avro_directory_named(context, bytes, length), result, bytes, avro_directory_header_bytes(context), length);
}

static VALUE avro_directory_allocate(VALUE class)
{
    guildhall_avro_directory *directory;
    VALUE self = TypedData_Make_Struct(class, guildhall_avro_directory, &type, directory);
    directory->decoder = guildhall_document_decoder(directory);
    directory->decoder.decode = avro_directory_decode;
    directory->decoder.error = avro_directory_error;
    return self;
}

/* magic: the bytes that a header begins with; number_bytes: of the number after them; big_end: its order. */
static VALUE avro_directory_initialize(VALUE self, VALUE magic, VALUE number_bytes, VALUE big_end)
{
    rb_check_frozen(self);
    directory *directory = avro_directory_of(self);
    StringValue(magic);
    if (RSTRING_LEN(magic) > 2 || NUM2UINT(number_bytes) > 8) rb_raise(rb_eArgError, "a longer header than there is");
    directory->magic_bytes = (uint32_t)RSTRING_LEN(magic);
    memcpy(directory->magic, RSTRING_PTR(magic), directory->magic_bytes);
    directory->number_bytes = NUM2UINT(number_bytes);
    directory->big_end = RTEST(big_end);
    return guildhall_hand_over(guildhall_share(self));
}

/* With the GVL of any Ractor. */
static VALUE avro_directory_add(VALUE self, VALUE number, VALUE program)
{
    directory *directory = avro_directory_of(self);
    const guildhall_avro_codec *codec = guildhall_avro_codec_of(program);
    uint64_t wanted = NUM2ULL(number);
    entry *made = ruby_xmalloc(sizeof *made);
    *made = (entry){atomic_load_explicit(&directory->entries, memory_order_acquire), wanted, codec};
    while (!atomic_compare_exchange_weak_explicit(&directory->entries, &made->next, made, memory_order_acq_rel, memory_order_acquire)) {}
    RB_OBJ_WRITTEN(self, Qundef, program);
    return self;
}

static VALUE avro_directory_native_decoder(VALUE self) { return ULL2NUM((uint64_t)(uintptr_t)&avro_directory_of(self)->decoder); }

void guildhall_init_avro_directory(VALUE avro)
{
    VALUE class = rb_define_class_under(avro, "Directory", rb_cObject);
    rb_define_alloc_func(class, avro_directory_allocate);
    rb_undef_method(class, "initialize_copy");
    rb_define_method(class, "initialize", avro_directory_initialize, 3);
    rb_define_method(class, "add", avro_directory_add, 2);
    rb_define_method(class, "native_decoder", avro_directory_native_decoder, 0);
}
