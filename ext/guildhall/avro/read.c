/* One pass over a payload, as the decoder makes it, and as strict; only that nothing is made. */
#include "read.h"
#include "text/ascii.h"
#include "text/utf8.h"

#define CHECK(expression)                                                                                              \
    do {                                                                                                               \
        status checked = (expression);                                                                                 \
        if (__builtin_expect(checked != GUILDHALL_AVRO_VALID, 0)) return checked;                                      \
    } while (0)

typedef guildhall_avro_status status;
typedef guildhall_avro_node node;

typedef struct {
    guildhall_avro_input input;
    const uint8_t *bytes;
    const guildhall_avro_program *program;
    const guildhall_avro_rules *rules;
    guildhall_index_builder *builder;
    uint32_t depth;
} reader;

static status avro_read_value(reader *r, uint32_t index);

static inline status avro_read_add(guildhall_words *words, uint32_t word)
{
    return guildhall_words_add(words, word) ? GUILDHALL_AVRO_VALID : GUILDHALL_AVRO_NO_MEMORY;
}

static inline uint32_t avro_read_here(const reader *r) { return (uint32_t)(r->input.at - r->bytes); }
static inline uint32_t avro_read_entries(const reader *r) { return (uint32_t)r->builder->entries.count; }

static status avro_read_text(reader *r)
{
    const uint8_t *bytes;
    size_t length;
    CHECK(guildhall_avro_span(&r->input, &bytes, &length));
    if (r->rules->allow_invalid_utf8 || guildhall_ascii(bytes, length)) return GUILDHALL_AVRO_VALID;
    return guildhall_utf8_classify(bytes, length) == GUILDHALL_UTF8_INVALID ? GUILDHALL_AVRO_INVALID_UTF8
                                                                            : GUILDHALL_AVRO_VALID;
}

static status avro_read_bytes(reader *r)
{
    const uint8_t *bytes;
    size_t length;
    return guildhall_avro_span(&r->input, &bytes, &length);
}

static status avro_read_fixed(reader *r, size_t length)
{
    const uint8_t *bytes;
    return guildhall_avro_take(&r->input, length, &bytes);
}

static status avro_read_number(reader *r, int is_int)
{
    int64_t number;
    return is_int ? guildhall_avro_int(&r->input, &number) : guildhall_avro_number(&r->input, &number);
}

static status avro_read_enum_symbol(reader *r, const node *node)
{
    const uint8_t *head = r->input.at;
    int64_t index;
    CHECK(guildhall_avro_int(&r->input, &index));
    status status = GUILDHALL_AVRO_BAD_SYMBOL;
    if (index >= 0 && index < node->count) {
        if (r->program->operands[node->first + (uint32_t)index] != GUILDHALL_AVRO_SKIPPED) return GUILDHALL_AVRO_VALID;
        status = GUILDHALL_AVRO_UNKNOWN_SYMBOL;
    }
    r->input.at = head;
    return status;
}

static status avro_read_chosen(reader *r, const node *node)
{
    const uint8_t *head = r->input.at;
    int64_t index;
    CHECK(guildhall_avro_number(&r->input, &index));
    if (index >= 0 && index < node->count) return avro_read_value(r, r->program->operands[node->first + (uint32_t)index]);
    r->input.at = head;
    return GUILDHALL_AVRO_BAD_BRANCH;
}

typedef struct {
    uint32_t entry, begin; /* its entry in the index; where its items begin */
    size_t samples;       /* the first of its own among the open containers' samples */
    uint64_t items, blocks;
} container;

/* A sample of the item that comes now; `left`: how many of the block are still to come, this one included. */
static status avro_read_sample(reader *r, uint64_t left)
{
    CHECK(avro_read_add(&r->builder->samples, avro_read_here(r)));
    CHECK(avro_read_add(&r->builder->samples, avro_read_entries(r)));
    return avro_read_add(&r->builder->samples, (uint32_t)left);
}

static status avro_read_block(reader *r, container *c, uint32_t item, int map, uint64_t count)
{
    for (uint64_t left = count; left; left--, c->items++) {
        if (c->items && c->items % GUILDHALL_SAMPLED == 0) CHECK(avro_read_sample(r, left));
        if (map) CHECK(avro_read_text(r));
        CHECK(avro_read_value(r, item));
    }
    return GUILDHALL_AVRO_VALID;
}

/* Its samples, which follow the entries of what is inside. */
static status avro_read_finish(reader *r, const container *c)
{
    const uint32_t *open = r->builder->samples.words + c->samples;
    uint32_t count = guildhall_avro_samples(c->items, avro_read_here(r) - c->begin);
    int blocks = c->blocks > 1;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(avro_read_add(&r->builder->entries, open[3 * i]));
        CHECK(avro_read_add(&r->builder->entries, open[3 * i + 1]));
        if (blocks) CHECK(avro_read_add(&r->builder->entries, open[3 * i + 2]));
    }
    if (blocks) CHECK(avro_read_add(&r->builder->entries, (uint32_t)c->items));
    uint32_t *words = r->builder->entries.words + c->entry;
    words[0] = avro_read_here(r);
    words[1] = avro_read_entries(r) | (blocks ? GUILDHALL_AVRO_BLOCKS : 0);
    r->builder->samples.count = c->samples;
    return GUILDHALL_AVRO_VALID;
}

static status avro_read_items(reader *r, const node *node)
{
    int map = node->type == GUILDHALL_AVRO_MAP;
    uint32_t item = r->program->operands[node->first];
    container c = {.entry = avro_read_entries(r), .samples = r->builder->samples.count};
    uint64_t count;
    for (;;) {
        CHECK(guildhall_avro_block(&r->input, &r->program->nodes[item], map, &count));
        if (!count) break;
        if (!c.blocks++) {
            c.begin = avro_read_here(r);
            CHECK(avro_read_add(&r->builder->entries, 0));
            CHECK(avro_read_add(&r->builder->entries, 0));
        }
        CHECK(avro_read_block(r, &c, item, map, count));
    }
    return c.blocks ? avro_read_finish(r, &c) : GUILDHALL_AVRO_VALID;
}

static status avro_read_nested(reader *r, const node *node, status (*inside)(reader *, const guildhall_avro_node *))
{
    if (__builtin_expect(++r->depth > r->rules->max_nesting, 0)) return GUILDHALL_AVRO_TOO_DEEP;
    CHECK(inside(r, node));
    r->depth--;
    return GUILDHALL_AVRO_VALID;
}

/* Skips a field that the reader's schema leaves out, by the rules of the eager decoder, which are less strict. */
static status avro_read_skipped(reader *r, uint32_t index, uint32_t depth_left)
{
    const node *node = &r->program->nodes[index];
    CHECK(guildhall_avro_skip(&r->input, r->program, index, depth_left));
    if (!guildhall_avro_many(node)) return GUILDHALL_AVRO_VALID;
    return avro_read_add(&r->builder->entries, avro_read_here(r));
}

static status avro_read_record(reader *r, const node *node)
{
    const uint32_t *operand = r->program->operands + node->first, *end = operand + 2 * (size_t)node->count;
    CHECK(guildhall_avro_pay_for(&r->input, node));
    for (; operand < end; operand += 2) {
        if (__builtin_expect(operand[1] == GUILDHALL_AVRO_SKIPPED, 0)) {
            CHECK(avro_read_skipped(r, operand[0], r->rules->max_nesting - r->depth));
        } else {
            CHECK(avro_read_value(r, operand[0]));
        }
    }
    return GUILDHALL_AVRO_VALID;
}

static status avro_read_value(reader *r, uint32_t index)
{
    const node *node = &r->program->nodes[index];
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: return GUILDHALL_AVRO_VALID;
    case GUILDHALL_AVRO_BOOLEAN: return avro_read_fixed(r, 1);
    case GUILDHALL_AVRO_INT: case GUILDHALL_AVRO_INT_AS_REAL: return avro_read_number(r, 1);
    case GUILDHALL_AVRO_LONG: case GUILDHALL_AVRO_LONG_AS_REAL: return avro_read_number(r, 0);
    case GUILDHALL_AVRO_FLOAT: return avro_read_fixed(r, 4);
    case GUILDHALL_AVRO_DOUBLE: return avro_read_fixed(r, 8);
    case GUILDHALL_AVRO_BYTES: return avro_read_bytes(r);
    case GUILDHALL_AVRO_STRING: return avro_read_text(r);
    case GUILDHALL_AVRO_FIXED: return avro_read_fixed(r, node->count);
    case GUILDHALL_AVRO_ENUM: return avro_read_enum_symbol(r, node);
    case GUILDHALL_AVRO_ARRAY: case GUILDHALL_AVRO_MAP: return avro_read_nested(r, node, avro_read_items);
    case GUILDHALL_AVRO_UNION: return avro_read_chosen(r, node);
    case GUILDHALL_AVRO_RECORD: return avro_read_nested(r, node, avro_read_record);
    case GUILDHALL_AVRO_MISMATCH: break;
    }
    return GUILDHALL_AVRO_NO_MATCH;
}

guildhall_outcome guildhall_avro_read(const uint8_t *bytes, size_t from, size_t length,
                                           const guildhall_avro_program *program, const guildhall_avro_rules *rules,
                                           guildhall_index_builder *builder)
{
    reader r = {guildhall_avro_input_of(bytes, from, length, rules), bytes, program, rules, builder, 0};
    builder->entries.count = builder->samples.count = 0;
    if (length > rules->max_bytes) return (guildhall_outcome){GUILDHALL_AVRO_TOO_LONG, from};
    status status = avro_read_value(&r, 0);
    if (status == GUILDHALL_AVRO_VALID && r.input.at != r.input.end) status = GUILDHALL_AVRO_AFTER_END;
    return (guildhall_outcome){status, (size_t)(r.input.at - bytes)};
}
