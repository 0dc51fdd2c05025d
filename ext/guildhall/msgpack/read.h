/* Checks a MessagePack payload and builds its structural index (document/structural_index.h). Without Ruby, from any
 * thread. An item of a map is a pair. An array of one element has no entry: it ends where the element does. */
#ifndef GUILDHALL_MSGPACK_READ_H
#define GUILDHALL_MSGPACK_READ_H

#include "document/path.h"
#include "document/structural_index.h"
#include "token.h"

/* The most levels that may be asked for: the decoder recurses, and threads have small stacks. */
#define GUILDHALL_MSGPACK_NESTING_LIMIT 512

typedef struct {
    uint32_t max_nesting;
    size_t max_bytes;
    unsigned allow_invalid_utf8 : 1;
    unsigned allow_unknown_extensions : 1;
    unsigned symbol_keys : 1; /* map keys have to be valid UTF-8, because Symbols have to */
    unsigned own_timestamps : 1; /* type -1 is registered: its payload is not checked */
    uint32_t extensions[8];   /* bit n of 256: extension type (uint8_t)n is known */
} guildhall_msgpack_rules;

extern const guildhall_msgpack_rules guildhall_msgpack_default_rules;

static inline int guildhall_msgpack_knows(const guildhall_msgpack_rules *rules, int8_t extension)
{
    uint8_t type = (uint8_t)extension;
    return rules->allow_unknown_extensions || (rules->extensions[type >> 5] >> (type & 31) & 1);
}

static inline int guildhall_msgpack_indexed(const guildhall_msgpack_token *token)
{
    if (token->type == GUILDHALL_MSGPACK_MAP) return token->length > 0;
    return token->type == GUILDHALL_MSGPACK_ARRAY && token->length > 1;
}

/* The whole payload must be one value. When it is, builder->entries is its index. */
guildhall_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length,
                                                 const guildhall_msgpack_rules *rules, guildhall_index_builder *builder);

/* Where in the value the reader stood when it failed: reads again. */
void guildhall_msgpack_locate(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                              guildhall_path *path);

#endif
