/* The readers of MessagePack and Avro without Ruby, on mutated payloads, under the sanitizers: what they find good is
 * walked through, item by item and by position.
 * Arguments: seed, rounds, a file of payloads (each after its length, four bytes, big end first). Each payload lies in
 * memory of exactly its size, so that a byte read too far is seen. */
#include <stdio.h>
#include <stdlib.h>
#include "avro/read.h"
#include "msgpack/read.h"

typedef struct {
    uint8_t *bytes;
    size_t length;
} payload;

static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Of everything that was found: the same on every machine and every path. */
static uint64_t digest = 14695981039346656037ull;

static void note(uint64_t found)
{
    digest = (digest ^ found) * 1099511628211ull;
    digest ^= digest >> 29;
}

static void note_outcome(int status, size_t error_offset, const guildhall_index_builder *builder)
{
    note((uint64_t)status);
    note(status ? error_offset : builder->entries.count);
    for (size_t i = 0; !status && i < builder->entries.count; i++) note(builder->entries.words[i]);
}

static size_t below(size_t limit) { return limit ? (size_t)(next_random() % limit) : 0; }

/* Flips, cuts, doubles and splices; the result has room for it. */
static size_t mutate(uint8_t *bytes, size_t length, size_t room, payload other)
{
    size_t at = below(length + 1), size = below(16);
    switch (below(6)) {
    case 0: if (at < length) bytes[at] = (uint8_t)next_random(); return length;
    case 1: if (at < length) bytes[at] ^= (uint8_t)(1u << below(8)); return length;
    case 2: return at;
    case 3:
        if (size > length - at) size = length - at;
        memmove(bytes + at, bytes + at + size, length - at - size);
        return length - size;
    case 4:
        if (size > length - at || length + size > room) return length;
        memmove(bytes + at + size, bytes + at, length - at);
        return length + size;
    default:
        if (at > other.length || other.length > room) return length;
        memcpy(bytes + at, other.bytes + at, other.length - at);
        return other.length;
    }
}

static int same(guildhall_position a, guildhall_position b) { return a.offset == b.offset && a.entry == b.entry && a.node == b.node; }

/* Everything, as iterating finds it and as looking it up does. */
static void walk_msgpack(const guildhall_view *view, guildhall_position at)
{
    if (guildhall_msgpack_at(view, at.offset).type < GUILDHALL_MSGPACK_ARRAY) return;
    guildhall_msgpack_items items = guildhall_msgpack_items_of(view, at);
    for (uint32_t index = 0; guildhall_msgpack_items_next(&items); index++) {
        if (!same(guildhall_msgpack_item(view, at, index), items.key)) abort();
        walk_msgpack(view, items.value);
        if (!items.map) continue;
        walk_msgpack(view, items.key);
        guildhall_msgpack_token key = guildhall_msgpack_at(view, items.key.offset);
        guildhall_position found;
        if (key.type == GUILDHALL_MSGPACK_STRING &&
            !guildhall_msgpack_find(view, at, (guildhall_key){key.bytes, key.length, 0}, &found)) abort();
        if (key.type == GUILDHALL_MSGPACK_INTEGER &&
            !guildhall_msgpack_find(view, at, (guildhall_key){NULL, 0, key.number}, &found)) abort();
    }
}

static int read_msgpack(const uint8_t *bytes, size_t length, guildhall_index_builder *builder)
{
    guildhall_msgpack_rules rules = guildhall_msgpack_default_rules;
    rules.allow_unknown_extensions = 1;
    rules.allow_invalid_utf8 = next_random() & 1;
    guildhall_outcome outcome = guildhall_msgpack_read(bytes, length, &rules, builder);
    note_outcome(outcome.status, outcome.error_offset, builder);
    if (outcome.status == GUILDHALL_MSGPACK_VALID) {
        guildhall_key_indexes indexes = {.entries = 0};
        guildhall_view view = {NULL, bytes, length, builder->entries.words, &indexes};
        walk_msgpack(&view, (guildhall_position){0, 0, 0});
        guildhall_key_indexes_free(&indexes);
        return 1;
    }
    if (outcome.error_offset > length) abort();
    guildhall_path path;
    char excerpt[GUILDHALL_EXCERPT_BYTES];
    guildhall_msgpack_locate(bytes, length, &rules, &path);
    if (path.text[0] != '$' || guildhall_excerpt(bytes, length, outcome.error_offset, excerpt) > sizeof excerpt) abort();
    return 0;
}

/* A record of everything, which holds itself in an array, a map and a union. */
static const uint32_t operands[] = {
    1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, 0xffffffff, 0, /* 0: the record's fields */
    12, 0, /* 22: the union's branches */
    0,     /* 24: items of array and map */
    13     /* 25: items of the array of nulls */
};
static const guildhall_avro_node nodes[] = {
    {GUILDHALL_AVRO_RECORD, 0, 10, 0, 10, 20}, {GUILDHALL_AVRO_LONG, 0, 0, 0, 0, 1}, {GUILDHALL_AVRO_STRING, 0, 0, 0, 0, 1},
    {GUILDHALL_AVRO_DOUBLE, 0, 0, 0, 0, 8}, {GUILDHALL_AVRO_BOOLEAN, 0, 0, 0, 0, 1}, {GUILDHALL_AVRO_FIXED, 0, 3, 0, 0, 3},
    {GUILDHALL_AVRO_ENUM, 0, 2, 0, 0, 1}, {GUILDHALL_AVRO_ARRAY, 0, 0, 24, 0, 1}, {GUILDHALL_AVRO_MAP, 0, 0, 24, 0, 1},
    {GUILDHALL_AVRO_UNION, 0, 2, 22, 0, 1}, {GUILDHALL_AVRO_ARRAY, 0, 0, 25, 0, 1}, {GUILDHALL_AVRO_INT, 0, 0, 0, 0, 1},
    {GUILDHALL_AVRO_NULL, 0, 0, 0, 0, 0}, {GUILDHALL_AVRO_NULL, 0, 0, 0, 0, 0}};

/* What the same fields are to a reader that leaves the array and the union out. */
static const uint32_t fewer[] = {
    1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0xffffffff, 8, 0, 9, 0xffffffff, 10, 0, 0xffffffff, 0, 12, 0, 0, 13};

static void walk_avro(const guildhall_avro_view *view, guildhall_position at)
{
    at = guildhall_avro_chosen(view, at);
    const guildhall_avro_node *node = &view->program->nodes[at.node];
    if (!guildhall_avro_many(node) && node->type != GUILDHALL_AVRO_RECORD) return;
    guildhall_avro_items items = guildhall_avro_items_of(view, at);
    uint32_t index = 0;
    for (; guildhall_avro_items_next(&items); index++) {
        guildhall_avro_items entry = items;
        if (node->type == GUILDHALL_AVRO_RECORD) {
            uint32_t place = (items.operand - node->first) / 2 - 1;
            if (!same(guildhall_avro_member(view, at, place), items.value)) abort();
        } else if (index < 100) {
            guildhall_position item = guildhall_avro_item(view, at, index);
            if (node->type == GUILDHALL_AVRO_MAP) guildhall_avro_pair(view, item, &entry);
            else entry.value = item;
            /* Items without a byte are alike, in whichever block they are. */
            if (!same(entry.value, items.value) && view->program->nodes[item.node].minimum) abort();
            if (entry.value.node != items.value.node) abort();
        }
        walk_avro(view, items.value);
    }
    if (node->type != GUILDHALL_AVRO_RECORD && index != guildhall_avro_count(view, at)) abort();
}

static int read_avro(const uint8_t *bytes, size_t length, const uint32_t *program_operands, guildhall_index_builder *builder)
{
    static const struct guildhall_avro_text texts[] = {{"name", 4}};
    const guildhall_avro_program program = {nodes, program_operands, texts, sizeof nodes / sizeof *nodes,
                                            sizeof operands / sizeof *operands, 1};
    guildhall_avro_rules rules = {.max_nesting = 200, .max_bytes = 1 << 20, .max_empty_items = 1000, .allow_invalid_utf8 = next_random() & 1};
    guildhall_outcome outcome = guildhall_avro_read(bytes, 0, length, &program, &rules, builder);
    note_outcome(outcome.status, outcome.error_offset, builder);
    if (outcome.error_offset > length) abort();
    guildhall_avro_input input = {bytes, bytes + length, 1000};
    guildhall_avro_leave_out(&input, &program, 0, 200); /* sizes of blocks may lie: it may end anywhere, and find anything wrong there */
    if (input.at < bytes || input.at > input.end) abort();
    if (outcome.status != GUILDHALL_AVRO_VALID) return 0;
    guildhall_avro_view view = {bytes, length, &program, builder->entries.words};
    walk_avro(&view, (guildhall_position){0, 0, 0});
    return 1;
}

static size_t load(const char *path, payload **payloads)
{
    FILE *file = fopen(path, "rb");
    size_t count = 0;
    uint8_t head[4];
    if (!file) return 0;
    while (fread(head, 1, 4, file) == 4) {
        payload one = {NULL, (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]};
        one.bytes = malloc(one.length ? one.length : 1);
        if (fread(one.bytes, 1, one.length, file) != one.length) abort();
        *payloads = realloc(*payloads, (count + 1) * sizeof **payloads);
        (*payloads)[count++] = one;
    }
    fclose(file);
    return count;
}

int main(int count, char **arguments)
{
    if (count != 4) return 2;
    payload *payloads = NULL;
    size_t known = load(arguments[3], &payloads), valid = 0, avro = 0;
    guildhall_index_builder builder = {0};
    state = strtoull(arguments[1], NULL, 10) * 2654435761u + 88172645463325252ull;
    for (long rounds = atol(arguments[2]); known && rounds > 0; rounds--) {
        payload from = payloads[below(known)];
        size_t room = from.length * 2 + 64, length = from.length;
        uint8_t *work = calloc(1, room);
        memcpy(work, from.bytes, length);
        for (size_t i = below(4); i > 0; i--) length = mutate(work, length, room, payloads[below(known)]);
        uint8_t *exact = malloc(length ? length : 1);
        memcpy(exact, work, length);
        valid += (size_t)read_msgpack(exact, length, &builder);
        avro += (size_t)read_avro(exact, length, operands, &builder);
        read_avro(exact, length, fewer, &builder);
        free(exact);
        free(work);
    }
    printf("MessagePack: %zu valid, Avro: %zu valid, %016llx\n", valid, avro, (unsigned long long)digest);
    for (size_t i = 0; i < known; i++) free(payloads[i].bytes);
    free(payloads);
    guildhall_index_builder_free(&builder);
    return known ? 0 : 1;
}
