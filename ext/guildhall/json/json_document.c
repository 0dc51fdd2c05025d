/* The life of a Document: made, marked, measured, freed.
 *
 * The garbage collector sees one object a text, whatever its size. The object pins what owns the bytes; sub-documents
 * pin the root Document. A short tape lies in the object's own slot, a longer one in one block with the struct.
 */
#include <ruby.h>
#include <ruby/ractor.h>
#include "../document/blocks.h"
#include "../document/document_memory.h"
#include "../init.h"
#include "../values.h"
#include "json_build.h"
#include "json_document.h"
#include "json_index.h"

#define SLOT_BYTES 640  /* the largest slot of the garbage collector */
#define SLOT_HEADER 48  /* of a T_DATA object, generously */

static VALUE object_class, array_class;

/* Pins on purpose, as the next one: pointers into the owner's bytes are kept. */
static void mark(void *pointer)
{
    const guildhall_json_text *text = &((const guildhall_json_root *)pointer)->text;
    if (text->owner) rb_gc_mark(text->owner);
    if (text->codec) rb_gc_mark(text->codec->self);
}

static void mark_root(void *pointer)
{
    VALUE root = ((const guildhall_json_document *)pointer)->root;
    if (root) rb_gc_mark(root);
}

static size_t nodes_size(const guildhall_json_text *text) { return text->count * sizeof(guildhall_json_node); }

/* Of struct and nodes in one block. */
static size_t heap_size(const guildhall_json_text *text) { return sizeof(guildhall_json_root) + nodes_size(text); }

static void release(void *pointer)
{
    guildhall_json_root *root = pointer;
    guildhall_json_text *text = &root->text;
    if (root->index) {
        rb_gc_adjust_memory_usage(-(ssize_t)guildhall_json_index_size(root->index));
        guildhall_json_index_free(root->index);
    }
    if (text->off_heap) guildhall_release_memory(text->nodes, nodes_size(text));
    if (text->on_heap) guildhall_release_memory(root, heap_size(text));
}

static size_t memsize(const void *pointer)
{
    const guildhall_json_root *root = pointer;
    const guildhall_json_index *index = __atomic_load_n(&root->index, __ATOMIC_ACQUIRE);
    size_t size = index ? guildhall_json_index_size(index) : 0;
    if (root->text.on_heap) return size + guildhall_block_bytes(heap_size(&root->text));
    return size + (root->text.off_heap ? guildhall_block_bytes(nodes_size(&root->text)) : 0);
}

/* EMBEDDABLE: compaction may move the struct, so nothing keeps a pointer into it but what pins the object.
 * WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::JSON::Document",
    {mark, release, memsize, NULL, {0}},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of sub-documents: nothing is freed but the slot. */
static const rb_data_type_t sub_type = {
    "Guildhall::JSON::Document",
    {mark_root, RUBY_TYPED_DEFAULT_FREE, NULL, NULL, {0}},
    &type, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

/* Of a struct on the heap, which Ruby does not take for an embeddable type. */
static const rb_data_type_t heap_type = {
    "Guildhall::JSON::Document",
    {mark, release, memsize, NULL, {0}},
    &type, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE};

int guildhall_json_document_p(VALUE object) { return rb_typeddata_is_kind_of(object, &type); }

static VALUE class_of(guildhall_json_node node)
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

static inline guildhall_json_view view_of(const guildhall_json_text *text, const guildhall_json_node *nodes)
{
    return (guildhall_json_view){text->bytes, text->bytes + text->length, nodes};
}

/* Walking is cheaper until it has passed so many children; then making the index costs no more than what was spent. */
static uint32_t walks_before_index(const guildhall_json_root *root) { return root->text.count * 4 + 512; }

/* Several Ractors may make one at the same time: the first is kept. */
static const guildhall_json_index *publish_index(guildhall_json_root *root, guildhall_json_view view)
{
    guildhall_json_index *made = guildhall_json_index_new(view, root->text.count, (uint64_t)(uintptr_t)root), *none = NULL;
    if (!made) return NULL;
    if (__atomic_compare_exchange_n(&root->index, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        rb_gc_adjust_memory_usage((ssize_t)guildhall_json_index_size(made));
        return made;
    }
    guildhall_json_index_free(made);
    return none;
}

/* The index, when there is one or it is time to make it. `walk`: what would be walked past without. */
static const guildhall_json_index *index_for(const guildhall_json_cursor *cursor, uint32_t walk)
{
    guildhall_json_root *root = RTYPEDDATA_GET_DATA(cursor->root);
    const guildhall_json_index *index = __atomic_load_n(&root->index, __ATOMIC_ACQUIRE);
    if (index) return index;
    uint32_t walked = __atomic_add_fetch(&root->text.walked, walk, __ATOMIC_RELAXED);
    if (walked < walks_before_index(root)) return NULL;
    __atomic_store_n(&root->text.walked, 0, __ATOMIC_RELAXED); /* without memory for it, not at once again */
    return publish_index(root, cursor->view);
}

uint32_t guildhall_json_document_member(const guildhall_json_cursor *cursor, uint32_t container, const uint8_t *key,
                                        size_t length)
{
    uint32_t count = guildhall_json_length(cursor->view.nodes[container]);
    if (count > GUILDHALL_JSON_SMALL) {
        const guildhall_json_index *index = index_for(cursor, count);
        if (index) return guildhall_json_index_member(index, cursor->view, container, key, length);
    }
    return guildhall_json_find(cursor->view, container, key, length);
}

uint32_t guildhall_json_document_element(const guildhall_json_cursor *cursor, uint32_t container, uint32_t position)
{
    const guildhall_json_node *nodes = cursor->view.nodes;
    uint32_t count = guildhall_json_length(nodes[container]), index = container + 1;
    if (position >= count) return 0;
    if (guildhall_json_offset(nodes[container]) - index == count) return index + position; /* no containers inside */
    if (position > GUILDHALL_JSON_SMALL) {
        const guildhall_json_index *made = index_for(cursor, position);
        if (made) return guildhall_json_index_element(made, cursor->view, container, position);
    }
    while (position--) index = guildhall_json_next(nodes, index);
    return index;
}

/* A new object needs no write barrier: it is young, and nothing has marked it. */
static VALUE sub_document(VALUE root, uint32_t index, guildhall_json_node node)
{
    VALUE made = rb_data_typed_object_zalloc(class_of(node), sizeof(guildhall_json_document), &sub_type);
    guildhall_json_document *document = RTYPEDDATA_GET_DATA(made);
    document->root = root;
    document->index = index;
    return guildhall_share(made);
}

VALUE guildhall_json_document_value(const guildhall_json_cursor *cursor, uint32_t index)
{
    guildhall_json_node node = cursor->view.nodes[index];
    if (guildhall_json_is_container(node)) return sub_document(cursor->root, index, node);
    return guildhall_json_scalar(cursor->codec, cursor->view, node);
}

static VALUE in_slot(VALUE klass, const guildhall_json_text *text, const guildhall_json_node *nodes, size_t size)
{
    VALUE made = rb_data_typed_object_zalloc(klass, sizeof(guildhall_json_root) + size, &type);
    guildhall_json_root *root = RTYPEDDATA_GET_DATA(made);
    root->text = *text;
    if (size) memcpy(root->embedded, nodes, size);
    return guildhall_share(made);
}

/* One block for struct and nodes, and the smallest of slots for the object. */
static VALUE on_heap(VALUE klass, const guildhall_json_text *text, const guildhall_json_node *nodes, size_t size)
{
    guildhall_json_root *root = guildhall_memory_new(heap_size(text));
    *root = (guildhall_json_root){.text = *text};
    root->text.on_heap = 1;
    memcpy(root->embedded, nodes, size);
    return guildhall_share(rb_data_typed_object_wrap(klass, root, &heap_type));
}

VALUE guildhall_json_document_new(const guildhall_json_codec *codec, guildhall_json_text text,
                                  const guildhall_json_node *nodes)
{
    if (!guildhall_json_is_container(nodes[0])) return guildhall_json_scalar(codec, view_of(&text, nodes), nodes[0]);
    size_t size = nodes_size(&text);
    int fits = size + sizeof(guildhall_json_root) + SLOT_HEADER <= SLOT_BYTES;
    text.codec = codec;
    VALUE made = (fits ? in_slot : on_heap)(class_of(nodes[0]), &text, nodes, size);
    RB_GC_GUARD(text.owner);
    return made;
}

VALUE guildhall_json_document_adopt(const guildhall_json_codec *codec, guildhall_json_text text)
{
    guildhall_json_node *nodes = text.nodes;
    if (!guildhall_json_is_container(nodes[0])) {
        VALUE value = guildhall_json_scalar(codec, view_of(&text, nodes), nodes[0]);
        guildhall_block_give(nodes, nodes_size(&text));
        return value;
    }
    text.off_heap = 1;
    text.codec = codec;
    VALUE made = in_slot(class_of(nodes[0]), &text, NULL, 0);
    guildhall_adopt_memory(nodes_size(&text));
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
