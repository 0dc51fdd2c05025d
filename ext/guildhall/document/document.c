/* The life of a Document: made, marked, measured, freed.
 *
 * The garbage collector sees one object a payload, whatever its size. The object pins what owns the bytes;
 * sub-documents pin the root Document.
 */
#include <ruby.h>
#include <string.h>
#include "../values.h"
#include "blocks.h"
#include "document.h"
#include "document_memory.h"

typedef struct {
    VALUE root;     /* the Document that holds the payload; 0 in that one itself */
    guildhall_spot spot;
} document;

typedef struct {
    document document;
    guildhall_payload payload;
} root_document;

/* Pins on purpose, as the next one: pointers into the owner's bytes and into the root are kept. */
static void mark(void *pointer)
{
    const guildhall_payload *payload = &((const root_document *)pointer)->payload;
    if (payload->owner) rb_gc_mark(payload->owner);
    if (payload->marks) rb_gc_mark(payload->marks->format->codec_object(payload->marks->codec));
}

static void mark_root(void *pointer)
{
    VALUE root = ((const document *)pointer)->root;
    if (root) rb_gc_mark(root);
}

static size_t size_of(const guildhall_marks *marks)
{
    return marks ? sizeof *marks + marks->count * sizeof *marks->words : 0;
}

static void release(void *pointer)
{
    guildhall_payload *payload = &((root_document *)pointer)->payload;
    guildhall_key_indexes_free(&payload->indexes);
    if (payload->reported) rb_gc_adjust_memory_usage(-(ssize_t)payload->reported);
    if (payload->marks) guildhall_release_memory(payload->marks, size_of(payload->marks));
}

static size_t memsize(const void *pointer)
{
    guildhall_payload *payload = &((root_document *)pointer)->payload;
    return guildhall_block_bytes(size_of(payload->marks)) + atomic_load_explicit(&payload->indexes.bytes, memory_order_relaxed);
}

/* EMBEDDABLE: compaction may move the struct, so nothing keeps a pointer into it but what pins the object.
 * WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::Document",
    {mark, release, memsize, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of sub-documents: nothing is freed but the slot. */
static const rb_data_type_t sub_type = {
    "Guildhall::Document",
    {mark_root, RUBY_TYPED_DEFAULT_FREE, NULL, NULL, {0}},
    &type, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

guildhall_cursor guildhall_document_read(VALUE self)
{
    document *shown = rb_check_typeddata(self, &type);
    root_document *root = shown->root ? RTYPEDDATA_GET_DATA(shown->root) : (root_document *)shown;
    return (guildhall_cursor){self, &root->payload, shown->spot};
}

static VALUE class_of(const guildhall_marks *marks, guildhall_kind kind)
{
    return kind == GUILDHALL_MAP ? marks->format->map_class : marks->format->array_class;
}

static VALUE sub_document(VALUE around, guildhall_spot at, VALUE class)
{
    VALUE root = ((document *)RTYPEDDATA_GET_DATA(around))->root;
    document *shown;
    VALUE made = TypedData_Make_Struct(class, document, &sub_type, shown);
    shown->spot = at;
    RB_OBJ_WRITE(made, &shown->root, root ? root : around);
    return guildhall_share(made);
}

void guildhall_document_report(guildhall_payload *payload)
{
    size_t bytes = atomic_load_explicit(&payload->indexes.bytes, memory_order_relaxed);
    if (RB_LIKELY(bytes == atomic_load_explicit(&payload->reported, memory_order_relaxed))) return;
    size_t before = atomic_exchange_explicit(&payload->reported, bytes, memory_order_relaxed);
    rb_gc_adjust_memory_usage((ssize_t)bytes - (ssize_t)before);
}

VALUE guildhall_document_value(guildhall_cursor cursor, guildhall_spot at)
{
    VALUE document = cursor.document, value;
    const guildhall_marks *marks = cursor.payload->marks;
    guildhall_kind kind = marks->format->resolve(cursor.payload, &at);
    if (kind == GUILDHALL_SCALAR) value = marks->format->build(cursor.payload, at);
    else value = sub_document(document, at, class_of(marks, kind));
    RB_GC_GUARD(document);
    return value;
}

guildhall_marks *guildhall_marks_new(const guildhall_document_format *format, const void *codec, size_t from,
                                     const guildhall_notes *notes)
{
    size_t words = notes->marks.count * sizeof(uint32_t), size = sizeof(guildhall_marks) + words;
    guildhall_marks *marks = guildhall_block_take(size);
    if (!marks) return NULL;
    *marks = (guildhall_marks){format, codec, (uint32_t)from, (uint32_t)notes->marks.count};
    if (words) memcpy(marks->words, notes->marks.words, words);
    return marks;
}

/* May run Ruby code, which may raise: nothing is left to free by then. Of a scalar's payload there are no marks. */
static VALUE scalar(const guildhall_payload *payload, guildhall_spot at)
{
    guildhall_marks without = *payload->marks;
    guildhall_payload last = *payload;
    last.marks = &without;
    guildhall_block_give(payload->marks, size_of(payload->marks));
    return without.format->build(&last, at);
}

VALUE guildhall_document_new(VALUE owner, const uint8_t *bytes, size_t length, guildhall_marks *marks)
{
    guildhall_payload payload = {.bytes = bytes, .length = length, .marks = marks, .indexes = {.marks = marks->count}};
    guildhall_spot at = {marks->from, 0, 0};
    guildhall_kind kind = marks->format->resolve(&payload, &at);
    if (kind == GUILDHALL_SCALAR) {
        VALUE value = scalar(&payload, at);
        RB_GC_GUARD(owner);
        return value;
    }
    root_document *root;
    VALUE made = TypedData_Make_Struct(class_of(marks, kind), root_document, &type, root);
    root->document.spot = at;
    root->payload = payload;
    RB_OBJ_WRITE(made, &root->payload.owner, owner);
    RB_OBJ_WRITTEN(made, Qundef, marks->format->codec_object(marks->codec));
    guildhall_share(made);
    guildhall_adopt_memory(size_of(marks));
    RB_GC_GUARD(made);
    return made;
}

guildhall_decoded guildhall_document_decoded(guildhall_marks *marks, guildhall_result *result)
{
    *result = (guildhall_result){.data = marks, .size = size_of(marks)};
    return GUILDHALL_DECODED;
}

VALUE guildhall_document_wrap(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes,
                              size_t length)
{
    guildhall_marks *marks = result->data;
    result->data = NULL;
    return guildhall_document_new(owner, bytes, length, marks);
}

void guildhall_document_free(const void *context, guildhall_result *result)
{
    if (result->data) guildhall_block_give(result->data, result->size);
    result->data = NULL;
}

void guildhall_init_documents(VALUE under, guildhall_document_format *format)
{
    VALUE document_class = rb_define_class_under(under, "Document", rb_cObject);
    format->map_class = rb_define_class_under(under, "MapDocument", document_class);
    format->array_class = rb_define_class_under(under, "ArrayDocument", document_class);
    rb_undef_alloc_func(document_class);
    rb_undef_method(CLASS_OF(document_class), "new");
    rb_gc_register_mark_object(format->map_class);
    rb_gc_register_mark_object(format->array_class);
    guildhall_init_document_view(document_class, format->map_class, format->array_class);
}
