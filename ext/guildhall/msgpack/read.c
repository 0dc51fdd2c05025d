/* Checks a payload and builds its index. */
#include "read.h"
#include "text/ascii.h"
#include "text/utf8.h"

typedef guildhall_msgpack_status status;
typedef guildhall_msgpack_token token;

const guildhall_msgpack_rules guildhall_msgpack_default_rules = {
    .max_nesting = 128,
    .max_bytes = 64 << 20,
    .allow_invalid_utf8 = 1,
    .extensions = {[7] = 1u << 31}, /* -1, timestamps */
};

#define NO_ENTRY UINT32_MAX

typedef struct {
    uint32_t done, children, map;
    uint32_t entry, samples; /* its entry in the index, NO_ENTRY where it has none; its first sample among those of the open containers */
    uint32_t key;           /* where the last key begins */
} level;

typedef struct {
    guildhall_msgpack_input input;
    const uint8_t *bytes;
    const guildhall_msgpack_rules *rules;
    guildhall_index_builder *builder;
    uint32_t depth;
    level levels[GUILDHALL_MSGPACK_NESTING_LIMIT];
} scan;

#define MSGPACK(name) msgpack_read_##name
#define msgpack_read_empty(s, map) GUILDHALL_MSGPACK_VALID

static inline uint32_t msgpack_read_here(const scan *s) { return (uint32_t)(s->input.at - s->bytes); }

static inline status msgpack_read_add(guildhall_words *words, uint32_t first, uint32_t second)
{
    return guildhall_words_add(words, first) && guildhall_words_add(words, second) ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_NO_MEMORY;
}

static status msgpack_read_text(const scan *s, const token *token, int is_key)
{
    if (guildhall_ascii(token->bytes, token->length)) return GUILDHALL_MSGPACK_VALID;
    if (s->rules->allow_invalid_utf8 && !(s->rules->symbol_keys && is_key)) return GUILDHALL_MSGPACK_VALID;
    return guildhall_utf8_classify(token->bytes, token->length) == GUILDHALL_UTF8_INVALID ? GUILDHALL_MSGPACK_INVALID_UTF8
                                                                                          : GUILDHALL_MSGPACK_VALID;
}

static status msgpack_read_extension(const scan *s, const token *token)
{
    guildhall_msgpack_timestamp timestamp;
    if (!guildhall_msgpack_knows(s->rules, token->extension)) return GUILDHALL_MSGPACK_UNKNOWN_EXTENSION;
    if (token->extension != GUILDHALL_MSGPACK_TIMESTAMP_TYPE || s->rules->own_timestamps) return GUILDHALL_MSGPACK_VALID;
    int valid = guildhall_msgpack_read_timestamp(token->bytes, token->length, &timestamp);
    return valid ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_BAD_TIMESTAMP;
}

static inline status msgpack_read_scalar(const scan *s, const token *token, int is_key)
{
    if (token->type == GUILDHALL_MSGPACK_STRING) return msgpack_read_text(s, token, is_key);
    return token->type == GUILDHALL_MSGPACK_EXTENSION ? msgpack_read_extension(s, token) : GUILDHALL_MSGPACK_VALID;
}

static inline status msgpack_read_open(scan *s, level *opened, const token *token)
{
    guildhall_index_builder *builder = s->builder;
    opened->samples = (uint32_t)builder->samples.count;
    opened->entry = guildhall_msgpack_indexed(token) ? (uint32_t)builder->entries.count : NO_ENTRY;
    return opened->entry == NO_ENTRY ? GUILDHALL_MSGPACK_VALID : msgpack_read_add(&builder->entries, 0, 0);
}

static status msgpack_read_close(scan *s, const level *closed)
{
    guildhall_index_builder *builder = s->builder;
    if (closed->entry == NO_ENTRY) return GUILDHALL_MSGPACK_VALID;
    for (size_t i = closed->samples; i < builder->samples.count; i++) {
        if (!guildhall_words_add(&builder->entries, builder->samples.words[i])) return GUILDHALL_MSGPACK_NO_MEMORY;
    }
    builder->samples.count = closed->samples;
    builder->entries.words[closed->entry] = msgpack_read_here(s);
    builder->entries.words[closed->entry + 1] = (uint32_t)builder->entries.count;
    return GUILDHALL_MSGPACK_VALID;
}

/* Notes where it begins, as far as that is wanted. */
static inline status msgpack_read_child(scan *s, level *around, int is_key)
{
    if (is_key) around->key = msgpack_read_here(s);
    if (around->done & ((GUILDHALL_SAMPLED << around->map) - 1) || !around->done) return GUILDHALL_MSGPACK_VALID;
    return msgpack_read_add(&s->builder->samples, msgpack_read_here(s), (uint32_t)s->builder->entries.count);
}

#include "scan.inc.c"

static status msgpack_read_payload(scan *s, size_t length)
{
    if (!length) return GUILDHALL_MSGPACK_EMPTY;
    if (length > s->rules->max_bytes) return GUILDHALL_MSGPACK_TOO_LONG;
    s->builder->entries.count = s->builder->samples.count = 0;
    CHECK(msgpack_read_value(s, 0));
    return s->input.at == s->input.end ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_AFTER_END;
}

/* The list of open containers is long: what is not used of it is not touched. */
static void msgpack_read_begin(scan *s, const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                               guildhall_index_builder *builder)
{
    s->input = (guildhall_msgpack_input){bytes, bytes + length};
    s->bytes = bytes;
    s->rules = rules;
    s->builder = builder;
    s->depth = 0;
}

guildhall_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length,
                                                 const guildhall_msgpack_rules *rules, guildhall_index_builder *builder)
{
    scan s;
    msgpack_read_begin(&s, bytes, length, rules, builder);
    status status = msgpack_read_payload(&s, length);
    return (guildhall_outcome){status, msgpack_read_here(&s)};
}

static void msgpack_read_add_key(guildhall_path *path, const scan *s, uint32_t offset)
{
    guildhall_msgpack_input input = {s->bytes + offset, s->input.end};
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
    scan s;
    msgpack_read_begin(&s, bytes, length, rules, &builder);
    guildhall_path_init(path);
    if (msgpack_read_payload(&s, length) == GUILDHALL_MSGPACK_NO_MEMORY) s.depth = 0; /* rather no path than the one to where that was */
    for (uint32_t i = 0; i < s.depth; i++) {
        const level *level = &s.levels[i];
        if (!level->map) guildhall_path_index(path, level->done);
        else if (level->done % 2) msgpack_read_add_key(path, &s, level->key); /* the key is read, its value is not */
    }
    guildhall_index_builder_free(&builder);
}
