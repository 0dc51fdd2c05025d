/* MessagePack Documents: a view of a tape as a frozen, shareable Ruby object. */
#ifndef GUILDHALL_MSGPACK_DOCUMENT_H
#define GUILDHALL_MSGPACK_DOCUMENT_H

#include "msgpack_codec.h"
#include "msgpack_find.h"

/* A whole payload and its tape. The one that a root Document holds; sub-documents reach it through the root. */
typedef struct {
    VALUE owner;                 /* keeps the bytes alive, unmoved and unchanged */
    const guildhall_msgpack_codec *codec;
    const uint8_t *bytes;
    guildhall_tape_node *nodes;
    uint32_t count;
    int off_heap;                /* the nodes were made without the GVL, by malloc */
    guildhall_msgpack_indexes indexes;
} guildhall_msgpack_payload;

typedef struct {
    VALUE document;
    guildhall_msgpack_payload *payload;
    uint32_t index; /* of the container on the tape that the Document shows */
} guildhall_msgpack_cursor;

/* All pointers stay valid while the Document is alive (RB_GC_GUARD it). */
guildhall_msgpack_cursor guildhall_msgpack_document_read(VALUE document);

/* The value at a position of the tape: a plain value, or a Document that shares the payload. */
VALUE guildhall_msgpack_document_value(guildhall_msgpack_cursor cursor, uint32_t index);

/* The same, all the way down: frozen Hashes and Arrays. */
VALUE guildhall_msgpack_document_build(guildhall_msgpack_cursor cursor, uint32_t index);

/* The key at a position: a String, a Symbol where the codec wants it, or what else it is. */
VALUE guildhall_msgpack_document_key(guildhall_msgpack_cursor cursor, uint32_t index);

/* A Document (of a scalar: its value) of what was read. off_heap: it takes over nodes that malloc made, of a container. */
VALUE guildhall_msgpack_document_new(const guildhall_msgpack_codec *codec, VALUE owner, const uint8_t *bytes,
                                     guildhall_tape_node *nodes, uint32_t count, int off_heap);

VALUE guildhall_msgpack_document(const guildhall_msgpack_codec *codec, VALUE source);

void guildhall_init_msgpack_document(VALUE msgpack);
void guildhall_init_msgpack_view(VALUE document, VALUE map, VALUE array);

#endif
