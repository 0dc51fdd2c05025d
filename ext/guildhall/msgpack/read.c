/* Checks a payload and builds its index; later, what the index does not say is read again. */
#include "read.h"
#include "text/ascii.h"
#include "text/utf8.h"

typedef guildhall_msgpack_status status;
typedef guildhall_msgpack_token token;
typedef guildhall_msgpack_items items;
typedef guildhall_view view;
typedef guildhall_position position;

const guildhall_msgpack_rules guildhall_msgpack_default_rules = {
    .max_nesting = 128,
    .max_bytes = 64 << 20,
    .allow_invalid_utf8 = 1,
    .extensions = {[7] = 1u << 31}, /* -1, timestamps */
};

#define NO_ENTRY UINT32_MAX

static inline int msgpack_read_indexed(const token *token)
{
    if (token->type == GUILDHALL_MSGPACK_MAP) return token->length > 0;
    return token->type == GUILDHALL_MSGPACK_ARRAY && token->length > 1;
}

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
    opened->entry = msgpack_read_indexed(token) ? (uint32_t)builder->entries.count : NO_ENTRY;
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
static inline guildhall_outcome msgpack_read_all(scan *s, const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                                                 guildhall_index_builder *builder)
{
    s->input = (guildhall_msgpack_input){bytes, bytes + length};
    s->bytes = bytes;
    s->rules = rules;
    s->builder = builder;
    s->depth = 0;
    status status = msgpack_read_payload(s, length);
    return (guildhall_outcome){status, msgpack_read_here(s)};
}

guildhall_outcome guildhall_msgpack_read(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules,
                                         guildhall_index_builder *builder)
{
    scan s;
    return msgpack_read_all(&s, bytes, length, rules, builder);
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

guildhall_outcome guildhall_msgpack_locate(const uint8_t *bytes, size_t length, const guildhall_msgpack_rules *rules, guildhall_path *path)
{
    guildhall_index_builder builder = {0};
    scan s;
    guildhall_outcome outcome = msgpack_read_all(&s, bytes, length, rules, &builder);
    guildhall_path_init(path);
    if (outcome.status == GUILDHALL_MSGPACK_NO_MEMORY) s.depth = 0; /* rather no path than the one to where that was */
    for (uint32_t i = 0; i < s.depth; i++) {
        const level *level = &s.levels[i];
        if (!level->map) guildhall_path_index(path, level->done);
        else if (level->done % 2) msgpack_read_add_key(path, &s, level->key); /* the key is read, its value is not */
    }
    guildhall_index_builder_free(&builder);
    return outcome;
}

/* ---- afterwards: it was valid before */

static inline token msgpack_read_token(const view *v, uint32_t *offset)
{
    guildhall_msgpack_input input = {v->bytes + *offset, v->bytes + v->length};
    token found = {0};
    guildhall_msgpack_next(&input, &found);
    *offset = (uint32_t)(input.at - v->bytes);
    return found;
}

token guildhall_msgpack_at(const view *v, uint32_t offset) { return msgpack_read_token(v, &offset); }

/* The position of what follows, in the source and in the index. */
static inline position msgpack_read_past(const view *v, position at)
{
    for (;;) {
        token here = msgpack_read_token(v, &at.offset);
        const uint32_t *entry = (const uint32_t *)v->entries + at.entry;
        if (msgpack_read_indexed(&here)) return (position){entry[0], entry[1], 0};
        if (here.type != GUILDHALL_MSGPACK_ARRAY || !here.length) return at;
    }
}

items guildhall_msgpack_items_of(const view *v, position container)
{
    position at = container;
    token head = msgpack_read_token(v, &at.offset);
    if (msgpack_read_indexed(&head)) at.entry += 2;
    return (items){.view = v, .at = at, .left = head.length, .map = head.type == GUILDHALL_MSGPACK_MAP};
}

int guildhall_msgpack_items_next(items *cursor)
{
    if (!cursor->left) return 0;
    cursor->left--;
    cursor->key = cursor->value = cursor->at;
    if (cursor->map) cursor->value = msgpack_read_past(cursor->view, cursor->key);
    cursor->at = msgpack_read_past(cursor->view, cursor->value);
    return 1;
}

position guildhall_msgpack_item(const view *v, position container, uint32_t index)
{
    items cursor = guildhall_msgpack_items_of(v, container);
    uint32_t samples = (cursor.left - 1) / GUILDHALL_SAMPLED, place = index / GUILDHALL_SAMPLED;
    if (place) { /* go on from the last sample before it */
        const uint32_t *entries = v->entries, *sample = entries + entries[container.entry + 1] - 2 * (size_t)(samples - place + 1);
        cursor.at = (position){sample[0], sample[1], 0};
        index %= GUILDHALL_SAMPLED;
    }
    while (index--) guildhall_msgpack_items_next(&cursor);
    return cursor.at;
}

guildhall_key guildhall_msgpack_float_key(double number)
{
    guildhall_key key = {NULL, GUILDHALL_MSGPACK_KEY_FLOAT, 0};
    if (number != 0) memcpy(&key.number, &number, sizeof number);
    return key;
}

/* Binary that is ASCII is the same key as the text: to a Hash such Strings are equal. 0: arrays, maps, extensions and NaN, which are
 * not looked for by what they are. */
static inline int msgpack_read_key_of(const token *found, guildhall_key *key)
{
    int binary = 0;
    switch (found->type) {
    case GUILDHALL_MSGPACK_BINARY:
        binary = !guildhall_ascii(found->bytes, found->length); /* fall through */
    case GUILDHALL_MSGPACK_STRING:
        *key = (guildhall_key){found->bytes, found->length, binary ? GUILDHALL_MSGPACK_KEY_BINARY : GUILDHALL_MSGPACK_KEY_TEXT};
        return 1;
    case GUILDHALL_MSGPACK_INTEGER: *key = (guildhall_key){NULL, GUILDHALL_MSGPACK_KEY_INTEGER, found->number}; return 1;
    case GUILDHALL_MSGPACK_UNSIGNED: *key = (guildhall_key){NULL, GUILDHALL_MSGPACK_KEY_UNSIGNED, found->number}; return 1;
    case GUILDHALL_MSGPACK_FLOAT: *key = guildhall_msgpack_float_key(found->real); return found->real == found->real;
    case GUILDHALL_MSGPACK_NIL: case GUILDHALL_MSGPACK_FALSE: case GUILDHALL_MSGPACK_TRUE: *key = guildhall_msgpack_word_key(found->type); return 1;
    default: return 0;
    }
}

static inline int msgpack_read_equals(const view *v, uint32_t offset, guildhall_key key)
{
    token found = msgpack_read_token(v, &offset);
    guildhall_key own;
    return msgpack_read_key_of(&found, &own) && guildhall_key_equals(own, key);
}

/* The whole walk: a later key may be equal. */
static int msgpack_read_pair(const view *v, position map, guildhall_key key, position *found)
{
    items cursor = guildhall_msgpack_items_of(v, map);
    int there = 0;
    while (guildhall_msgpack_items_next(&cursor)) {
        if (!msgpack_read_equals(v, cursor.key.offset, key)) continue;
        *found = cursor.value;
        there = 1;
    }
    return there;
}

typedef struct {
    const view *view;
    position map;
} indexed;

/* Places are pairs, from 1 on. */
static guildhall_key msgpack_read_key_at(const void *pointer, uint32_t place)
{
    const indexed *target = pointer;
    token found = guildhall_msgpack_at(target->view, guildhall_msgpack_item(target->view, target->map, place - 1).offset);
    guildhall_key key = {0};
    msgpack_read_key_of(&found, &key);
    return key;
}

static int msgpack_read_fill(guildhall_key_index *made, const void *pointer)
{
    const indexed *target = pointer;
    items items = guildhall_msgpack_items_of(target->view, target->map);
    for (uint32_t place = 1; guildhall_msgpack_items_next(&items); place++) {
        token found = guildhall_msgpack_at(target->view, items.key.offset);
        guildhall_key key;
        if (msgpack_read_key_of(&found, &key)) guildhall_key_index_put(made, key, place, msgpack_read_key_at, target);
    }
    return 1;
}

int guildhall_msgpack_find(const view *v, position map, guildhall_key key, position *found)
{
    indexed target = {v, map};
    uint32_t count = guildhall_msgpack_at(v, map.offset).length;
    guildhall_key_index *index = NULL;
    if (count > GUILDHALL_KEYS_WALKED)
        index = guildhall_key_indexes_of(v->key_indexes, map.offset, count, msgpack_read_fill, msgpack_read_key_at, &target);
    if (!index) return msgpack_read_pair(v, map, key, found);
    uint32_t place = guildhall_key_index_get(index, key, msgpack_read_key_at, &target);
    if (place) *found = msgpack_read_past(v, guildhall_msgpack_item(v, map, place - 1));
    return place != 0;
}
