/* The life of a Document: made, marked, measured, freed.
 *
 * The garbage collector sees one object a text, whatever its size. The object pins what owns the bytes; sub-documents
 * pin the root Document. A short tape lies in the object's own slot, a longer one in one block with the struct.
 */
#include <ruby.h>
#include <ruby/ractor.h>
#include "assumptions.h"
#include "build.h"
#include "document.h"
#include "document/any.h"
#include "index.h"
#include "init.h"
#include "memory/block_pool.h"
#include "memory/gc_block.h"
#include "values/frozen.h"

static VALUE object_class, array_class;

/* Pins on purpose, as the next one: pointers into the owner's bytes are kept. */
static void json_document_mark(void *pointer)
{
    const guildhall_json_text *text = &((const guildhall_json_root *)pointer)->text;
    if (text->owner) rb_gc_mark(text->owner);
    if (text->codec) rb_gc_mark(text->codec->self);
}

static void json_document_mark_root(void *pointer)
{
    VALUE root = ((const guildhall_json_document *)pointer)->root;
    if (root) rb_gc_mark(root);
}

static size_t json_document_nodes_size(const guildhall_json_text *text) { return text->count * sizeof(guildhall_json_node); }

/* Of struct and nodes in one block. */
static size_t json_document_heap_size(const guildhall_json_text *text) { return sizeof(guildhall_json_root) + json_document_nodes_size(text); }

static void json_document_release(void *pointer)
{
    guildhall_json_root *root = pointer;
    guildhall_json_text *text = &root->text;
    guildhall_key_indexes_release(&root->key_indexes);
    if (text->off_heap) guildhall_gc_block_release(text->nodes, json_document_nodes_size(text));
    if (text->on_heap) guildhall_gc_block_release(root, json_document_heap_size(text));
}

static size_t json_document_memsize(const void *pointer)
{
    const guildhall_json_root *root = pointer;
    size_t size = guildhall_key_indexes_size(&root->key_indexes);
    if (root->text.on_heap) return size + guildhall_block_bytes(json_document_heap_size(&root->text));
    return size + (root->text.off_heap ? guildhall_block_bytes(json_document_nodes_size(&root->text)) : 0);
}

/* EMBEDDABLE: compaction may move the struct, so nothing keeps a pointer into it but what pins the object.
 * WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::JSON::Document",
    {json_document_mark, json_document_release, json_document_memsize, NULL, {0}},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of sub-documents: nothing is freed but the slot. */
static const rb_data_type_t sub_type = {
    "Guildhall::JSON::Document",
    {json_document_mark_root, RUBY_TYPED_DEFAULT_FREE, NULL, NULL, {0}},
    &type, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of a struct on the heap, which Ruby does not take for an embeddable type. */
static const rb_data_type_t heap_type = {
    "Guildhall::JSON::Document",
    {json_document_mark, json_document_release, json_document_memsize, NULL, {0}},
    &type, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE};

int guildhall_json_document_p(VALUE object) { return rb_typeddata_is_kind_of(object, &type); }

static VALUE json_document_class_of(guildhall_json_node node)
{
    return guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT ? object_class : array_class;
}

guildhall_json_cursor guildhall_json_document_read(VALUE self)
{
    rb_check_typeddata(self, &type);
    return guildhall_json_document_self(self);
}

const guildhall_json_text *guildhall_json_document_text(VALUE self)
{
    VALUE root = guildhall_json_document_read(self).root;
    return &((const guildhall_json_root *)RTYPEDDATA_GET_DATA(root))->text;
}

static inline guildhall_json_view json_document_view_of(const guildhall_json_text *text, const guildhall_json_node *nodes)
{
    return (guildhall_json_view){text->bytes, text->bytes + text->length, nodes};
}

uint32_t guildhall_json_document_member(const guildhall_json_cursor *cursor, uint32_t container, const uint8_t *key,
                                        size_t length)
{
    guildhall_key_indexes *indexes = &((guildhall_json_root *)RTYPEDDATA_GET_DATA(cursor->root))->key_indexes;
    uint32_t found = guildhall_json_member(cursor->view, indexes, container, key, length);
    guildhall_key_indexes_report(indexes);
    return found;
}

uint32_t guildhall_json_document_element(const guildhall_json_cursor *cursor, uint32_t container, uint32_t position)
{
    guildhall_key_indexes *indexes = &((guildhall_json_root *)RTYPEDDATA_GET_DATA(cursor->root))->key_indexes;
    uint32_t found = guildhall_json_element(cursor->view, indexes, container, position);
    guildhall_key_indexes_report(indexes);
    return found;
}

/* A new object needs no write barrier: it is young, and nothing has marked it. */
static VALUE json_document_sub_document(VALUE root, uint32_t index, guildhall_json_node node)
{
    VALUE made = rb_data_typed_object_zalloc(json_document_class_of(node), sizeof(guildhall_json_document), &sub_type);
    guildhall_json_document *document = RTYPEDDATA_GET_DATA(made);
    document->root = root;
    document->index = index;
    return guildhall_share(made);
}

VALUE guildhall_json_document_value(const guildhall_json_cursor *cursor, uint32_t index)
{
    guildhall_json_node node = cursor->view.nodes[index];
    if (guildhall_json_is_container(node)) return json_document_sub_document(cursor->root, index, node);
    return guildhall_json_scalar(cursor->codec, cursor->view, node);
}

static VALUE json_document_in_slot(VALUE klass, const guildhall_json_text *text, const guildhall_json_node *nodes, size_t size)
{
    VALUE made = rb_data_typed_object_zalloc(klass, sizeof(guildhall_json_root) + size, &type);
    guildhall_json_root *root = RTYPEDDATA_GET_DATA(made);
    root->text = *text;
    root->key_indexes = guildhall_json_indexes(text->count);
    if (size) memcpy(root->embedded, nodes, size);
    return guildhall_share(made);
}

/* One block for struct and nodes, and the smallest of slots for the object. */
static VALUE json_document_on_heap(VALUE klass, const guildhall_json_text *text, const guildhall_json_node *nodes, size_t size)
{
    guildhall_json_root *root = guildhall_gc_block_new(json_document_heap_size(text));
    *root = (guildhall_json_root){.text = *text, .key_indexes = guildhall_json_indexes(text->count)};
    root->text.on_heap = 1;
    memcpy(root->embedded, nodes, size);
    return guildhall_share(rb_data_typed_object_wrap(klass, root, &heap_type));
}

VALUE guildhall_json_document_new(const guildhall_json_codec *codec, guildhall_json_text text,
                                  const guildhall_json_node *nodes)
{
    if (!guildhall_json_is_container(nodes[0])) return guildhall_json_scalar(codec, json_document_view_of(&text, nodes), nodes[0]);
    size_t size = json_document_nodes_size(&text);
    int fits = size + sizeof(guildhall_json_root) <= guildhall_embedded_bytes;
    text.codec = codec;
    VALUE made = (fits ? json_document_in_slot : json_document_on_heap)(json_document_class_of(nodes[0]), &text, nodes, size);
    RB_GC_GUARD(text.owner);
    return made;
}

VALUE guildhall_json_document_adopt(const guildhall_json_codec *codec, guildhall_json_text text)
{
    guildhall_json_node *nodes = text.nodes;
    if (!guildhall_json_is_container(nodes[0])) {
        VALUE value = guildhall_json_scalar(codec, json_document_view_of(&text, nodes), nodes[0]);
        guildhall_block_give(nodes, json_document_nodes_size(&text));
        return value;
    }
    text.off_heap = 1;
    text.codec = codec;
    VALUE made = json_document_in_slot(json_document_class_of(nodes[0]), &text, NULL, 0);
    guildhall_gc_block_adopt(json_document_nodes_size(&text));
    RB_GC_GUARD(made);
    return made;
}

void guildhall_init_json_document(VALUE json)
{
    VALUE document_class = rb_define_class_under(json, "Document", rb_cObject);
    object_class = rb_define_class_under(json, "ObjectDocument", document_class);
    array_class = rb_define_class_under(json, "ArrayDocument", document_class);
    rb_undef_alloc_func(document_class);
    rb_undef_alloc_func(object_class);
    rb_undef_alloc_func(array_class);
    rb_undef_method(CLASS_OF(document_class), "new");
    rb_gc_register_mark_object(object_class);
    rb_gc_register_mark_object(array_class);
    guildhall_init_json_read(document_class, object_class, array_class);
}
