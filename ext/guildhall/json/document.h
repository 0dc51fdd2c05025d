/* Documents: a view of a tape as a frozen, shareable Ruby object. */
#ifndef GUILDHALL_JSON_DOCUMENT_H
#define GUILDHALL_JSON_DOCUMENT_H

#include "codec.h"
#include "index.h"

/* A whole text and its tape. */
typedef struct {
    VALUE owner;                       /* keeps the bytes alive, unmoved and unchanged */
    const guildhall_json_codec *codec;
    const uint8_t *bytes;
    guildhall_json_node *nodes;        /* off_heap: the nodes; else NULL, they follow the struct */
    uint32_t length;                   /* of the text; see GUILDHALL_JSON_BYTES_LIMIT */
    uint32_t count;                    /* of the nodes */
    unsigned off_heap : 1;             /* the nodes were made without the GVL, in a block (memory/block_pool.h) */
    unsigned on_heap : 1;              /* the struct is in a block, not in the object's slot */
    unsigned deduplicated : 1;         /* pairs that are in the text are not on the tape */
} guildhall_json_text;

typedef struct {
    VALUE root;     /* the Document that holds the text; 0 in that one itself */
    uint32_t index; /* of the container on the tape that this Document shows */
} guildhall_json_document;

/* The Document that holds a text; sub-documents reach it through their root. */
typedef struct {
    guildhall_json_document document;
    guildhall_json_text text;
    guildhall_key_indexes key_indexes; /* of the large containers */
    guildhall_json_node embedded[];
} guildhall_json_root;

/* The Document's text, tape and codec, for reading with the functions of tape.h. All pointers stay valid while
 * the Document is alive (RB_GC_GUARD it). */
typedef struct {
    guildhall_json_view view;
    uint32_t index;
    const guildhall_json_codec *codec;
    VALUE root; /* the Document that holds the text: perhaps the same */
} guildhall_json_cursor;

/* Raises TypeError when the object is no Document. */
guildhall_json_cursor guildhall_json_document_read(VALUE document);

/* The same without a check: for the methods of Documents, which nothing else can be the receiver of. What follows checks
 * nothing either. Here, because every field that is read begins with it. */
static inline guildhall_json_cursor guildhall_json_document_self(VALUE self)
{
    const guildhall_json_document *document = RTYPEDDATA_GET_DATA(self);
    VALUE root = document->root ? document->root : self;
    const guildhall_json_root *held = document->root ? RTYPEDDATA_GET_DATA(root) : (const void *)document;
    const guildhall_json_text *text = &held->text;
    const guildhall_json_node *nodes = text->nodes ? text->nodes : held->embedded;
    return (guildhall_json_cursor){{text->bytes, text->bytes + text->length, nodes}, document->index, text->codec, root};
}

/* Is it a Document? */
int guildhall_json_document_p(VALUE object);

/* The value's index of a member or element of the container at `container`; 0 when there is none. Of large containers
 * an index is made when it pays. position: not negative. */
uint32_t guildhall_json_document_member(const guildhall_json_cursor *cursor, uint32_t container, const uint8_t *key,
                                        size_t length);
uint32_t guildhall_json_document_element(const guildhall_json_cursor *cursor, uint32_t container, uint32_t position);

/* The value at a position of the tape: a plain value, or a Document that shares the text. */
VALUE guildhall_json_document_value(const guildhall_json_cursor *cursor, uint32_t index);

/* The text that the Document was made of, whole. */
const guildhall_json_text *guildhall_json_document_text(VALUE document);

/* A Document (of a scalar: its value) of a parsed text: owner, bytes, length, count and deduplicated of `text` are
 * set. The nodes are copied. */
VALUE guildhall_json_document_new(const guildhall_json_codec *codec, guildhall_json_text text,
                                  const guildhall_json_node *nodes);

/* The same, taking over text.nodes, a block (memory/block_pool.h). */
VALUE guildhall_json_document_adopt(const guildhall_json_codec *codec, guildhall_json_text text);

#endif
