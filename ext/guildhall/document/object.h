/* Documents of binary formats: a view of a payload as a frozen, shareable Ruby object. What they have in common; a
 * guildhall_document_format has what is the format's own.
 */
#ifndef GUILDHALL_DOCUMENT_OBJECT_H
#define GUILDHALL_DOCUMENT_OBJECT_H

#include "codec.h"
#include "key_index.h"
#include "structural_index.h"

typedef struct guildhall_document_format guildhall_document_format;

/* The structural index of a payload that was read, and what it was read with. */
typedef struct {
    const guildhall_codec *codec;
    uint32_t from;    /* where the value begins in the payload: after a header, if it has one */
    uint32_t count;
    uint32_t entries[];
} guildhall_structural_index;

/* A whole payload. The one that a root Document holds; sub-documents reach it through the root. */
typedef struct {
    VALUE owner;      /* keeps the bytes alive, unmoved and unchanged */
    const uint8_t *bytes;
    size_t length;
    guildhall_structural_index *index;
    guildhall_key_indexes key_indexes;
} guildhall_payload;

typedef enum { GUILDHALL_SCALAR, GUILDHALL_MAP, GUILDHALL_ARRAY } guildhall_kind;

/* key: Qundef for an element. fallback: the value, where the payload does not have it; else Qundef, and the value is at `at`. */
typedef void guildhall_visit(VALUE key, guildhall_position at, VALUE fallback, void *context);

struct guildhall_document_format {
    VALUE map_class, array_class;
    /* Checks a payload and indexes it. Without the GVL, from several threads at once. */
    guildhall_outcome (*read)(const void *codec, const uint8_t *bytes, size_t from, size_t length, guildhall_index_builder *builder);
    int no_memory; /* the outcome's status when memory is short */
    /* The exception (not raised) for a payload that was not valid. */
    VALUE (*error)(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length);
    /* What is at the position, which is moved on to the value itself (in Avro a union's branch precedes it). */
    guildhall_kind (*resolve)(const guildhall_payload *payload, guildhall_position *at);
    uint32_t (*count)(const guildhall_payload *payload, guildhall_position container);
    /* Of a map; 0: there is no such key. */
    int (*member)(guildhall_payload *payload, guildhall_position map, VALUE key, guildhall_position *found, VALUE *fallback);
    /* The same, by a String that means a String or a Symbol. */
    int (*named)(guildhall_payload *payload, guildhall_position map, VALUE name, guildhall_position *found, VALUE *fallback);
    /* Of an array; index below the count. */
    guildhall_position (*element)(const guildhall_payload *payload, guildhall_position array, uint32_t index);
    void (*each)(const guildhall_payload *payload, guildhall_position container, guildhall_visit *visit, void *context);
    /* What is made of a Document inside another one, at a position that was resolved. NULL: nothing. */
    VALUE (*inside)(const guildhall_payload *payload, guildhall_position given, guildhall_position at, VALUE document);
    /* All the way down: frozen and shareable. Of a scalar: its value. */
    VALUE (*build)(const guildhall_payload *payload, guildhall_position at);
};

typedef struct {
    VALUE document;
    guildhall_payload *payload;
    guildhall_position position; /* of what the Document shows */
} guildhall_cursor;

/* All pointers stay valid while the Document is alive (RB_GC_GUARD it). */
guildhall_cursor guildhall_document_read(VALUE document);

/* The value at a position: a plain value, or a Document that shares the payload. */
VALUE guildhall_document_value(guildhall_cursor cursor, guildhall_position at);

static inline size_t guildhall_structural_index_size(const guildhall_structural_index *index)
{
    return index ? sizeof *index + index->count * sizeof *index->entries : 0;
}

/* A Document (of a scalar: its value) of what was read. It takes over the index. */
VALUE guildhall_document_new(VALUE owner, const uint8_t *bytes, size_t length, guildhall_structural_index *index);

/* A Document (of a scalar: its value) of the value that begins at `from`. Raises what the format has for `error`. */
VALUE guildhall_document_of(const void *codec, VALUE source, size_t from);

/* A codec's native decoder. The next two are for native decoders of payloads with a header, whose values begin at `from`. */
guildhall_decoder guildhall_document_decoder(const void *context);
guildhall_decoded guildhall_document_decode(const void *codec, const uint8_t *bytes, size_t from, size_t length,
                                            guildhall_result *result);
VALUE guildhall_document_error(const void *codec, const guildhall_result *result, const uint8_t *bytes, size_t from,
                               size_t length);

/* Defines Document, MapDocument and ArrayDocument under the format's class, and notes them in the format. */
void guildhall_init_documents(VALUE under, guildhall_document_format *format);

/* Their methods. */
void guildhall_init_document_view(VALUE document, VALUE map, VALUE array);

#endif
