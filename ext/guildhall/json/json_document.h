/* Documents: a view of a tape as a frozen, shareable Ruby object. */
#ifndef GUILDHALL_JSON_DOCUMENT_H
#define GUILDHALL_JSON_DOCUMENT_H

#include "json_codec.h"

/* A whole text and its tape. The one that a root Document holds; sub-documents reach it through the root. */
typedef struct {
    VALUE owner;                       /* keeps the bytes alive, unmoved and unchanged */
    const guildhall_json_codec *codec;
    const uint8_t *bytes;
    guildhall_json_node *nodes;        /* NULL: they follow the struct, in the object's own slot */
    size_t length;                     /* of the text */
    uint32_t count;                    /* of the nodes */
    int off_heap;                      /* the nodes were made without the GVL, by malloc */
} guildhall_json_text;

typedef struct {
    VALUE root;     /* the Document that holds the text; 0 in that one itself */
    uint32_t index; /* of the container on the tape that this Document shows */
} guildhall_json_document;

/* The Document's text, tape and codec, for reading with the functions of json_tape.h. All pointers stay valid while
 * the Document is alive (RB_GC_GUARD it). Raises TypeError when the object is no Document. */
typedef struct {
    guildhall_json_view view;
    uint32_t index;
    const guildhall_json_codec *codec;
} guildhall_json_cursor;

guildhall_json_cursor guildhall_json_document_read(VALUE document);

/* Is it a Document? */
int guildhall_json_document_p(VALUE object);

/* The value at a position of the tape that `document` shows: a plain value, or a Document that shares its text. */
VALUE guildhall_json_document_value(VALUE document, uint32_t index);

/* A Document (of a scalar: its value) of what has been parsed into `scratch`. */
VALUE guildhall_json_document_new(const guildhall_json_codec *codec, VALUE owner, const uint8_t *bytes, size_t length,
                                  const guildhall_json_node *nodes, uint32_t count);

/* The same, taking over nodes that malloc made. */
VALUE guildhall_json_document_adopt(const guildhall_json_codec *codec, VALUE owner, const uint8_t *bytes,
                                    size_t length, guildhall_json_node *nodes, uint32_t count);

#endif
