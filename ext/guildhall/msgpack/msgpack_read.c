/* One pass, no recursion: the containers that are open stand in a list. */
#include "../ascii.h"
#include "../utf8.h"
#include "msgpack_read.h"

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

#define UNMARKED UINT32_MAX

/* A container that is open: keys and values of a map are children alike. */
typedef struct {
    uint32_t mark, samples; /* its mark, UNMARKED where it has none; its first sample among those of the open containers */
    uint32_t done, children;
    uint32_t key;           /* where the last key begins */
    uint32_t map;           /* 0 or 1 */
} level;

typedef struct {
    guildhall_msgpack_input input;
    const uint8_t *bytes;
    const guildhall_msgpack_rules *rules;
    guildhall_notes *notes;
    uint32_t depth;
    level levels[GUILDHALL_MSGPACK_NESTING_LIMIT];
} reader;

static inline uint32_t here(const reader *r) { return (uint32_t)(r->input.at - r->bytes); }

static inline status add(guildhall_words *words, uint32_t word)
{
    return guildhall_words_add(words, word) ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_NO_MEMORY;
}

static inline int at_key(const reader *r)
{
    const level *level = r->depth ? &r->levels[r->depth - 1] : NULL;
    return level && level->map && level->done % 2 == 0;
}

static status text(const reader *r, const token *token)
{
    if (guildhall_ascii(token->bytes, token->length)) return GUILDHALL_MSGPACK_VALID;
    if (r->rules->allow_invalid_utf8 && !(r->rules->symbol_keys && at_key(r))) return GUILDHALL_MSGPACK_VALID;
    return guildhall_utf8_classify(token->bytes, token->length) == GUILDHALL_UTF8_INVALID ? GUILDHALL_MSGPACK_INVALID_UTF8
                                                                                        : GUILDHALL_MSGPACK_VALID;
}

static status extension(const reader *r, const token *token)
{
    guildhall_msgpack_timestamp timestamp;
    if (!guildhall_msgpack_knows(r->rules, token->extension)) return GUILDHALL_MSGPACK_UNKNOWN_EXTENSION;
    if (token->extension == GUILDHALL_MSGPACK_TIMESTAMP_TYPE && !r->rules->own_timestamps &&
        !guildhall_msgpack_read_timestamp(token->bytes, token->length, &timestamp)) {
        return GUILDHALL_MSGPACK_BAD_TIMESTAMP;
    }
    return GUILDHALL_MSGPACK_VALID;
}

static status open_container(reader *r, const token *token)
{
    uint32_t map = token->type == GUILDHALL_MSGPACK_MAP;
    if (r->depth >= r->rules->max_nesting) return GUILDHALL_MSGPACK_TOO_DEEP;
    if (!token->length) return GUILDHALL_MSGPACK_VALID;
    guildhall_notes *notes = r->notes;
    r->levels[r->depth] = (level){.mark = (uint32_t)notes->marks.count, .samples = (uint32_t)notes->samples.count,
                                  .children = token->length << map, .map = map};
    if (guildhall_msgpack_marked(token)) {
        CHECK(add(&notes->marks, 0));
        CHECK(add(&notes->marks, 0));
    } else {
        r->levels[r->depth].mark = UNMARKED;
    }
    r->depth++;
    return GUILDHALL_MSGPACK_VALID;
}

static status close_container(reader *r)
{
    level *closed = &r->levels[--r->depth];
    guildhall_notes *notes = r->notes;
    if (closed->mark == UNMARKED) return GUILDHALL_MSGPACK_VALID;
    for (size_t i = closed->samples; i < notes->samples.count; i++) CHECK(add(&notes->marks, notes->samples.words[i]));
    notes->samples.count = closed->samples;
    notes->marks.words[closed->mark] = here(r);
    notes->marks.words[closed->mark + 1] = (uint32_t)notes->marks.count;
    return GUILDHALL_MSGPACK_VALID;
}

/* Notes where a child begins, as far as that is wanted. */
static inline status begin_child(reader *r)
{
    level *level = &r->levels[r->depth - 1];
    if (level->map && level->done % 2 == 0) level->key = here(r);
    if (level->done & ((GUILDHALL_SAMPLED << level->map) - 1) || !level->done) return GUILDHALL_MSGPACK_VALID;
    CHECK(add(&r->notes->samples, here(r)));
    return add(&r->notes->samples, (uint32_t)r->notes->marks.count);
}

/* A scalar or the head of a container. */
static inline status head(reader *r)
{
    token token;
    CHECK(guildhall_msgpack_next(&r->input, &token));
    switch (token.type) {
    case GUILDHALL_MSGPACK_STRING: return text(r, &token);
    case GUILDHALL_MSGPACK_EXTENSION: return extension(r, &token);
    case GUILDHALL_MSGPACK_ARRAY: case GUILDHALL_MSGPACK_MAP: return open_container(r, &token);
    default: return GUILDHALL_MSGPACK_VALID;
    }
}

/* Counts the value just read, and closes the containers that it completes. */
static inline status complete(reader *r)
{
    while (r->depth && ++r->levels[r->depth - 1].done == r->levels[r->depth - 1].children) CHECK(close_container(r));
    return GUILDHALL_MSGPACK_VALID;
}

static status read_all(reader *r, size_t length)
{
    if (!length) return GUILDHALL_MSGPACK_EMPTY;
    if (length > r->rules->max_bytes) return GUILDHALL_MSGPACK_TOO_LONG;
    r->notes->marks.count = r->notes->samples.count = 0;
    do {
        if (r->depth) CHECK(begin_child(r));
        const uint8_t *begin = r->input.at;
        uint32_t depth = r->depth;
        status found = head(r);
        if (__builtin_expect(found != GUILDHALL_MSGPACK_VALID, 0)) {
            r->input.at = begin;
            return found;
        }
        if (r->depth == depth) CHECK(complete(r));
    } while (r->depth);
    return r->input.at == r->input.end ? GUILDHALL_MSGPACK_VALID : GUILDHALL_MSGPACK_AFTER_END;
}

/* The list of open containers is long: what is not used of it is not touched. */
static void begin(reader *r, const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                  guildhall_notes *notes)
{
    r->input = (guildhall_msgpack_input){bytes, bytes + length};
    r->bytes = bytes;
    r->rules = rules;
    r->notes = notes;
    r->depth = 0;
}

guildhall_msgpack_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length,
                                                 const guildhall_msgpack_rules *rules, guildhall_notes *notes)
{
    reader r;
    begin(&r, bytes, length, rules, notes);
    status status = read_all(&r, length);
    return (guildhall_msgpack_outcome){status, here(&r)};
}

static void add_key(guildhall_path *path, const reader *r, uint32_t offset)
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
    guildhall_notes notes = {0};
    reader r;
    begin(&r, bytes, length, rules, &notes);
    guildhall_path_init(path);
    if (read_all(&r, length) == GUILDHALL_MSGPACK_NO_MEMORY) r.depth = 0; /* rather no path than the one to where that was */
    for (uint32_t i = 0; i < r.depth; i++) {
        const level *level = &r.levels[i];
        if (!level->map) guildhall_path_index(path, level->done);
        else if (level->done % 2) add_key(path, &r, level->key); /* the key is read, its value is not */
    }
    guildhall_notes_free(&notes);
}
