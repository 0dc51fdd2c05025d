/* A MessagePack codec: options, fixed when it is made, and what C code needs to work with them. */
#ifndef GUILDHALL_MSGPACK_CODEC_H
#define GUILDHALL_MSGPACK_CODEC_H

#include <ruby.h>
#include "document/object.h"
#include "read.h"

typedef struct {
    GUILDHALL_CODEC;
    guildhall_msgpack_rules rules;
    unsigned types : 1;          /* extension types are registered: Ruby knows them */
    guildhall_decoder value_decoder; /* of the whole value */
} guildhall_msgpack_codec;

/* The payload as frozen, shareable objects. */
VALUE guildhall_msgpack_decode(const guildhall_msgpack_codec *codec, VALUE source);
/* The object as a frozen binary String. */
VALUE guildhall_msgpack_encode(const guildhall_msgpack_codec *codec, VALUE object);

/* A whole payload, which nothing follows; a value in it; a key in it, which may be a Symbol. */
typedef enum { GUILDHALL_MSGPACK_PAYLOAD, GUILDHALL_MSGPACK_VALUE, GUILDHALL_MSGPACK_KEY } guildhall_msgpack_part;

/* What begins at `from`. The bytes stay where they are meanwhile. */
VALUE guildhall_msgpack_decode_at(const guildhall_msgpack_codec *codec, const uint8_t *bytes, size_t length, size_t from,
                                  guildhall_msgpack_part part);
/* The exception (not raised) for a payload that cannot be decoded. outcome: what is not known yet is {0}. */
VALUE guildhall_msgpack_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length);

void guildhall_init_msgpack_build(void);
void guildhall_init_msgpack_encode(VALUE msgpack);
void guildhall_init_msgpack_document(VALUE msgpack);

extern guildhall_document_format guildhall_msgpack_documents;

#endif
