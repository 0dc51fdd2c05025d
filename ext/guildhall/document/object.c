/* The life of a Document: made, marked, measured, freed.
 *
 * The garbage collector sees one object a payload, whatever its size. The object pins what owns the bytes; sub-documents
 * pin the root Document. The index lies in one block with the struct.
 */
#include <ruby.h>
#include <string.h>
#include "any.h"
#include "memory/block_pool.h"
#include "init.h"
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

static size_t document_bytes(const root_document *root) { return sizeof *root + root->size; }

static void document_release(void *pointer)
{
    root_document *root = pointer;
    size_t size = document_bytes(root);
    guildhall_gc_freed(size + guildhall_key_indexes_free(&root->key_indexes));
    guildhall_block_give(root, size);
}

static size_t document_memsize(const void *pointer)
{
    const root_document *root = pointer;
    return guildhall_key_indexes_size(&root->key_indexes) + guildhall_block_bytes(document_bytes(root));
}

/* WB_PROTECTED: Documents pile up; unprotected they would force major collections. */
#define DOCUMENT_FLAGS (RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE)

static const rb_data_type_t type = {"Guildhall::Document", {document_mark, document_release, document_memsize}, 0, 0, DOCUMENT_FLAGS};

/* Of sub-documents, whose struct lies in the object's slot: nothing is freed but that. Compaction may move it, so nothing keeps a pointer
 * into it but what pins the object. */
static const rb_data_type_t sub_type = {
    "Guildhall::Document", {document_mark_root, RUBY_TYPED_DEFAULT_FREE, NULL}, &type, 0, DOCUMENT_FLAGS | RUBY_TYPED_EMBEDDABLE};

int guildhall_document_view_p(VALUE object) { return rb_typeddata_is_kind_of(object, &type); }

int guildhall_document_of_format(VALUE object, const guildhall_document_format *format)
{
    return guildhall_document_view_p(object) && guildhall_document_self(object).view.codec->format == format;
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

/* A payload that was read, in a block; NULL when memory is short. */
static root_document *document_block(const guildhall_codec *codec, guildhall_position at, const guildhall_index *index)
{
    root_document *root = index->size > UINT32_MAX ? NULL : guildhall_block_take(sizeof *root + index->size);
    if (!root) return NULL;
    *root = (root_document){.document = {.position = at, .deduplicated = (unsigned)index->deduplicated}, .codec = codec,
                            .size = (uint32_t)index->size, .key_indexes = {.entries = index->pairs}};
    if (index->size) memcpy(root + 1, index->entries, index->size);
    return root;
}

/* The block as a Document, which takes it over. */
static VALUE document_new(root_document *root, guildhall_kind kind, VALUE owner, const uint8_t *bytes, size_t length)
{
    root->owner = owner;
    root->bytes = bytes;
    root->length = (uint32_t)length;
    return guildhall_share(rb_data_typed_object_wrap(document_class_of(root->codec, kind), root, &type));
}

static VALUE document_or_scalar(const guildhall_codec *codec, VALUE owner, size_t from, const guildhall_index *index)
{
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(owner);
    size_t length = (size_t)RSTRING_LEN(owner);
    guildhall_view view = {codec, bytes, length, index->entries, NULL};
    guildhall_position at = {(uint32_t)from, 0, 0};
    guildhall_kind kind = codec->format->resolve(&view, &at);
    if (kind == GUILDHALL_SCALAR) return codec->format->build(&view, at);
    guildhall_gc_block_adopt(sizeof(root_document) + index->size);
    root_document *root = document_block(codec, at, index);
    if (!root) rb_memerror();
    return document_new(root, kind, owner, bytes, length);
}

/* ---- payloads as Documents: at once, or in the two steps of a native decoder (guildhall/decoder.h), of which the first needs no GVL */

VALUE guildhall_document_of(const void *context, VALUE source, size_t from)
{
    const guildhall_codec *codec = context;
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_index index;
    guildhall_outcome outcome = codec->format->read(codec, bytes, from, length, &index);
    bool invalid = RB_UNLIKELY(outcome.status);
    VALUE made = invalid ? codec->format->error(codec, outcome, bytes, from, length) : document_or_scalar(codec, source, from, &index);
    codec->format->trim(); /* the memory of an unusually large payload would stay with the thread */
    if (invalid) rb_exc_raise(made);
    RB_GC_GUARD(source);
    return made;
}

guildhall_decoded guildhall_document_decode(const void *context, const uint8_t *bytes, size_t from, size_t length, guildhall_result *result)
{
    const guildhall_codec *codec = context;
    guildhall_index index;
    guildhall_outcome outcome = codec->format->read(codec, bytes, from, length, &index);
    guildhall_view view = {codec, bytes, length, index.entries, NULL};
    guildhall_position at = {(uint32_t)from, 0, 0};
    bool scalar = !outcome.status && codec->format->resolve(&view, &at) == GUILDHALL_SCALAR;
    root_document *root = outcome.status || scalar ? NULL : document_block(codec, at, &index);
    codec->format->trim();
    if (scalar) return GUILDHALL_DEFER; /* the codec may have Ruby code for it */
    if (root) {
        *result = (guildhall_result){.data = root, .size = document_bytes(root)};
        return GUILDHALL_DECODED;
    }
    *result = (guildhall_result){.error_code = outcome.status ? outcome.status : codec->format->no_memory,
                                 .error_offset = outcome.error_offset};
    return GUILDHALL_INVALID;
}

VALUE guildhall_document_error(const void *codec, const guildhall_result *result, const uint8_t *bytes, size_t from, size_t length)
{
    guildhall_outcome outcome = {result->error_code, result->error_offset};
    return ((const guildhall_codec *)codec)->format->error(codec, outcome, bytes, from, length);
}

static guildhall_decoded document_decoder_decode(const void *codec, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    return guildhall_document_decode(codec, bytes, 0, length, result);
}

static VALUE document_decoder_error(const void *codec, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    return guildhall_document_error(codec, result, bytes, 0, length);
}

static VALUE document_decoder_wrap(const void *codec, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length)
{
    root_document *root = result->data;
    guildhall_view view = {root->codec, bytes, length, root + 1, NULL};
    guildhall_kind kind = root->codec->format->resolve(&view, &root->document.position);
    guildhall_gc_block_adopt(result->size); /* before the block changes hands: it may raise */
    VALUE made = document_new(root, kind, owner, bytes, length);
    result->data = NULL;
    RB_GC_GUARD(owner);
    return made;
}

/* Who has read columns of it may have made indexes of keys. */
static void document_decoder_free(const void *codec, guildhall_result *result)
{
    root_document *root = result->data;
    result->data = NULL;
    if (!root) return;
    size_t reported = guildhall_key_indexes_free(&root->key_indexes);
    if (reported) guildhall_gc_freed(reported);
    guildhall_block_give(root, result->size);
}

static VALUE document_decoder_build(const void *codec, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length)
{
    root_document *root = result->data;
    guildhall_view view = {root->codec, bytes, length, root + 1, NULL};
    VALUE made = root->codec->format->build(&view, root->document.position);
    RB_GC_GUARD(owner);
    return made;
}

static VALUE document_column(const guildhall_view *view, guildhall_position at, long count, const VALUE *steps, struct guildhall_caches *caches)
{
    VALUE value = view->codec->format->column(view, at, count, steps, caches);
    guildhall_key_indexes_report(view->key_indexes);
    return value;
}

VALUE guildhall_document_data_column(const void *data, const uint8_t *bytes, size_t length, long count, const VALUE *steps, struct guildhall_caches *caches)
{
    root_document *root = (root_document *)data;
    guildhall_view view = {root->codec, bytes, length, root + 1, &root->key_indexes};
    return document_column(&view, root->document.position, count, steps, caches);
}

VALUE guildhall_document_column(VALUE document, long count, const VALUE *steps, struct guildhall_caches *caches)
{
    guildhall_cursor cursor = guildhall_document_self(document);
    VALUE value = document_column(&cursor.view, cursor.position, count, steps, caches);
    RB_GC_GUARD(document);
    return value;
}

bool guildhall_document_decoder_p(const guildhall_decoder *decoder) { return decoder->free == document_decoder_free; }

guildhall_decoder guildhall_document_decoder(const void *context)
{
    return (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI, .size = sizeof(guildhall_decoder), .context = context, .decode = document_decoder_decode,
        .wrap = document_decoder_wrap, .error = document_decoder_error, .free = document_decoder_free};
}

guildhall_decoder guildhall_value_decoder(const void *context)
{
    guildhall_decoder decoder = guildhall_document_decoder(context);
    decoder.wrap = document_decoder_build;
    return decoder;
}

/* ---- what others have to know of Documents of any format */

static VALUE documents; /* the module that all classes of Documents include */
static ID id_decode;

VALUE guildhall_frozen_bytes(VALUE source)
{
    StringValue(source);
    /* One without the flag that nothing of it can keep from getting it is not walked. */
    bool shareable = guildhall_shared(source) ||
                     (RB_OBJ_FROZEN_RAW(source) && (GUILDHALL_COLLECTOR_PER_RACTOR ? !rb_ivar_count(source) : rb_ractor_shareable_p(source)));
    if (shareable && !guildhall_borrows(source)) return source;
    return guildhall_share(rb_str_new(RSTRING_PTR(source), RSTRING_LEN(source)));
}

int guildhall_document_p(VALUE object)
{
    return !RB_SPECIAL_CONST_P(object) && RB_BUILTIN_TYPE(object) == T_DATA && RTEST(rb_obj_is_kind_of(object, documents));
}

VALUE guildhall_document_decoded_value(VALUE document) { return rb_funcallv(document, id_decode, 0, NULL); }

VALUE guildhall_document_dig_on(VALUE value, int count, const VALUE *keys)
{
    if (NIL_P(value) || !count) return value;
    if (!rb_respond_to(value, rb_intern("dig"))) rb_raise(rb_eTypeError, "%s does not have #dig method", rb_obj_classname(value));
    return rb_funcallv(value, rb_intern("dig"), count, keys);
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

void guildhall_init_document_plain(VALUE guildhall)
{
    id_decode = rb_intern("decode");
    documents = rb_define_module_under(guildhall, "Document");
    rb_gc_register_mark_object(documents);
}
