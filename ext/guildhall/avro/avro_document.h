/* Avro Documents: a view of a payload as a frozen, shareable Ruby object. */
#ifndef GUILDHALL_AVRO_DOCUMENT_H
#define GUILDHALL_AVRO_DOCUMENT_H

#include "../key_index.h"
#include "avro_codec.h"
#include "avro_walk.h"

/* The marks of a payload that was read, and the schema it was read with. */
typedef struct {
    const guildhall_avro_codec *codec;
    uint32_t from;    /* where the value begins in the payload: after a header, if it has one */
    uint32_t count;
    uint32_t words[];
} guildhall_avro_marks;

/* A whole payload. The one that a root Document holds; sub-documents reach it through the root. */
typedef struct {
    VALUE owner;      /* keeps the bytes alive, unmoved and unchanged */
    guildhall_avro_view view;
    guildhall_avro_marks *marks;
    int off_heap;     /* the marks were made without the GVL, by malloc */
    guildhall_key_indexes indexes;
} guildhall_avro_payload;

typedef struct {
    VALUE document;
    guildhall_avro_payload *payload;
    guildhall_avro_spot spot; /* of the record, map or array that the Document shows */
} guildhall_avro_cursor;

/* All pointers stay valid while the Document is alive (RB_GC_GUARD it). */
guildhall_avro_cursor guildhall_avro_document_read(VALUE document);

/* The value at a spot: a plain value, or a Document that shares the payload. */
VALUE guildhall_avro_document_value(guildhall_avro_cursor cursor, guildhall_avro_spot spot);

/* The same, all the way down: frozen Hashes and Arrays. */
VALUE guildhall_avro_document_build(guildhall_avro_cursor cursor, guildhall_avro_spot spot);

/* A Document (of a scalar: its value) of what was read. off_heap: it takes over marks that malloc made, unless an
 * exception passes through. */
VALUE guildhall_avro_document_new(VALUE owner, const uint8_t *bytes, size_t length, guildhall_avro_marks *marks,
                                  int off_heap);

/* The value that begins at `from`. */
VALUE guildhall_avro_document(const guildhall_avro_codec *codec, VALUE source, size_t from);

static inline size_t guildhall_avro_marks_size(uint32_t count)
{
    return sizeof(guildhall_avro_marks) + count * sizeof(uint32_t);
}

/* The parts of a native decoder (guildhall/decoder.h), whose values begin at `from`. */
guildhall_decoded guildhall_avro_decoder_decode(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from,
                                                size_t length, guildhall_result *result);
VALUE guildhall_avro_decoder_wrap(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes,
                                  size_t length);
void guildhall_avro_decoder_free(const void *context, guildhall_result *result);

void guildhall_init_avro_document(VALUE avro);
void guildhall_init_avro_directory(VALUE avro);
void guildhall_init_avro_view(VALUE document, VALUE map, VALUE array);

#endif
