/* The life of a Document: made, marked, measured, freed; and what stands on its tape as Ruby values.
 *
 * The garbage collector sees one object a payload, whatever its size. The object pins what owns the bytes;
 * sub-documents pin the root Document.
 */
#include <ruby.h>
#include <ruby/ractor.h>
#include <stdlib.h>
#include "../value_stack.h"
#include "../values.h"
#include "msgpack_document.h"

typedef struct {
    VALUE root;     /* the Document that holds the payload; 0 in that one itself */
    uint32_t index;
} document;

typedef struct {
    document document;
    guildhall_msgpack_payload payload;
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
    const guildhall_msgpack_payload *payload = &((const root_document *)pointer)->payload;
    if (payload->owner) rb_gc_mark(payload->owner);
    if (payload->codec) rb_gc_mark(payload->codec->self);
}

static size_t nodes_size(const guildhall_msgpack_payload *payload) { return payload->count * sizeof *payload->nodes; }

static void release(void *pointer)
{
    if (!((const document *)pointer)->root) {
        guildhall_msgpack_payload *payload = &((root_document *)pointer)->payload;
        guildhall_msgpack_indexes_free(&payload->indexes);
        if (payload->off_heap) {
            free(payload->nodes);
            rb_gc_adjust_memory_usage(-(ssize_t)nodes_size(payload));
        } else {
            ruby_xfree(payload->nodes);
        }
    }
    ruby_xfree(pointer);
}

static size_t memsize(const void *pointer)
{
    if (((const document *)pointer)->root) return sizeof(document);
    guildhall_msgpack_payload *payload = &((root_document *)pointer)->payload;
    return sizeof(root_document) + nodes_size(payload) + guildhall_msgpack_indexes_size(&payload->indexes);
}

/* WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
static const rb_data_type_t type = {
    "Guildhall::MessagePack::Document",
    {mark, release, memsize, NULL, {0}},
    0, 0, RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE};

guildhall_msgpack_cursor guildhall_msgpack_document_read(VALUE self)
{
    document *shown = rb_check_typeddata(self, &type);
    root_document *root = shown->root ? RTYPEDDATA_GET_DATA(shown->root) : (root_document *)shown;
    return (guildhall_msgpack_cursor){self, &root->payload, shown->index};
}

static VALUE class_of(guildhall_tape_node node)
{
    return guildhall_tape_type(node) == GUILDHALL_TAPE_MAP ? map_class : array_class;
}

static VALUE sub_document(VALUE around, uint32_t index, guildhall_tape_node node)
{
    VALUE root = ((document *)RTYPEDDATA_GET_DATA(around))->root;
    document *shown;
    VALUE made = TypedData_Make_Struct(class_of(node), document, &type, shown);
    shown->index = index;
    RB_OBJ_WRITE(made, &shown->root, root ? root : around);
    return guildhall_share(made);
}

/* A number that the tape has no room for is read from the source once more; it was found good there before. */
static VALUE number_at(const uint8_t *head)
{
    guildhall_msgpack_input input = {head, head + 9};
    guildhall_msgpack_token token;
    guildhall_msgpack_next(&input, &token);
    if (token.type == GUILDHALL_MSGPACK_FLOAT) return guildhall_float_new(token.real);
    if (token.type == GUILDHALL_MSGPACK_UNSIGNED) return guildhall_unsigned_new((uint64_t)token.number);
    return guildhall_integer_new(token.number);
}

static VALUE scalar(const guildhall_msgpack_payload *payload, guildhall_tape_node node)
{
    const uint8_t *bytes = payload->bytes + guildhall_tape_offset(node);
    uint32_t length = guildhall_tape_length(node);
    switch ((guildhall_msgpack_node)guildhall_tape_type(node)) {
    case GUILDHALL_MSGPACK_NODE_NIL: return Qnil;
    case GUILDHALL_MSGPACK_NODE_FALSE: return Qfalse;
    case GUILDHALL_MSGPACK_NODE_TRUE: return Qtrue;
    case GUILDHALL_MSGPACK_NODE_INTEGER: return guildhall_integer_new(guildhall_tape_number_of(node));
    case GUILDHALL_MSGPACK_NODE_WIDE: case GUILDHALL_MSGPACK_NODE_FLOAT: return number_at(bytes);
    case GUILDHALL_MSGPACK_NODE_ASCII: return guildhall_string_new(bytes, length, GUILDHALL_TEXT_ASCII);
    case GUILDHALL_MSGPACK_NODE_UTF8: return guildhall_string_new(bytes, length, GUILDHALL_TEXT_UTF8);
    case GUILDHALL_MSGPACK_NODE_UNCHECKED: return guildhall_string_new(bytes, length, GUILDHALL_TEXT_UNCHECKED);
    case GUILDHALL_MSGPACK_NODE_BINARY: return guildhall_string_new(bytes, length, GUILDHALL_TEXT_BINARY);
    case GUILDHALL_MSGPACK_NODE_EXTENSION:
        return guildhall_msgpack_extension(payload->codec, (int8_t)bytes[-1], bytes, length);
    }
    return Qundef;
}

VALUE guildhall_msgpack_document_value(guildhall_msgpack_cursor cursor, uint32_t index)
{
    guildhall_tape_node node = cursor.payload->nodes[index];
    VALUE document = cursor.document;
    VALUE value = guildhall_tape_is_container(node) ? sub_document(document, index, node) : scalar(cursor.payload, node);
    RB_GC_GUARD(document);
    return value;
}

typedef struct {
    const guildhall_msgpack_payload *payload;
    guildhall_keys *keys;
    uint32_t hint;
    guildhall_value_stack stack;
} builder;

static VALUE build(builder *b, uint32_t index);

static VALUE key(builder *b, uint32_t index)
{
    guildhall_tape_node node = b->payload->nodes[index];
    if (!guildhall_msgpack_is_text(node)) return build(b, index);
    const uint8_t *bytes = b->payload->bytes + guildhall_tape_offset(node);
    uint32_t length = guildhall_tape_length(node);
    if (b->payload->codec->rules.symbol_keys) {
        return guildhall_key_symbol(b->keys, &b->hint, bytes, length, GUILDHALL_TEXT_UNCHECKED);
    }
    return guildhall_key_string(b->keys, &b->hint, bytes, length, GUILDHALL_TEXT_UNCHECKED);
}

/* Reads as deep as max_nesting let the payload be. */
static VALUE build(builder *b, uint32_t index)
{
    guildhall_tape_node node = b->payload->nodes[index];
    if (!guildhall_tape_is_container(node)) return scalar(b->payload, node);
    int map = guildhall_tape_type(node) == GUILDHALL_TAPE_MAP;
    uint32_t end = guildhall_tape_offset(node), count = guildhall_tape_length(node);
    size_t base = b->stack.count;
    for (uint32_t child = index + 1, i = 0; child < end; child = guildhall_tape_next(b->payload->nodes, child), i++) {
        guildhall_value_stack_push(&b->stack, map && i % 2 == 0 ? key(b, child) : build(b, child));
    }
    VALUE *values = b->stack.values + base;
    b->stack.count = base;
    return map ? guildhall_hash_new(count, values) : guildhall_array_new(count, values);
}

static void begin(builder *b, const guildhall_msgpack_payload *payload)
{
    b->payload = payload;
    b->keys = guildhall_keys_current();
    b->hint = 0;
    guildhall_value_stack_init(&b->stack);
}

VALUE guildhall_msgpack_document_build(guildhall_msgpack_cursor cursor, uint32_t index)
{
    builder b;
    VALUE document = cursor.document;
    begin(&b, cursor.payload);
    VALUE made = build(&b, index);
    guildhall_value_stack_release(&b.stack);
    RB_GC_GUARD(document);
    return made;
}

VALUE guildhall_msgpack_document_key(guildhall_msgpack_cursor cursor, uint32_t index)
{
    builder b;
    VALUE document = cursor.document;
    begin(&b, cursor.payload);
    VALUE made = key(&b, index);
    guildhall_value_stack_release(&b.stack);
    RB_GC_GUARD(document);
    return made;
}

/* Memory that malloc made is reported, but a report alone never starts a collection: only Ruby's own allocation looks
 * at the limit. So every thread makes one after each MiB that it reported. */
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

VALUE guildhall_msgpack_document_new(const guildhall_msgpack_codec *codec, VALUE owner, const uint8_t *bytes,
                                     guildhall_tape_node *nodes, uint32_t count, int off_heap)
{
    guildhall_msgpack_payload payload = {.codec = codec, .bytes = bytes, .count = count, .off_heap = off_heap};
    if (!guildhall_tape_is_container(nodes[0])) {
        VALUE value = scalar(&payload, nodes[0]);
        RB_GC_GUARD(owner);
        return value;
    }
    root_document *root;
    VALUE made = TypedData_Make_Struct(class_of(nodes[0]), root_document, &type, root);
    if (!off_heap) { /* the nodes are the thread's own tape */
        guildhall_tape_node *copy = ruby_xmalloc(count * sizeof *nodes);
        memcpy(copy, nodes, count * sizeof *nodes);
        nodes = copy;
    }
    payload.nodes = nodes;
    root->payload = payload;
    RB_OBJ_WRITE(made, &root->payload.owner, owner);
    RB_OBJ_WRITTEN(made, Qundef, codec->self);
    if (off_heap) report(count * sizeof *nodes);
    return guildhall_share(made);
}

static VALUE frozen_bytes(VALUE source)
{
    StringValue(source);
    if (RB_OBJ_FROZEN_RAW(source) && rb_ractor_shareable_p(source)) return source;
    return guildhall_share(rb_str_new(RSTRING_PTR(source), RSTRING_LEN(source)));
}

VALUE guildhall_msgpack_document(const guildhall_msgpack_codec *codec, VALUE source)
{
    source = frozen_bytes(source);
    guildhall_tape *tape = guildhall_tape_of_thread();
    if (!tape) rb_memerror();
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    guildhall_msgpack_outcome outcome = guildhall_msgpack_read(bytes, (size_t)RSTRING_LEN(source), &codec->rules, tape);
    if (RB_UNLIKELY(outcome.status != GUILDHALL_MSGPACK_VALID)) {
        rb_exc_raise(guildhall_msgpack_error(codec, outcome, bytes, (size_t)RSTRING_LEN(source)));
    }
    VALUE made = guildhall_msgpack_document_new(codec, source, bytes, tape->nodes, (uint32_t)tape->count, 0);
    guildhall_tape_trim(tape);
    RB_GC_GUARD(source);
    return made;
}

void guildhall_init_msgpack_document(VALUE msgpack)
{
    VALUE document_class = rb_define_class_under(msgpack, "Document", rb_cObject);
    map_class = rb_define_class_under(msgpack, "MapDocument", document_class);
    array_class = rb_define_class_under(msgpack, "ArrayDocument", document_class);
    rb_undef_alloc_func(document_class);
    rb_undef_method(CLASS_OF(document_class), "new");
    rb_gc_register_mark_object(map_class);
    rb_gc_register_mark_object(array_class);
    guildhall_init_msgpack_view(document_class, map_class, array_class);
}
