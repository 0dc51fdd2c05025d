/* One pass, no recursion: the open containers are in a list. */
#include "read.h"
#include "text/ascii.h"
#include "text/utf8.h"

#define CHECK(expression)                                                                                              \
    do {                                                                                                               \
        status checked = (expression);                                                                                 \
        if (__builtin_expect(checked != GUILDHALL_MSGPACK_VALID, 0)) return checked;                                   \
    } while (0)

typedef guildhall_msgpack_status status;
typedef guildhall_msgpack_token token;

const guildhall_msgpack_rules guildhall_msgpack_default_rules = {
    .max_nesting = 128,
    .max_bytes = 64 << 20,
    .allow_invalid_utf8 = 1,
    .extensions = {[7] = 1u << 31}, /* -1, timestamps */
};

#define NO_ENTRY UINT32_MAX

/* A container that is open: keys and values of a map are children alike. */
typedef struct {
    uint32_t entry, samples; /* its entry in the index, NO_ENTRY where it has none; its first sample among those of the open containers */
    uint32_t done, children;
    uint32_t key;           /* where the last key begins */
    uint32_t map;           /* 0 or 1 */
} level;

typedef struct {
    guildhall_msgpack_input input;
    const uint8_t *bytes;
    const guildhall_msgpack_rules *rules;
    guildhall_index_builder *builder;
    uint32_t depth;
    level levels[GUILDHALL_MSGPACK_NESTING_LIMIT];
} reader;

static inline uint32_t msgpack_read_here(const reader *r) { return (uint32_t)(r->input.at - r->bytes); }

static inline status msgpack_read_add(guildhall_words *words, uint32_t word)
{
    return guildhall_words_add(words, word) ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_NO_MEMORY;
}

static inline int msgpack_read_at_key(const reader *r)
{
    const level *level = r->depth ? &r->levels[r->depth - 1] : NULL;
    return level && level->map && level->done % 2 == 0;
}

static status msgpack_read_text(const reader *r, const token *token)
{
    if (guildhall_ascii(token->bytes, token->length)) return GUILDHALL_MSGPACK_VALID;
    if (r->rules->allow_invalid_utf8 && !(r->rules->symbol_keys && msgpack_read_at_key(r))) return GUILDHALL_MSGPACK_VALID;
    return guildhall_utf8_classify(token->bytes, token->length) == GUILDHALL_UTF8_INVALID ? GUILDHALL_MSGPACK_INVALID_UTF8
                                                                                        : GUILDHALL_MSGPACK_VALID;
}

static status msgpack_read_extension(const reader *r, const token *token)
{
    guildhall_msgpack_timestamp timestamp;
    if (!guildhall_msgpack_knows(r->rules, token->extension)) return GUILDHALL_MSGPACK_UNKNOWN_EXTENSION;
    if (token->extension == GUILDHALL_MSGPACK_TIMESTAMP_TYPE && !r->rules->own_timestamps &&
        !guildhall_msgpack_read_timestamp(token->bytes, token->length, &timestamp)) {
        return GUILDHALL_MSGPACK_BAD_TIMESTAMP;
    }
    return GUILDHALL_MSGPACK_VALID;
}

static status msgpack_read_open_container(reader *r, const token *token)
{
    uint32_t map = token->type == GUILDHALL_MSGPACK_MAP;
    if (r->depth >= r->rules->max_nesting) return GUILDHALL_MSGPACK_TOO_DEEP;
    if (!token->length) return GUILDHALL_MSGPACK_VALID;
    guildhall_index_builder *builder = r->builder;
    r->levels[r->depth] = (level){.entry = (uint32_t)builder->entries.count, .samples = (uint32_t)builder->samples.count,
                                  .children = token->length << map, .map = map};
    if (guildhall_msgpack_indexed(token)) {
        CHECK(msgpack_read_add(&builder->entries, 0));
        CHECK(msgpack_read_add(&builder->entries, 0));
    } else {
        r->levels[r->depth].entry = NO_ENTRY;
    }
    r->depth++;
    return GUILDHALL_MSGPACK_VALID;
}

static status msgpack_read_close_container(reader *r)
{
    level *closed = &r->levels[--r->depth];
    guildhall_index_builder *builder = r->builder;
    if (closed->entry == NO_ENTRY) return GUILDHALL_MSGPACK_VALID;
    for (size_t i = closed->samples; i < builder->samples.count; i++) CHECK(msgpack_read_add(&builder->entries, builder->samples.words[i]));
    builder->samples.count = closed->samples;
    builder->entries.words[closed->entry] = msgpack_read_here(r);
    builder->entries.words[closed->entry + 1] = (uint32_t)builder->entries.count;
    return GUILDHALL_MSGPACK_VALID;
}

/* Notes where a child begins, as far as that is wanted. */
static inline status msgpack_read_begin_child(reader *r)
{
    level *level = &r->levels[r->depth - 1];
    if (level->map && level->done % 2 == 0) level->key = msgpack_read_here(r);
    if (level->done & ((GUILDHALL_SAMPLED << level->map) - 1) || !level->done) return GUILDHALL_MSGPACK_VALID;
    CHECK(msgpack_read_add(&r->builder->samples, msgpack_read_here(r)));
    return msgpack_read_add(&r->builder->samples, (uint32_t)r->builder->entries.count);
}

/* A scalar or the head of a container. */
static inline status msgpack_read_head(reader *r)
{
    token token;
    CHECK(guildhall_msgpack_next(&r->input, &token));
    switch (token.type) {
    case GUILDHALL_MSGPACK_STRING: return msgpack_read_text(r, &token);
    case GUILDHALL_MSGPACK_EXTENSION: return msgpack_read_extension(r, &token);
    case GUILDHALL_MSGPACK_ARRAY: case GUILDHALL_MSGPACK_MAP: return msgpack_read_open_container(r, &token);
    default: return GUILDHALL_MSGPACK_VALID;
    }
}

/* Counts the value just read, and closes the containers that it completes. */
static inline status msgpack_read_complete(reader *r)
{
    while (r->depth && ++r->levels[r->depth - 1].done == r->levels[r->depth - 1].children) CHECK(msgpack_read_close_container(r));
    return GUILDHALL_MSGPACK_VALID;
}

static status msgpack_read_read_all(reader *r, size_t length)
{
    if (!length) return GUILDHALL_MSGPACK_EMPTY;
    if (length > r->rules->max_bytes) return GUILDHALL_MSGPACK_TOO_LONG;
    r->builder->entries.count = r->builder->samples.count = 0;
    do {
        if (r->depth) CHECK(msgpack_read_begin_child(r));
        const uint8_t *begin = r->input.at;
        uint32_t depth = r->depth;
        status found = msgpack_read_head(r);
        if (__builtin_expect(found != GUILDHALL_MSGPACK_VALID, 0)) {
            r->input.at = begin;
            return found;
        }
        if (r->depth == depth) CHECK(msgpack_read_complete(r));
    } while (r->depth);
    return r->input.at == r->input.end ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_AFTER_END;
}

/* The list of open containers is long: what is not used of it is not touched. */
static void msgpack_read_begin(reader *r, const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                  guildhall_index_builder *builder)
{
    r->input = (guildhall_msgpack_input){bytes, bytes + length};
    r->bytes = bytes;
    r->rules = rules;
    r->builder = builder;
    r->depth = 0;
}

guildhall_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length,
                                                 const guildhall_msgpack_rules *rules, guildhall_index_builder *builder)
{
    reader r;
    msgpack_read_begin(&r, bytes, length, rules, builder);
    status status = msgpack_read_read_all(&r, length);
    return (guildhall_outcome){status, msgpack_read_here(&r)};
}

static void msgpack_read_add_key(guildhall_path *path, const reader *r, uint32_t offset)
{
    guildhall_msgpack_input input = {r->bytes + offset, r->input.end};
    token key = {0};
    guildhall_msgpack_next(&input, &key);
    if (key.type == GUILDHALL_MSGPACK_INTEGER) guildhall_path_index(path, key.number);
    else if (key.type == GUILDHALL_MSGPACK_STRING || key.type == GUILDHALL_MSGPACK_BINARY) guildhall_path_key(path, key.bytes, key.length);
    else guildhall_path_key(path, (const uint8_t *)"?", 1);
}

void guildhall_msgpack_locate(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                              guildhall_path *path)
{
    guildhall_index_builder builder = {0};
    reader r;
    msgpack_read_begin(&r, bytes, length, rules, &builder);
    guildhall_path_init(path);
    if (msgpack_read_read_all(&r, length) == GUILDHALL_MSGPACK_NO_MEMORY) r.depth = 0; /* rather no path than the one to where that was */
    for (uint32_t i = 0; i < r.depth; i++) {
        const level *level = &r.levels[i];
        if (!level->map) guildhall_path_index(path, level->done);
        else if (level->done % 2) msgpack_read_add_key(path, &r, level->key); /* the key is read, its value is not */
    }
    guildhall_index_builder_free(&builder);
}
