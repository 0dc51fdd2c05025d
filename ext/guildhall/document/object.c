/* The life of a Document: made, marked, measured, freed.
 *
 * The garbage collector sees one object a payload, whatever its size. The object pins what owns the bytes; sub-documents
 * pin the root Document. A short index lies in the object's own slot, a longer one in one block with the struct.
 */
#include <ruby.h>
#include <string.h>
#include "any.h"
#include "assumptions.h"
#include "memory/block_pool.h"
#include "memory/gc_block.h"
#include "object.h"
#include "values/frozen.h"

typedef guildhall_root_document root_document;

/* Pins on purpose, as the next one: pointers into the owner's bytes are kept. */
static void document_mark(void *pointer)
{
    const root_document *root = pointer;
    if (root->owner) rb_gc_mark(root->owner);
    if (root->codec) rb_gc_mark(root->codec->self);
}

static void document_mark_root(void *pointer)
{
    VALUE root = ((const guildhall_document *)pointer)->root;
    if (root) rb_gc_mark(root);
}

size_t guildhall_document_bytes(const root_document *root) { return sizeof *root + root->size; }

static void document_release(void *pointer)
{
    root_document *root = pointer;
    guildhall_key_indexes_release(&root->key_indexes);
    if (root->document.on_heap) guildhall_gc_block_release(root, guildhall_document_bytes(root));
}

static size_t document_memsize(const void *pointer)
{
    const root_document *root = pointer;
    size_t size = guildhall_key_indexes_size(&root->key_indexes);
    return size + (root->document.on_heap ? guildhall_block_bytes(guildhall_document_bytes(root)) : 0);
}

/* EMBEDDABLE: compaction may move the struct, so nothing keeps a pointer into it but what pins the object.
 * WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::Document",
    {document_mark, document_release, document_memsize},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of sub-documents: nothing is freed but the slot. */
static const rb_data_type_t sub_type = {
    "Guildhall::Document",
    {document_mark_root, RUBY_TYPED_DEFAULT_FREE, NULL},
    &type, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of a struct on the heap, which Ruby does not take for an embeddable type. */
static const rb_data_type_t heap_type = {
    "Guildhall::Document",
    {document_mark, document_release, document_memsize},
    &type, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE};

int guildhall_document_of_format(VALUE object, const guildhall_document_format *format)
{
    return rb_typeddata_is_kind_of(object, &type) && guildhall_document_self(object).view.codec->format == format;
}

static VALUE document_class_of(const guildhall_codec *codec, guildhall_kind kind)
{
    return kind == GUILDHALL_MAP ? codec->format->map_class : codec->format->array_class;
}

/* A new object needs no write barrier: it is young, and nothing has marked it. */
VALUE guildhall_document_inside(VALUE root, guildhall_position at, guildhall_kind kind)
{
    const guildhall_codec *codec = ((const root_document *)RTYPEDDATA_GET_DATA(root))->codec;
    VALUE made = rb_data_typed_object_zalloc(document_class_of(codec, kind), sizeof(guildhall_document), &sub_type);
    guildhall_document *document = RTYPEDDATA_GET_DATA(made);
    document->root = root;
    document->position = at;
    return guildhall_share(made);
}

static void document_fill(root_document *root, const guildhall_codec *codec, guildhall_position at, const guildhall_index *index)
{
    *root = (root_document){.document = {.position = at, .deduplicated = (unsigned)index->deduplicated}, .codec = codec,
                            .size = (uint32_t)index->size, .key_indexes = {.entries = index->pairs}};
    if (index->size) memcpy(root + 1, index->entries, index->size);
}

static void document_show(root_document *root, VALUE owner, const uint8_t *bytes, size_t length)
{
    root->owner = owner;
    root->bytes = bytes;
    root->length = (uint32_t)length;
}

VALUE guildhall_document_new(const guildhall_codec *codec, VALUE owner, size_t from, const guildhall_index *index)
{
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(owner);
    size_t length = (size_t)RSTRING_LEN(owner), size = sizeof(root_document) + index->size;
    guildhall_view view = {codec, bytes, length, index->entries, NULL};
    guildhall_position at = {(uint32_t)from, 0, 0};
    guildhall_kind kind = codec->format->resolve(&view, &at);
    if (kind == GUILDHALL_SCALAR) return codec->format->build(&view, at);
    VALUE class = document_class_of(codec, kind), made = 0;
    root_document *root;
    if (size <= guildhall_embedded_bytes) {
        made = rb_data_typed_object_zalloc(class, size, &type);
        root = RTYPEDDATA_GET_DATA(made);
    } else {
        root = guildhall_gc_block_new(size);
    }
    document_fill(root, codec, at, index);
    document_show(root, owner, bytes, length);
    if (!made) {
        root->document.on_heap = 1;
        made = rb_data_typed_object_wrap(class, root, &heap_type);
    }
    RB_GC_GUARD(owner);
    return guildhall_share(made);
}

root_document *guildhall_document_block(const guildhall_codec *codec, size_t from, const guildhall_index *index)
{
    root_document *root = index->size > UINT32_MAX ? NULL : guildhall_block_take(sizeof *root + index->size);
    if (!root) return NULL;
    document_fill(root, codec, (guildhall_position){(uint32_t)from, 0, 0}, index);
    root->document.on_heap = 1;
    return root;
}

VALUE guildhall_document_adopt(void **block, VALUE owner, const uint8_t *bytes, size_t length)
{
    root_document *root = *block;
    size_t size = guildhall_document_bytes(root);
    guildhall_view view = {root->codec, bytes, length, root + 1, NULL};
    guildhall_kind kind = root->codec->format->resolve(&view, &root->document.position);
    document_show(root, owner, bytes, length);
    guildhall_gc_block_adopt(size); /* before the block changes hands: it may raise */
    VALUE made = guildhall_share(rb_data_typed_object_wrap(document_class_of(root->codec, kind), root, &heap_type));
    *block = NULL;
    RB_GC_GUARD(owner);
    return made;
}

VALUE guildhall_document_build(const root_document *root, const uint8_t *bytes, size_t length)
{
    guildhall_view view = {root->codec, bytes, length, root + 1, NULL};
    guildhall_position at = root->document.position;
    root->codec->format->resolve(&view, &at);
    return root->codec->format->build(&view, at);
}

bool guildhall_document_scalar_p(const guildhall_codec *codec, const uint8_t *bytes, size_t from, size_t length, const guildhall_index *index)
{
    guildhall_view view = {codec, bytes, length, index->entries, NULL};
    guildhall_position at = {(uint32_t)from, 0, 0};
    return codec->format->resolve(&view, &at) == GUILDHALL_SCALAR;
}

VALUE guildhall_init_documents(VALUE under, guildhall_document_format *format, const char *map_name)
{
    VALUE document_class = rb_define_class_under(under, "Document", rb_cObject);
    format->map_class = rb_define_class_under(under, map_name, document_class);
    format->array_class = rb_define_class_under(under, "ArrayDocument", document_class);
    rb_undef_alloc_func(document_class);
    rb_undef_method(CLASS_OF(document_class), "new");
    rb_gc_register_mark_object(format->map_class);
    rb_gc_register_mark_object(format->array_class);
    return document_class;
}
