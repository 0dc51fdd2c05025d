/* Keys that occur twice in one object: a few keys are compared 16 at a time by one byte each, many are hashed. */
#include <stdlib.h>
#include "duplicates.h"
#include "scan.h"

#define FEW 128 /* a multiple of 16 */
#define NO_MEMORY UINT32_MAX

/* A byte that most pairs of different keys differ in, and which a text's author cannot foresee. */
static inline uint8_t json_duplicates_signature(const uint8_t *text, uint32_t length, const uint8_t *end, uint64_t seed)
{
    return (uint8_t)(guildhall_json_fingerprint(text, length, end, seed) >> 56);
}

/* Which of 16 signatures equal this one, a bit each. */
#ifdef GUILDHALL_JSON_SSE2
static inline unsigned json_duplicates_equal_signatures(const uint8_t *signatures, uint8_t wanted)
{
    __m128i block = _mm_load_si128((const __m128i *)signatures);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8((char)wanted)));
}
#else
static inline unsigned json_duplicates_equal_signatures(const uint8_t *signatures, uint8_t wanted)
{
    unsigned equal = 0;
    for (unsigned i = 0; i < 16; i++) equal |= (unsigned)(signatures[i] == wanted) << i;
    return equal;
}
#endif

typedef struct {
    _Alignas(16) uint8_t signatures[FEW];
    uint32_t keys[FEW]; /* indexes on the tape */
    uint32_t count;
} few_keys;

/* All signatures are written before any is read as part of a vector: reading back what has just been written in
 * smaller pieces stalls. Returns 0 when a key has escapes. */
static inline int json_duplicates_collect(guildhall_json_view view, uint32_t object, const uint8_t *text_end, uint64_t seed, few_keys *few)
{
    uint32_t end = guildhall_json_offset(view.nodes[object]), count = 0, escaped = 0;
    for (uint32_t index = object + 1; index < end; index = guildhall_json_next(view.nodes, index + 1)) {
        guildhall_json_node key = view.nodes[index];
        escaped |= guildhall_json_type_of(key) == GUILDHALL_JSON_ESCAPED;
        few->signatures[count] = json_duplicates_signature(guildhall_json_source(view, key), guildhall_json_length(key), text_end, seed);
        few->keys[count++] = index;
    }
    few->count = count;
    return !escaped;
}

static int json_duplicates_same_text(guildhall_json_view view, guildhall_json_node one, guildhall_json_node other)
{
    uint32_t length = guildhall_json_length(one);
    return length == guildhall_json_length(other) &&
           !memcmp(guildhall_json_source(view, one), guildhall_json_source(view, other), length);
}

static uint32_t json_duplicates_among_few(guildhall_json_view view, const few_keys *few)
{
    for (uint32_t i = 1; i < few->count; i++) {
        for (uint32_t block = 0; block <= i; block += 16) {
            unsigned equal = json_duplicates_equal_signatures(few->signatures + block, few->signatures[i]);
            if (i - block < 16) equal &= (1u << (i - block)) - 1; /* only keys before this one */
            for (; equal; equal &= equal - 1) {
                uint32_t other = few->keys[block + (uint32_t)__builtin_ctz(equal)];
                if (json_duplicates_same_text(view, view.nodes[few->keys[i]], view.nodes[other])) return few->keys[i];
            }
        }
    }
    return 0;
}

static int json_duplicates_reserve_table(guildhall_json_scratch *scratch, size_t keys, size_t *capacity)
{
    *capacity = 64;
    while (*capacity < keys * 2) *capacity *= 2;
    if (scratch->table_capacity < *capacity) {
        uint32_t *table = realloc(scratch->table, *capacity * sizeof *table);
        if (!table) return 0;
        scratch->table = table;
        scratch->table_capacity = *capacity;
    }
    memset(scratch->table, 0, *capacity * sizeof *scratch->table);
    return 1;
}

static size_t json_duplicates_longest_escaped_key(guildhall_json_view view, uint32_t object)
{
    size_t longest = 0;
    uint32_t end = guildhall_json_offset(view.nodes[object]);
    for (uint32_t index = object + 1; index < end; index = guildhall_json_next(view.nodes, index + 1)) {
        size_t length = guildhall_json_length(view.nodes[index]);
        if (guildhall_json_type_of(view.nodes[index]) == GUILDHALL_JSON_ESCAPED && length > longest) longest = length;
    }
    return longest;
}

/* The earlier key equal to the one at `index`, 0 after entering it when there is none. */
static uint32_t json_duplicates_enter(guildhall_json_view view, uint32_t index, guildhall_json_scratch *scratch, size_t capacity,
                      uint8_t *buffer)
{
    guildhall_json_node key = view.nodes[index];
    const uint8_t *text = guildhall_json_source(view, key);
    size_t length = guildhall_json_length(key);
    if (guildhall_json_type_of(key) == GUILDHALL_JSON_ESCAPED) {
        length = guildhall_json_unescape(text, length, buffer);
        text = buffer;
    }
    size_t place = guildhall_key_hash(text, length, scratch->seed) & (capacity - 1);
    for (; scratch->table[place]; place = (place + 1) & (capacity - 1)) {
        if (guildhall_json_text_equals(view, view.nodes[scratch->table[place]], text, length)) return scratch->table[place];
    }
    scratch->table[place] = index;
    return 0;
}

static uint32_t json_duplicates_among_many(guildhall_json_view view, uint32_t object, guildhall_json_scratch *scratch)
{
    size_t capacity, longest = json_duplicates_longest_escaped_key(view, object);
    uint8_t *buffer = longest ? malloc(longest) : NULL;
    uint32_t found = 0, end = guildhall_json_offset(view.nodes[object]);
    if ((longest && !buffer) || !json_duplicates_reserve_table(scratch, guildhall_json_length(view.nodes[object]), &capacity)) {
        found = NO_MEMORY;
        end = 0;
    }
    for (uint32_t index = object + 1; index < end && !found; index = guildhall_json_next(view.nodes, index + 1)) {
        if (json_duplicates_enter(view, index, scratch, capacity, buffer)) found = index;
    }
    free(buffer);
    return found;
}

uint32_t guildhall_json_duplicate(guildhall_json_view view, uint32_t object, const uint8_t *text_end,
                                  guildhall_json_scratch *scratch)
{
    uint32_t count = guildhall_json_length(view.nodes[object]);
    if (count < 2) return 0;
    if (count <= FEW) {
        few_keys few;
        if (json_duplicates_collect(view, object, text_end, scratch->seed, &few)) return json_duplicates_among_few(view, &few);
    }
    return json_duplicates_among_many(view, object, scratch);
}

/* For each key of the object, by its index: the index of the value that counts, 0 for keys that occurred before. */
static int json_duplicates_choose_values(guildhall_json_view view, uint32_t object, guildhall_json_scratch *scratch, uint32_t *chosen)
{
    size_t capacity, longest = json_duplicates_longest_escaped_key(view, object);
    uint8_t *buffer = longest ? malloc(longest) : NULL;
    int ready = (!longest || buffer) && json_duplicates_reserve_table(scratch, guildhall_json_length(view.nodes[object]), &capacity);
    uint32_t end = ready ? guildhall_json_offset(view.nodes[object]) : 0;
    for (uint32_t index = object + 1; index < end; index = guildhall_json_next(view.nodes, index + 1)) {
        uint32_t earlier = json_duplicates_enter(view, index, scratch, capacity, buffer);
        chosen[index] = 0;
        chosen[earlier ? earlier : index] = index + 1;
    }
    free(buffer);
    return ready;
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
