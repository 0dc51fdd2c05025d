/* Documents of binary formats: a view of a payload as a frozen, shareable Ruby object. What they have in common; what a
 * format brings stands in a guildhall_document_format.
 */
#ifndef GUILDHALL_DOCUMENT_H
#define GUILDHALL_DOCUMENT_H

#include <ruby.h>
#include <guildhall/decoder.h>
#include "key_index.h"
#include "notes.h"

typedef struct guildhall_document_format guildhall_document_format;

/* The marks of a payload that was read, and what it was read with. */
typedef struct {
    const guildhall_document_format *format;
    const void *codec;
    uint32_t from;    /* where the value begins in the payload: after a header, if it has one */
    uint32_t count;
    uint32_t words[];
} guildhall_marks;

/* A whole payload. The one that a root Document holds; sub-documents reach it through the root. */
typedef struct {
    VALUE owner;      /* keeps the bytes alive, unmoved and unchanged */
    const uint8_t *bytes;
    size_t length;
    guildhall_marks *marks;
    guildhall_key_indexes indexes;
    _Atomic size_t reported; /* how many bytes of indexes the garbage collector knows of */
} guildhall_payload;

typedef enum { GUILDHALL_SCALAR, GUILDHALL_MAP, GUILDHALL_ARRAY } guildhall_kind;

/* key: Qundef for an element. fallback: the value, where it stands in no payload; else Qundef, and `at` is where it is. */
typedef void guildhall_visit(VALUE key, guildhall_spot at, VALUE fallback, void *context);

struct guildhall_document_format {
    VALUE map_class, array_class;
    VALUE (*codec_object)(const void *codec);
    /* What stands at the spot, which is moved on to the value itself (in Avro a union's branch stands before it). */
    guildhall_kind (*resolve)(const guildhall_payload *payload, guildhall_spot *at);
    uint32_t (*count)(const guildhall_payload *payload, guildhall_spot container);
    /* Of a map; 0: there is no such key. */
    int (*member)(guildhall_payload *payload, guildhall_spot map, VALUE key, guildhall_spot *found, VALUE *fallback);
    /* The same, by a String that stands for a String or a Symbol. */
    int (*named)(guildhall_payload *payload, guildhall_spot map, VALUE name, guildhall_spot *found, VALUE *fallback);
    /* Of an array; position below the count. */
    guildhall_spot (*element)(const guildhall_payload *payload, guildhall_spot array, uint32_t position);
    void (*each)(const guildhall_payload *payload, guildhall_spot container, guildhall_visit *visit, void *context);
    /* All the way down: frozen and shareable. Of a scalar: its value. */
    VALUE (*build)(const guildhall_payload *payload, guildhall_spot at);
};

typedef struct {
    VALUE document;
    guildhall_payload *payload;
    guildhall_spot spot; /* of what the Document shows */
} guildhall_cursor;

/* All pointers stay valid while the Document is alive (RB_GC_GUARD it). */
guildhall_cursor guildhall_document_read(VALUE document);

/* The value at a spot: a plain value, or a Document that shares the payload. */
VALUE guildhall_document_value(guildhall_cursor cursor, guildhall_spot at);

/* Tells the garbage collector of indexes that were made since. */
void guildhall_document_report(guildhall_payload *payload);

/* The notes' marks, in a block (blocks.h) of their own; NULL when memory is short. Needs no GVL. */
guildhall_marks *guildhall_marks_new(const guildhall_document_format *format, const void *codec, size_t from,
                                     const guildhall_notes *notes);

/* A Document (of a scalar: its value) of what was read. It takes over the marks. */
VALUE guildhall_document_new(VALUE owner, const uint8_t *bytes, size_t length, guildhall_marks *marks);

/* Parts of a native decoder (guildhall/decoder.h) whose result is marks. */
guildhall_decoded guildhall_document_decoded(guildhall_marks *marks, guildhall_result *result);
VALUE guildhall_document_wrap(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes,
                              size_t length);
void guildhall_document_free(const void *context, guildhall_result *result);

/* Document, MapDocument and ArrayDocument under the format's class, which stand in the format then. */
void guildhall_init_documents(VALUE under, guildhall_document_format *format);

/* Their methods. */
void guildhall_init_document_view(VALUE document, VALUE map, VALUE array);

/* The text that a String given as a key means; 0: none that UTF-8 could say. */
VALUE guildhall_document_text(VALUE key);

#endif
