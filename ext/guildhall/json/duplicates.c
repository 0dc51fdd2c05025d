/* Keys that occur twice in one object. */
#include <stdlib.h>
#include "duplicates.h"

#define NO_MEMORY UINT32_MAX

/* The keys of one object that have been seen: a hash table of their indexes on the tape. */
typedef struct {
    guildhall_json_view view;
    guildhall_json_scratch *scratch;
    uint32_t *table;
    size_t mask;
    uint8_t *room; /* for a key with escapes as it reads without them */
    size_t room_size;
} seen_keys;

/* 0 when there is no memory. */
static int json_duplicates_begin(seen_keys *seen, guildhall_json_view view, uint32_t object, guildhall_json_scratch *scratch)
{
    size_t capacity = 64;
    while (capacity < guildhall_json_length(view.nodes[object]) * (size_t)2) capacity *= 2;
    if (scratch->table_capacity < capacity) {
        uint32_t *table = realloc(scratch->table, capacity * sizeof *table);
        if (!table) return 0;
        scratch->table = table;
        scratch->table_capacity = capacity;
    }
    *seen = (seen_keys){.view = view, .scratch = scratch, .table = scratch->table, .mask = capacity - 1};
    memset(seen->table, 0, capacity * sizeof *seen->table);
    return 1;
}

static int json_duplicates_unescape(seen_keys *seen, const uint8_t **text, size_t *length)
{
    if (seen->room_size < *length + 8) { /* a fingerprint is made of words */
        uint8_t *room = realloc(seen->room, *length + 8);
        if (!room) return 0;
        seen->room = room;
        seen->room_size = *length + 8;
    }
    *length = guildhall_json_unescape(*text, *length, seen->room);
    *text = seen->room;
    return 1;
}

/* The earlier key equal to the one at `index`, 0 after entering it when there is none, NO_MEMORY. */
static uint32_t json_duplicates_enter(seen_keys *seen, uint32_t index)
{
    guildhall_json_node key = seen->view.nodes[index];
    const uint8_t *text = guildhall_json_source(seen->view, key), *end = seen->view.end;
    size_t length = guildhall_json_length(key);
    if (__builtin_expect(guildhall_json_type_of(key) == GUILDHALL_JSON_ESCAPED, 0)) {
        if (!json_duplicates_unescape(seen, &text, &length)) return NO_MEMORY;
        end = text + seen->room_size;
    }
    uint64_t print = guildhall_json_fingerprint(text, length, end, seen->scratch->seed);
    size_t place = (size_t)(print * 0x9E3779B97F4A7C15ull >> 32) & seen->mask;
    for (; seen->table[place]; place = (place + 1) & seen->mask) {
        if (guildhall_json_text_equals(seen->view, seen->view.nodes[seen->table[place]], text, length)) return seen->table[place];
    }
    seen->table[place] = index;
    return 0;
}

uint32_t guildhall_json_duplicate(guildhall_json_view view, uint32_t object, guildhall_json_scratch *scratch)
{
    seen_keys seen;
    uint32_t end = guildhall_json_offset(view.nodes[object]), found = 0;
    if (!json_duplicates_begin(&seen, view, object, scratch)) return NO_MEMORY;
    for (uint32_t index = object + 1; index < end && !found; index = guildhall_json_next(view.nodes, index + 1)) {
        uint32_t earlier = json_duplicates_enter(&seen, index);
        if (earlier) found = earlier == NO_MEMORY ? NO_MEMORY : index;
    }
    free(seen.room);
    return found;
}

/* For each key of the object, by its index: the index of the value that counts, 0 for keys that occurred before. Returns 0 when there is
 * no memory. */
static int json_duplicates_choose_values(guildhall_json_view view, uint32_t object, guildhall_json_scratch *scratch, uint32_t *chosen)
{
    seen_keys seen;
    uint32_t end = guildhall_json_offset(view.nodes[object]), earlier = 0;
    if (!json_duplicates_begin(&seen, view, object, scratch)) return 0;
    for (uint32_t index = object + 1; index < end && earlier != NO_MEMORY; index = guildhall_json_next(view.nodes, index + 1)) {
        earlier = json_duplicates_enter(&seen, index);
        chosen[index] = 0;
        if (earlier != NO_MEMORY) chosen[earlier ? earlier : index] = index + 1;
    }
    free(seen.room);
    return earlier != NO_MEMORY;
}

static int json_duplicates_choose_all(guildhall_json_view view, size_t count, guildhall_json_scratch *scratch, uint32_t *chosen)
{
    for (uint32_t index = 0; index < count; index++) {
        if (guildhall_json_type_of(view.nodes[index]) != GUILDHALL_JSON_REPEATED) continue;
        if (!json_duplicates_choose_values(view, index, scratch, chosen)) return 0;
    }
    return 1;
}

/* A container whose copy is not complete. */
typedef struct {
    uint32_t copy, end;  /* its index on the new tape; the index after it on the old one */
    uint32_t key, pairs; /* where keys are repeated: the key that is being copied, and how many were before it; else 0 */
} opened;

/* The first key from `key` on that counts; `end` when there is none. */
static uint32_t json_duplicates_counting(const guildhall_json_node *old, const uint32_t *chosen, uint32_t key, uint32_t end)
{
    while (key < end && !chosen[key]) key = guildhall_json_next(old, key + 1);
    return key;
}

/* Copies what counts, each node once, however deep it lies. Returns the length of the copy. */
static uint32_t json_duplicates_copy(const guildhall_json_node *old, const uint32_t *chosen, guildhall_json_node *copy, opened *containers)
{
    uint32_t from = 0, to = 0, depth = 0;
    do {
        guildhall_json_node node = old[from];
        int repeated = guildhall_json_type_of(node) == GUILDHALL_JSON_REPEATED;
        if (guildhall_json_is_container(node) && guildhall_json_length(node)) {
            containers[depth++] = (opened){to, guildhall_json_offset(node), repeated ? from + 1 : 0, 0};
            copy[to++] = node;
            if (repeated) copy[to++] = old[from + 1];
            from = repeated ? chosen[from + 1] : from + 1;
            continue;
        }
        copy[to] = guildhall_json_is_container(node) ? guildhall_json_make(guildhall_json_type_of(node), 0, to + 1) : node;
        to++;
        from++;
        for (; depth; depth--) { /* which containers does that complete? */
            opened *inner = &containers[depth - 1];
            guildhall_json_type type = guildhall_json_type_of(copy[inner->copy]);
            uint32_t length = guildhall_json_length(copy[inner->copy]);
            if (inner->key) {
                inner->pairs++;
                inner->key = json_duplicates_counting(old, chosen, guildhall_json_next(old, inner->key + 1), inner->end);
                if (inner->key < inner->end) {
                    copy[to++] = old[inner->key];
                    from = chosen[inner->key];
                    break;
                }
                type = GUILDHALL_JSON_OBJECT;
                length = inner->pairs;
                from = inner->end;
            } else if (from < inner->end) {
                break;
            }
            copy[inner->copy] = guildhall_json_make(type, length, to);
        }
    } while (depth);
    return to;
}

size_t guildhall_json_keep_last(guildhall_json_view view, guildhall_json_node *nodes, size_t count, uint32_t max_nesting,
                                guildhall_json_scratch *scratch)
{
    guildhall_json_node *copy = malloc(count * sizeof *copy);
    uint32_t *chosen = malloc(count * sizeof *chosen);
    opened *containers = malloc((max_nesting < count ? max_nesting : count) * sizeof *containers);
    size_t kept = 0;
    if (copy && chosen && containers && json_duplicates_choose_all(view, count, scratch, chosen)) {
        kept = json_duplicates_copy(view.nodes, chosen, copy, containers);
        memcpy(nodes, copy, kept * sizeof *copy);
    }
    free(copy);
    free(chosen);
    free(containers);
    return kept;
}
