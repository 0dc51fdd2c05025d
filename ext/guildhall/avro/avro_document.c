/* The life of a Document: made, marked, measured, freed; and what stands in its payload as Ruby values.
 *
 * The garbage collector sees one object a payload, whatever its size. The object pins what owns the bytes;
 * sub-documents pin the root Document.
 */
#include <ruby.h>
#include <stdlib.h>
#include "../document_memory.h"
#include "../values.h"
#include "avro_document.h"

typedef struct {
    VALUE root;     /* the Document that holds the payload; 0 in that one itself */
    guildhall_avro_spot spot;
} document;

typedef struct {
    document document;
    guildhall_avro_payload payload;
} root_document;

static VALUE map_class, array_class;

/* Pins on purpose: pointers into the owner's bytes and into the root are kept. */
static void mark(void *pointer)
{
    const document *document = pointer;
    if (document->root) {
        rb_gc_mark(document->root);
        return;
    }
    const guildhall_avro_payload *payload = &((const root_document *)pointer)->payload;
    if (payload->owner) rb_gc_mark(payload->owner);
    if (payload->marks) rb_gc_mark(payload->marks->codec->self);
}

static size_t marks_size(const guildhall_avro_payload *payload)
{
    return payload->marks ? guildhall_avro_marks_size(payload->marks->count) : 0;
}

static void release(void *pointer)
{
    if (!((const document *)pointer)->root) {
        guildhall_avro_payload *payload = &((root_document *)pointer)->payload;
        guildhall_key_indexes_free(&payload->indexes);
        if (payload->off_heap) guildhall_release_memory(payload->marks, marks_size(payload));
        else ruby_xfree(payload->marks);
    }
    ruby_xfree(pointer);
}

static size_t memsize(const void *pointer)
{
    if (((const document *)pointer)->root) return sizeof(document);
    guildhall_avro_payload *payload = &((root_document *)pointer)->payload;
    return sizeof(root_document) + marks_size(payload) + guildhall_key_indexes_size(&payload->indexes);
}

/* WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::Avro::Document",
    {mark, release, memsize, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE};

guildhall_avro_cursor guildhall_avro_document_read(VALUE self)
{
    document *shown = rb_check_typeddata(self, &type);
    root_document *root = shown->root ? RTYPEDDATA_GET_DATA(shown->root) : (root_document *)shown;
    return (guildhall_avro_cursor){self, &root->payload, shown->spot};
}

static inline const guildhall_avro_node *node_of(const guildhall_avro_codec *codec, guildhall_avro_spot spot)
{
    return &codec->program.nodes[spot.node];
}

static inline int is_container(const guildhall_avro_node *node)
{
    return guildhall_avro_many(node) || node->type == GUILDHALL_AVRO_RECORD;
}

static VALUE class_of(const guildhall_avro_node *node)
{
    return node->type == GUILDHALL_AVRO_ARRAY ? array_class : map_class;
}

static VALUE sub_document(VALUE around, guildhall_avro_spot spot, const guildhall_avro_node *node)
{
    VALUE root = ((document *)RTYPEDDATA_GET_DATA(around))->root;
    document *shown;
    VALUE made = TypedData_Make_Struct(class_of(node), document, &type, shown);
    shown->spot = spot;
    RB_OBJ_WRITE(made, &shown->root, root ? root : around);
    return guildhall_share(made);
}

VALUE guildhall_avro_document_build(guildhall_avro_cursor cursor, guildhall_avro_spot spot)
{
    VALUE document = cursor.document;
    const guildhall_avro_view *view = &cursor.payload->view;
    VALUE value = guildhall_avro_decode_at(cursor.payload->marks->codec, view->bytes, view->length, spot.offset, spot.node);
    RB_GC_GUARD(document);
    return value;
}

VALUE guildhall_avro_document_value(guildhall_avro_cursor cursor, guildhall_avro_spot spot)
{
    guildhall_avro_spot chosen = guildhall_avro_chosen(&cursor.payload->view, spot);
    const guildhall_avro_node *node = node_of(cursor.payload->marks->codec, chosen);
    if (!is_container(node)) return guildhall_avro_document_build(cursor, chosen);
    VALUE document = cursor.document, value = sub_document(document, chosen, node);
    RB_GC_GUARD(document);
    return value;
}

/* A scalar's value may be made by Ruby code, which may raise: nothing is left to free by then. */
static VALUE scalar(const guildhall_avro_view *view, guildhall_avro_marks *marks, guildhall_avro_spot spot, int off_heap)
{
    const guildhall_avro_codec *codec = marks->codec;
    if (off_heap) free(marks);
    else ruby_xfree(marks);
    return guildhall_avro_decode_at(codec, view->bytes, view->length, spot.offset, spot.node);
}

VALUE guildhall_avro_document_new(VALUE owner, const uint8_t *bytes, size_t length, guildhall_avro_marks *marks,
                                  int off_heap)
{
    guildhall_avro_view view = {bytes, length, &marks->codec->program, marks->words};
    guildhall_avro_spot spot = guildhall_avro_chosen(&view, (guildhall_avro_spot){marks->from, 0, 0});
    const guildhall_avro_node *node = node_of(marks->codec, spot);
    if (!is_container(node)) {
        VALUE value = scalar(&view, marks, spot, off_heap);
        RB_GC_GUARD(owner);
        return value;
    }
    root_document *root;
    VALUE made = TypedData_Make_Struct(class_of(node), root_document, &type, root);
    root->document.spot = spot;
    root->payload = (guildhall_avro_payload){.view = view, .marks = marks, .off_heap = off_heap};
    RB_OBJ_WRITE(made, &root->payload.owner, owner);
    RB_OBJ_WRITTEN(made, Qundef, marks->codec->self);
    if (off_heap) guildhall_adopt_memory(marks_size(&root->payload));
    return guildhall_share(made);
}

VALUE guildhall_avro_document(const guildhall_avro_codec *codec, VALUE source, size_t from)
{
    source = guildhall_frozen_bytes(source);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_avro_notes *notes = guildhall_avro_notes_of_thread();
    if (!notes) rb_memerror();
    guildhall_avro_outcome outcome = guildhall_avro_read(bytes, from, length, &codec->program, &codec->rules, notes);
    if (RB_UNLIKELY(outcome.status != GUILDHALL_AVRO_VALID)) rb_exc_raise(guildhall_avro_error(codec, outcome, bytes, from, length));
    uint32_t count = (uint32_t)notes->marks.count;
    guildhall_avro_marks *marks = ruby_xmalloc(guildhall_avro_marks_size(count));
    *marks = (guildhall_avro_marks){codec, (uint32_t)from, count};
    if (count) memcpy(marks->words, notes->marks.words, count * sizeof *marks->words);
    guildhall_avro_notes_trim(notes);
    return guildhall_avro_document_new(source, bytes, length, marks, 0);
}

void guildhall_init_avro_document(VALUE avro)
{
    VALUE document_class = rb_define_class_under(avro, "Document", rb_cObject);
    map_class = rb_define_class_under(avro, "MapDocument", document_class);
    array_class = rb_define_class_under(avro, "ArrayDocument", document_class);
    rb_undef_alloc_func(document_class);
    rb_undef_method(CLASS_OF(document_class), "new");
    rb_gc_register_mark_object(map_class);
    rb_gc_register_mark_object(array_class);
    guildhall_init_avro_view(document_class, map_class, array_class);
}
