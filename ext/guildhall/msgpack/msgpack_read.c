/* One pass, no recursion: the containers that are open stand in tape->levels. */
#include "../utf8.h"
#include "msgpack_read.h"

typedef guildhall_msgpack_status status;

const guildhall_msgpack_rules guildhall_msgpack_default_rules = {
    .max_nesting = 128,
    .max_bytes = GUILDHALL_TAPE_BYTES_LIMIT,
    .allow_invalid_utf8 = 1,
    .extensions = {[7] = 1u << 31}, /* -1, timestamps */
};

typedef struct {
    guildhall_msgpack_input input;
    const uint8_t *bytes;
    const guildhall_msgpack_rules *rules;
    guildhall_tape *tape;
} reader;

static inline int at_key(const reader *r)
{
    if (!r->tape->depth) return 0;
    const guildhall_tape_level *level = &r->tape->levels[r->tape->depth - 1];
    return guildhall_tape_type(r->tape->nodes[level->index]) == GUILDHALL_TAPE_MAP && level->left % 2 == 0;
}

static inline status add(reader *r, unsigned type, size_t length, const uint8_t *at)
{
    guildhall_tape_node node = guildhall_tape_make(type, length, (size_t)(at - r->bytes));
    return guildhall_tape_add(r->tape, node) ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_NO_MEMORY;
}

static status text(reader *r, const guildhall_msgpack_token *token)
{
    static const unsigned types[] = {GUILDHALL_MSGPACK_NODE_ASCII, GUILDHALL_MSGPACK_NODE_UTF8,
                                     GUILDHALL_MSGPACK_NODE_UNCHECKED};
    guildhall_utf8_class class = guildhall_utf8_classify(token->bytes, token->length);
    if (class == GUILDHALL_UTF8_INVALID) {
        if (!r->rules->allow_invalid_utf8 || (r->rules->symbol_keys && at_key(r))) return GUILDHALL_MSGPACK_INVALID_UTF8;
    }
    return add(r, types[class], token->length, token->bytes);
}

static status extension(reader *r, const guildhall_msgpack_token *token)
{
    guildhall_msgpack_timestamp timestamp;
    if (!guildhall_msgpack_knows(r->rules, token->extension)) return GUILDHALL_MSGPACK_UNKNOWN_EXTENSION;
    if (token->extension == GUILDHALL_MSGPACK_TIMESTAMP_TYPE && !r->rules->own_timestamps &&
        !guildhall_msgpack_read_timestamp(token->bytes, token->length, &timestamp)) {
        return GUILDHALL_MSGPACK_BAD_TIMESTAMP;
    }
    return add(r, GUILDHALL_MSGPACK_NODE_EXTENSION, token->length, token->bytes);
}

static status number(reader *r, const guildhall_msgpack_token *token, const uint8_t *head)
{
    if (!guildhall_tape_number_fits(token->number)) return add(r, GUILDHALL_MSGPACK_NODE_WIDE, 0, head);
    guildhall_tape_node node = guildhall_tape_number(GUILDHALL_MSGPACK_NODE_INTEGER, token->number);
    return guildhall_tape_add(r->tape, node) ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_NO_MEMORY;
}

static status container(reader *r, const guildhall_msgpack_token *token)
{
    int map = token->type == GUILDHALL_MSGPACK_MAP;
    if (r->tape->depth >= r->rules->max_nesting) return GUILDHALL_MSGPACK_TOO_DEEP;
    guildhall_tape_node node = guildhall_tape_make(map ? GUILDHALL_TAPE_MAP : GUILDHALL_TAPE_ARRAY, token->length, 0);
    uint64_t children = map ? (uint64_t)token->length * 2 : token->length;
    if (!guildhall_tape_add(r->tape, node)) return GUILDHALL_MSGPACK_NO_MEMORY;
    if (!children) {
        guildhall_tape_close(r->tape, (uint32_t)r->tape->count - 1);
        return GUILDHALL_MSGPACK_VALID;
    }
    return guildhall_tape_open(r->tape, children + 1, 0) ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_NO_MEMORY;
}

static inline status value(reader *r)
{
    const uint8_t *head = r->input.at;
    guildhall_msgpack_token token;
    status status = guildhall_msgpack_next(&r->input, &token);
    if (status == GUILDHALL_MSGPACK_VALID) {
        switch (token.type) {
        case GUILDHALL_MSGPACK_NIL: status = add(r, GUILDHALL_MSGPACK_NODE_NIL, 0, head); break;
        case GUILDHALL_MSGPACK_FALSE: status = add(r, GUILDHALL_MSGPACK_NODE_FALSE, 0, head); break;
        case GUILDHALL_MSGPACK_TRUE: status = add(r, GUILDHALL_MSGPACK_NODE_TRUE, 0, head); break;
        case GUILDHALL_MSGPACK_INTEGER: status = number(r, &token, head); break;
        case GUILDHALL_MSGPACK_UNSIGNED: status = add(r, GUILDHALL_MSGPACK_NODE_WIDE, 0, head); break;
        case GUILDHALL_MSGPACK_FLOAT: status = add(r, GUILDHALL_MSGPACK_NODE_FLOAT, 0, head); break;
        case GUILDHALL_MSGPACK_STRING: status = text(r, &token); break;
        case GUILDHALL_MSGPACK_BINARY: status = add(r, GUILDHALL_MSGPACK_NODE_BINARY, token.length, token.bytes); break;
        case GUILDHALL_MSGPACK_EXTENSION: status = extension(r, &token); break;
        case GUILDHALL_MSGPACK_ARRAY:
        case GUILDHALL_MSGPACK_MAP: status = container(r, &token); break;
        }
    }
    if (status != GUILDHALL_MSGPACK_VALID) r->input.at = head;
    return status;
}

/* Counts the value just read, and closes the containers that it completes. */
static inline void complete(guildhall_tape *tape)
{
    while (tape->depth && --tape->levels[tape->depth - 1].left == 0) {
        guildhall_tape_close(tape, tape->levels[tape->depth - 1].index);
        tape->depth--;
    }
}

static status read_all(reader *r, size_t length)
{
    if (!length) return GUILDHALL_MSGPACK_EMPTY;
    if (length > r->rules->max_bytes) return GUILDHALL_MSGPACK_TOO_LONG;
    r->tape->count = r->tape->depth = 0;
    do {
        status status = value(r);
        if (__builtin_expect(status != GUILDHALL_MSGPACK_VALID, 0)) return status;
        complete(r->tape);
    } while (r->tape->depth);
    return r->input.at == r->input.end ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_AFTER_END;
}

guildhall_msgpack_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length,
                                                 const guildhall_msgpack_rules *rules, guildhall_tape *tape)
{
    reader r = {{bytes, bytes + length}, bytes, rules, tape};
    status status = read_all(&r, length);
    return (guildhall_msgpack_outcome){status, (size_t)(r.input.at - bytes)};
}

static void add_key(guildhall_path *path, guildhall_tape_node key, const uint8_t *bytes)
{
    unsigned type = guildhall_tape_type(key);
    if (type == GUILDHALL_MSGPACK_NODE_INTEGER) guildhall_path_index(path, guildhall_tape_number_of(key));
    else if (type < GUILDHALL_MSGPACK_NODE_ASCII || type > GUILDHALL_MSGPACK_NODE_BINARY)
        guildhall_path_key(path, (const uint8_t *)"?", 1);
    else guildhall_path_key(path, bytes + guildhall_tape_offset(key), guildhall_tape_length(key));
}

/* The children of an open container that are complete stand after it on the tape. */
static void add_level(guildhall_path *path, const guildhall_tape *tape, const guildhall_tape_level *level,
                      const uint8_t *bytes)
{
    guildhall_tape_node node = tape->nodes[level->index];
    int map = guildhall_tape_type(node) == GUILDHALL_TAPE_MAP;
    uint64_t children = (uint64_t)guildhall_tape_length(node) << map, done = children - level->left;
    if (!map) {
        guildhall_path_index(path, (int64_t)done);
    } else if (done % 2) { /* the key is read, its value is not */
        uint32_t index = level->index + 1;
        for (uint64_t i = 1; i < done; i++) index = guildhall_tape_next(tape->nodes, index);
        add_key(path, tape->nodes[index], bytes);
    }
}

void guildhall_msgpack_locate(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                              guildhall_path *path)
{
    guildhall_tape tape = {0};
    guildhall_path_init(path);
    guildhall_msgpack_read(bytes, length, rules, &tape);
    for (uint32_t i = 0; i < tape.depth; i++) add_level(path, &tape, &tape.levels[i], bytes);
    guildhall_tape_free(&tape);
}
