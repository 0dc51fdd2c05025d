/* The life of a Document: made, marked, measured, freed.
 *
 * The garbage collector sees one object a text, whatever its size. The object pins what owns the bytes; sub-documents
 * pin the root Document. A short tape lies in the object's own slot, a longer one on the heap.
 */
#include <ruby.h>
#include <ruby/ractor.h>
#include <stdlib.h>
#include "../init.h"
#include "../values.h"
#include "json_build.h"
#include "json_document.h"

#define SLOT_BYTES 640  /* the largest slot of the garbage collector */
#define SLOT_HEADER 48  /* of a T_DATA object, generously */

typedef struct {
    guildhall_json_document document;
    guildhall_json_text text;
    guildhall_json_node embedded[];
} root_document;

static VALUE object_class, array_class;

/* Pins on purpose: pointers into the owner's bytes and into the root are kept. */
static void mark(void *pointer)
{
    const guildhall_json_document *document = pointer;
    if (document->root) {
        rb_gc_mark(document->root);
    } else {
        const guildhall_json_text *text = &((const root_document *)pointer)->text;
        if (text->owner) rb_gc_mark(text->owner);
        if (text->codec) rb_gc_mark(text->codec->self);
    }
}

static size_t nodes_size(const guildhall_json_text *text) { return text->count * sizeof(guildhall_json_node); }

static void release(void *pointer)
{
    const guildhall_json_document *document = pointer;
    if (document->root) return;
    guildhall_json_text *text = &((root_document *)pointer)->text;
    if (!text->nodes) return;
    if (text->off_heap) {
        free(text->nodes);
        rb_gc_adjust_memory_usage(-(ssize_t)nodes_size(text));
    } else {
        ruby_xfree(text->nodes);
    }
}

static size_t memsize(const void *pointer)
{
    const guildhall_json_document *document = pointer;
    if (document->root) return 0;
    const guildhall_json_text *text = &((const root_document *)pointer)->text;
    return text->nodes ? nodes_size(text) : 0;
}

/* EMBEDDABLE: compaction may move the struct, so nothing keeps a pointer into it but what pins the object.
 * WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::JSON::Document",
    {mark, release, memsize, NULL, {0}},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_EMBEDDABLE};

int guildhall_json_document_p(VALUE object) { return rb_typeddata_is_kind_of(object, &type); }

static VALUE class_of(guildhall_json_node node)
{
    return guildhall_json_type_of(node) == GUILDHALL_JSON_OBJECT ? object_class : array_class;
}

static inline const root_document *root_of(VALUE self, const guildhall_json_document **document)
{
    *document = rb_check_typeddata(self, &type);
    return (*document)->root ? RTYPEDDATA_GET_DATA((*document)->root) : (const root_document *)*document;
}

guildhall_json_cursor guildhall_json_document_read(VALUE self)
{
    const guildhall_json_document *document;
    const root_document *root = root_of(self, &document);
    const guildhall_json_node *nodes = root->text.nodes ? root->text.nodes : root->embedded;
    return (guildhall_json_cursor){{root->text.bytes, nodes}, document->index, root->text.codec};
}

static VALUE sub_document(VALUE self, uint32_t index, guildhall_json_node node)
{
    const guildhall_json_document *around = rb_check_typeddata(self, &type);
    VALUE root = around->root ? around->root : self;
    VALUE made = rb_data_typed_object_zalloc(class_of(node), sizeof(guildhall_json_document), &type);
    guildhall_json_document *document = RTYPEDDATA_GET_DATA(made);
    document->index = index;
    RB_OBJ_WRITE(made, &document->root, root);
    return guildhall_share(made);
}

VALUE guildhall_json_document_value(VALUE self, uint32_t index)
{
    guildhall_json_cursor cursor = guildhall_json_document_read(self);
    guildhall_json_node node = cursor.view.nodes[index];
    VALUE value = guildhall_json_is_container(node) ? sub_document(self, index, node)
                                                    : guildhall_json_scalar(cursor.codec, cursor.view, node);
    RB_GC_GUARD(self);
    return value;
}

static VALUE root_new(const guildhall_json_codec *codec, VALUE owner, guildhall_json_node root, size_t embedded,
                      guildhall_json_text text)
{
    VALUE made = rb_data_typed_object_zalloc(class_of(root), sizeof(root_document) + embedded, &type);
    root_document *document = RTYPEDDATA_GET_DATA(made);
    document->text = text;
    document->text.codec = codec;
    document->text.nodes = NULL;
    RB_OBJ_WRITE(made, &document->text.owner, owner);
    RB_OBJ_WRITTEN(made, Qundef, codec->self);
    return guildhall_share(made);
}

VALUE guildhall_json_document_new(const guildhall_json_codec *codec, VALUE owner, const uint8_t *bytes, size_t length,
                                  const guildhall_json_node *nodes, uint32_t count)
{
    if (!guildhall_json_is_container(nodes[0])) {
        return guildhall_json_scalar(codec, (guildhall_json_view){bytes, nodes}, nodes[0]);
    }
    size_t size = count * sizeof *nodes;
    int embed = size + sizeof(root_document) + SLOT_HEADER <= SLOT_BYTES;
    guildhall_json_text text = {.bytes = bytes, .length = length, .count = count};
    VALUE made = root_new(codec, owner, nodes[0], embed ? size : 0, text);
    root_document *document = RTYPEDDATA_GET_DATA(made);
    if (embed) {
        memcpy(document->embedded, nodes, size);
    } else {
        guildhall_json_node *copy = ruby_xmalloc(size);
        memcpy(copy, nodes, size);
        document->text.nodes = copy;
    }
    return made;
}

/* Memory that malloc made is reported, but a report alone never starts a collection: only Ruby's own allocation
 * looks at the limit. So every thread makes one after each MiB that it reported. */
#define REPORTED_BETWEEN_LOOKS ((size_t)1 << 20)

static void report(size_t size)
{
    static __thread size_t reported;
    rb_gc_adjust_memory_usage((ssize_t)size);
    reported += size;
    if (reported < REPORTED_BETWEEN_LOOKS) return;
    reported = 0;
    ruby_xfree(ruby_xmalloc(1));
}

VALUE guildhall_json_document_adopt(const guildhall_json_codec *codec, VALUE owner, const uint8_t *bytes,
                                    size_t length, guildhall_json_node *nodes, uint32_t count)
{
    if (!guildhall_json_is_container(nodes[0])) {
        VALUE value = guildhall_json_scalar(codec, (guildhall_json_view){bytes, nodes}, nodes[0]);
        free(nodes);
        return value;
    }
    guildhall_json_text text = {.bytes = bytes, .length = length, .count = count, .off_heap = 1};
    VALUE made = root_new(codec, owner, nodes[0], 0, text);
    root_document *document = RTYPEDDATA_GET_DATA(made);
    document->text.nodes = nodes;
    report(count * sizeof *nodes);
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
