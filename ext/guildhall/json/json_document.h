/* Documents: a view of a tape as a frozen, shareable Ruby object. */
#ifndef GUILDHALL_JSON_DOCUMENT_H
#define GUILDHALL_JSON_DOCUMENT_H

#include "json_codec.h"

/* A whole text and its tape. The one that a root Document holds; sub-documents reach it through the root. */
typedef struct {
    VALUE owner;                       /* keeps the bytes alive, unmoved and unchanged */
    const guildhall_json_codec *codec;
    const uint8_t *bytes;
    guildhall_json_node *nodes;        /* off_heap: the nodes; else NULL, they follow the struct */
    size_t length;                     /* of the text */
    uint32_t count;                    /* of the nodes */
    unsigned off_heap : 1;             /* the nodes were made without the GVL, in a block (blocks.h) */
    unsigned deduplicated : 1;         /* pairs that are in the text are not on the tape */
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

/* The same without a check: for the methods of Documents, which nothing else can be the receiver of. What follows checks
 * nothing either. */
guildhall_json_cursor guildhall_json_document_self(VALUE document);

/* Is it a Document? */
int guildhall_json_document_p(VALUE object);

/* The value's index of a member or element of the container at `container`; 0 when there is none. Of large containers
 * an index is made when it pays. position: not negative. */
uint32_t guildhall_json_document_member(VALUE document, uint32_t container, const uint8_t *key, size_t length);
uint32_t guildhall_json_document_element(VALUE document, uint32_t container, uint32_t position);

/* The value at a position of the tape that `document` shows: a plain value, or a Document that shares its text. */
VALUE guildhall_json_document_value(VALUE document, uint32_t index);

/* The text that the Document was made of, whole. */
const guildhall_json_text *guildhall_json_document_text(VALUE document);

/* A Document (of a scalar: its value) of a parsed text: owner, bytes, length, count and deduplicated of `text` are
 * set. The nodes are copied. */
VALUE guildhall_json_document_new(const guildhall_json_codec *codec, guildhall_json_text text,
                                  const guildhall_json_node *nodes);

/* The same, taking over text.nodes, a block (blocks.h). */
VALUE guildhall_json_document_adopt(const guildhall_json_codec *codec, guildhall_json_text text);

#endif
