/* Checks a MessagePack payload and notes on a tape what it is made of. Without Ruby, from any thread. */
#ifndef GUILDHALL_MSGPACK_READ_H
#define GUILDHALL_MSGPACK_READ_H

#include "../tape/tape.h"
#include "../tape/tape_path.h"
#include "msgpack_token.h"

/* Scalars on the tape. The bytes of texts, binaries and extensions stand at the node's offset in the source. */
typedef enum {
    GUILDHALL_MSGPACK_NODE_NIL,
    GUILDHALL_MSGPACK_NODE_FALSE,
    GUILDHALL_MSGPACK_NODE_TRUE,
    GUILDHALL_MSGPACK_NODE_INTEGER,   /* the number itself */
    GUILDHALL_MSGPACK_NODE_WIDE,      /* beyond sixty bits; offset: of its head */
    GUILDHALL_MSGPACK_NODE_FLOAT,     /* offset: of its head */
    GUILDHALL_MSGPACK_NODE_ASCII,
    GUILDHALL_MSGPACK_NODE_UTF8,
    GUILDHALL_MSGPACK_NODE_UNCHECKED, /* a text that is not valid UTF-8, where the rules allow it */
    GUILDHALL_MSGPACK_NODE_BINARY,
    GUILDHALL_MSGPACK_NODE_EXTENSION  /* its type is the byte before the offset */
} guildhall_msgpack_node;

/* The most levels that may be asked for: the decoder recurses, and threads have small stacks. */
#define GUILDHALL_MSGPACK_NESTING_LIMIT 512

typedef struct {
    uint32_t max_nesting;
    size_t max_bytes;
    unsigned allow_invalid_utf8 : 1;
    unsigned allow_unknown_extensions : 1;
    unsigned symbol_keys : 1; /* map keys have to be valid UTF-8, because Symbols have to */
    unsigned own_timestamps : 1; /* somebody registered type -1: its payload is not checked */
    uint32_t extensions[8];   /* bit n of 256: extension type (uint8_t)n is known */
} guildhall_msgpack_rules;

extern const guildhall_msgpack_rules guildhall_msgpack_default_rules;

static inline int guildhall_msgpack_knows(const guildhall_msgpack_rules *rules, int8_t extension)
{
    uint8_t type = (uint8_t)extension;
    return rules->allow_unknown_extensions || (rules->extensions[type >> 5] >> (type & 31) & 1);
}

typedef struct {
    guildhall_msgpack_status status;
    size_t fault; /* byte offset */
} guildhall_msgpack_outcome;

/* The whole payload must be one value. When it is, tape->nodes holds tape->count nodes. */
guildhall_msgpack_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length,
                                                 const guildhall_msgpack_rules *rules, guildhall_tape *tape);

/* Where in the value the reader stood when it failed: reads again. */
void guildhall_msgpack_locate(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                              guildhall_path *path);

#endif
