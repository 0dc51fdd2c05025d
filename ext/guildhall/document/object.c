/* The life of a Document: made, marked, measured, freed.
 *
 * The garbage collector sees one object a payload, whatever its size. The object pins what owns the bytes;
 * sub-documents pin the root Document.
 */
#include <ruby.h>
#include <string.h>
#include "any.h"
#include "memory/block_pool.h"
#include "memory/gc_block.h"
#include "object.h"
#include "values/frozen.h"

typedef struct {
    VALUE root;     /* the Document that holds the payload; 0 in that one itself */
    guildhall_position position;
} document;

typedef struct {
    document document;
    guildhall_payload payload;
} root_document;

/* Pins on purpose, as the next one: pointers into the owner's bytes and into the root are kept. */
static void document_mark(void *pointer)
{
    const guildhall_payload *payload = &((const root_document *)pointer)->payload;
    if (payload->owner) rb_gc_mark(payload->owner);
    if (payload->index) rb_gc_mark(payload->index->codec->self);
}

static void document_mark_root(void *pointer)
{
    VALUE root = ((const document *)pointer)->root;
    if (root) rb_gc_mark(root);
}

static void document_release(void *pointer)
{
    guildhall_payload *payload = &((root_document *)pointer)->payload;
    guildhall_key_indexes_release(&payload->key_indexes);
    if (payload->index) guildhall_gc_block_release(payload->index, guildhall_structural_index_size(payload->index));
}

static size_t document_memsize(const void *pointer)
{
    guildhall_payload *payload = &((root_document *)pointer)->payload;
    return guildhall_block_bytes(guildhall_structural_index_size(payload->index)) + guildhall_key_indexes_size(&payload->key_indexes);
}

/* EMBEDDABLE: compaction may move the struct, so nothing keeps a pointer into it but what pins the object.
 * WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::Document",
    {document_mark, document_release, document_memsize, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of sub-documents: nothing is freed but the slot. */
static const rb_data_type_t sub_type = {
    "Guildhall::Document",
    {document_mark_root, RUBY_TYPED_DEFAULT_FREE, NULL, NULL, {0}},
    &type, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

guildhall_cursor guildhall_document_read(VALUE self)
{
    document *shown = rb_check_typeddata(self, &type);
    root_document *root = shown->root ? RTYPEDDATA_GET_DATA(shown->root) : (root_document *)shown;
    return (guildhall_cursor){self, &root->payload, shown->position};
}

static VALUE document_class_of(const guildhall_structural_index *index, guildhall_kind kind)
{
    return kind == GUILDHALL_MAP ? index->codec->format->map_class : index->codec->format->array_class;
}

static VALUE document_sub_document(VALUE around, guildhall_position at, VALUE class)
{
    VALUE root = ((document *)RTYPEDDATA_GET_DATA(around))->root;
    document *shown;
    VALUE made = TypedData_Make_Struct(class, document, &sub_type, shown);
    shown->position = at;
    RB_OBJ_WRITE(made, &shown->root, root ? root : around);
    return guildhall_share(made);
}

VALUE guildhall_document_value(guildhall_cursor cursor, guildhall_position at)
{
    VALUE document = cursor.document, value;
    guildhall_position given = at;
    const guildhall_structural_index *index = cursor.payload->index;
    guildhall_kind kind = index->codec->format->resolve(cursor.payload, &at);
    if (kind == GUILDHALL_SCALAR) value = index->codec->format->build(cursor.payload, at);
    else value = document_sub_document(document, at, document_class_of(index, kind));
    if (kind == GUILDHALL_MAP && index->codec->format->inside) value = index->codec->format->inside(cursor.payload, given, at, value);
    RB_GC_GUARD(document);
    return value;
}

/* May run Ruby code, which may raise: nothing is left to free by then. Of a scalar's payload no index is left. */
static VALUE document_scalar(const guildhall_payload *payload, guildhall_position at)
{
    guildhall_structural_index without = *payload->index;
    guildhall_payload last = *payload;
    last.index = &without;
    guildhall_block_give(payload->index, guildhall_structural_index_size(payload->index));
    return without.codec->format->build(&last, at);
}

VALUE guildhall_document_new(VALUE owner, const uint8_t *bytes, size_t length, guildhall_structural_index *index)
{
    guildhall_payload payload = {.bytes = bytes, .length = length, .index = index, .key_indexes = {.entries = index->count}};
    guildhall_position at = {index->from, 0, 0};
    guildhall_kind kind = index->codec->format->resolve(&payload, &at);
    if (kind == GUILDHALL_SCALAR) {
        VALUE value = document_scalar(&payload, at);
        RB_GC_GUARD(owner);
        return value;
    }
    root_document *root;
    VALUE made = TypedData_Make_Struct(document_class_of(index, kind), root_document, &type, root);
    root->document.position = at;
    root->payload = payload;
    RB_OBJ_WRITE(made, &root->payload.owner, owner);
    RB_OBJ_WRITTEN(made, Qundef, index->codec->self);
    guildhall_share(made);
    guildhall_gc_block_adopt(guildhall_structural_index_size(index));
    RB_GC_GUARD(made);
    return made;
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
