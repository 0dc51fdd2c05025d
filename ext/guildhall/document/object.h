/* Documents: a view of a payload as a frozen, shareable Ruby object. What those of all formats have in common; a
 * guildhall_document_format has what is the format's own, and its methods are made of document/methods.inc.c.
 */
#ifndef GUILDHALL_DOCUMENT_OBJECT_H
#define GUILDHALL_DOCUMENT_OBJECT_H

#include "codec.h"
#include "key_index.h"
#include "structural_index.h"

/* What a format's reader has made of a payload: in memory of the native thread, for a while. */
typedef struct {
    const void *entries;
    size_t size;        /* in bytes */
    uint32_t pairs;     /* an upper bound */
    int deduplicated;   /* pairs that are in the payload are not in the index */
} guildhall_index;

static inline guildhall_index guildhall_index_built(const guildhall_index_builder *builder)
{
    const guildhall_words *entries = &builder->entries;
    return (guildhall_index){entries->words, entries->count * sizeof *entries->words, (uint32_t)entries->count, 0};
}

struct guildhall_caches; /* values/caches.h */

typedef enum { GUILDHALL_SCALAR, GUILDHALL_MAP, GUILDHALL_ARRAY } guildhall_kind;

typedef struct guildhall_document_format {
    VALUE map_class, array_class;
    /* Checks a payload and indexes it, and gives back what an unusually large one took. Without the GVL, from several threads at
     * once. */
    guildhall_outcome (*read)(const void *codec, const uint8_t *bytes, size_t from, size_t length, guildhall_index *index);
    void (*trim)(void);
    int no_memory; /* the outcome's status when memory is short */
    /* The exception (not raised) for a payload that was not valid. */
    VALUE (*error)(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length);
    /* What is at the position, which is moved on to the value itself (in Avro a union's branch precedes it). */
    guildhall_kind (*resolve)(const guildhall_view *view, guildhall_position *at);
    /* All the way down: frozen and shareable. Of a scalar: its value; no entries are read once Ruby code runs. */
    VALUE (*build)(const guildhall_view *view, guildhall_position at);
    /* The same for what lies at the end of these steps from there; nil where nothing does. Strings are keys, of Symbols as well, Integers
     * elements of arrays. */
    VALUE (*column)(const guildhall_view *view, guildhall_position at, long count, const VALUE *steps, struct guildhall_caches *caches);
} guildhall_document_format;

/* A Document, which may be a part of another one. */
typedef struct {
    VALUE root;                  /* the Document that holds the payload; 0 in that one itself */
    guildhall_position position; /* of what it shows */
    unsigned deduplicated : 1;   /* root: as in guildhall_index */
} guildhall_document;

/* One that holds a payload: in a block (memory/block_pool.h), where its entries follow the struct. */
typedef struct {
    guildhall_document document;
    VALUE owner; /* keeps the bytes alive, unmoved and unchanged */
    const guildhall_codec *codec;
    const uint8_t *bytes;
    uint32_t length, size; /* of the payload, of the entries: in bytes */
    guildhall_key_indexes key_indexes;
} guildhall_root_document;

/* What a Document shows. All pointers stay valid while it is alive (RB_GC_GUARD it). */
typedef struct {
    guildhall_view view;
    guildhall_position position;
    VALUE root;
} guildhall_cursor;

/* Of an object that is known to be a Document. Here, because every field that is read begins with it. */
static inline guildhall_cursor guildhall_document_self(VALUE self)
{
    guildhall_document *document = RTYPEDDATA_GET_DATA(self);
    guildhall_root_document *root = document->root ? RTYPEDDATA_GET_DATA(document->root) : (void *)document;
    return (guildhall_cursor){{root->codec, root->bytes, root->length, root + 1, &root->key_indexes}, document->position,
                              document->root ? document->root : self};
}

/* Is it a Document of one of the formats that are written in C? */
int guildhall_document_view_p(VALUE object);
/* Is it a Document of this format? */
int guildhall_document_of_format(VALUE object, const guildhall_document_format *format);
/* A container of the root's payload, at a position that was resolved. */
VALUE guildhall_document_inside(VALUE root, guildhall_position at, guildhall_kind kind);
/* A Document (of a scalar: its value) of the value that begins at `from` of a frozen, shareable String. Raises what the format
 * has for `error`. */
VALUE guildhall_document_of(const void *codec, VALUE source, size_t from);
/* A codec's native decoder. */
guildhall_decoder guildhall_document_decoder(const void *context);
/* One that makes the whole value instead of a Document. For codecs none of whose values are made by Ruby code. */
guildhall_decoder guildhall_value_decoder(const void *context);
/* Whether it is one of these two: their `free` does not look at its context. */
bool guildhall_document_decoder_p(const guildhall_decoder *);
/* As `column` of the format's: of what the decoder has made of a payload, or of a Document. */
VALUE guildhall_document_data_column(const void *data, const uint8_t *bytes, size_t length, long count, const VALUE *steps, struct guildhall_caches *caches);
VALUE guildhall_document_column(VALUE document, long count, const VALUE *steps, struct guildhall_caches *caches);
/* For native decoders of payloads with a header, whose values begin at `from`. */
guildhall_decoded guildhall_document_decode(const void *codec, const uint8_t *bytes, size_t from, size_t length, guildhall_result *result);
VALUE guildhall_document_error(const void *codec, const guildhall_result *result, const uint8_t *bytes, size_t from, size_t length);
/* Defines Document and its two classes under the format's class, and notes them in the format. */
VALUE guildhall_init_documents(VALUE under, guildhall_document_format *format, const char *map_name);

#endif
