/* One pass over a payload, as the decoder makes it, and as strict; only that nothing is made. */
#include "../ascii.h"
#include "../utf8.h"
#include "avro_read.h"

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
    guildhall_notes *notes;
    uint32_t depth;
} reader;

static status value(reader *r, uint32_t index);

static inline status add(guildhall_words *words, uint32_t word)
{
    return guildhall_words_add(words, word) ? GUILDHALL_AVRO_VALID : GUILDHALL_AVRO_NO_MEMORY;
}

static inline uint32_t here(const reader *r) { return (uint32_t)(r->input.at - r->bytes); }
static inline uint32_t marks(const reader *r) { return (uint32_t)r->notes->marks.count; }

static status text(reader *r)
{
    const uint8_t *bytes;
    size_t length;
    CHECK(guildhall_avro_span(&r->input, &bytes, &length));
    if (r->rules->allow_invalid_utf8 || guildhall_ascii(bytes, length)) return GUILDHALL_AVRO_VALID;
    return guildhall_utf8_classify(bytes, length) == GUILDHALL_UTF8_INVALID ? GUILDHALL_AVRO_INVALID_UTF8
                                                                            : GUILDHALL_AVRO_VALID;
}

static status bytes(reader *r)
{
    const uint8_t *bytes;
    size_t length;
    return guildhall_avro_span(&r->input, &bytes, &length);
}

static status fixed(reader *r, size_t length)
{
    const uint8_t *bytes;
    return guildhall_avro_take(&r->input, length, &bytes);
}

static status number(reader *r, int is_int)
{
    int64_t number;
    return is_int ? guildhall_avro_int(&r->input, &number) : guildhall_avro_number(&r->input, &number);
}

static status enum_symbol(reader *r, const node *node)
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

static status chosen(reader *r, const node *node)
{
    const uint8_t *head = r->input.at;
    int64_t index;
    CHECK(guildhall_avro_number(&r->input, &index));
    if (index >= 0 && index < node->count) return value(r, r->program->operands[node->first + (uint32_t)index]);
    r->input.at = head;
    return GUILDHALL_AVRO_BAD_BRANCH;
}

typedef struct {
    uint32_t mark, begin; /* its mark; where its items begin */
    size_t samples;       /* the first of its own among the open containers' samples */
    uint64_t items, blocks;
} container;

/* A sample of the item that comes now; `left`: how many of the block are still to come, this one included. */
static status sample(reader *r, uint64_t left)
{
    CHECK(add(&r->notes->samples, here(r)));
    CHECK(add(&r->notes->samples, marks(r)));
    return add(&r->notes->samples, (uint32_t)left);
}

static status block(reader *r, container *c, uint32_t item, int map, uint64_t count)
{
    for (uint64_t left = count; left; left--, c->items++) {
        if (c->items && c->items % GUILDHALL_SAMPLED == 0) CHECK(sample(r, left));
        if (map) CHECK(text(r));
        CHECK(value(r, item));
    }
    return GUILDHALL_AVRO_VALID;
}

/* Its samples, which follow the marks of what is inside. */
static status finish(reader *r, const container *c)
{
    const uint32_t *open = r->notes->samples.words + c->samples;
    uint32_t count = guildhall_avro_samples(c->items, here(r) - c->begin);
    int blocks = c->blocks > 1;
    for (uint32_t i = 0; i < count; i++) {
        CHECK(add(&r->notes->marks, open[3 * i]));
        CHECK(add(&r->notes->marks, open[3 * i + 1]));
        if (blocks) CHECK(add(&r->notes->marks, open[3 * i + 2]));
    }
    if (blocks) CHECK(add(&r->notes->marks, (uint32_t)c->items));
    uint32_t *words = r->notes->marks.words + c->mark;
    words[0] = here(r);
    words[1] = marks(r) | (blocks ? GUILDHALL_AVRO_BLOCKS : 0);
    r->notes->samples.count = c->samples;
    return GUILDHALL_AVRO_VALID;
}

static status items(reader *r, const node *node)
{
    int map = node->type == GUILDHALL_AVRO_MAP;
    uint32_t item = r->program->operands[node->first], minimum = r->program->nodes[item].minimum + (uint32_t)map;
    container c = {.mark = marks(r), .samples = r->notes->samples.count};
    uint64_t count;
    for (;;) {
        CHECK(guildhall_avro_block(&r->input, minimum, &count));
        if (!count) break;
        if (!c.blocks++) {
            c.begin = here(r);
            CHECK(add(&r->notes->marks, 0));
            CHECK(add(&r->notes->marks, 0));
        }
        CHECK(block(r, &c, item, map, count));
    }
    return c.blocks ? finish(r, &c) : GUILDHALL_AVRO_VALID;
}

static status nested(reader *r, const node *node, status (*inside)(reader *, const guildhall_avro_node *))
{
    if (__builtin_expect(++r->depth > r->rules->max_nesting, 0)) return GUILDHALL_AVRO_TOO_DEEP;
    CHECK(inside(r, node));
    r->depth--;
    return GUILDHALL_AVRO_VALID;
}

/* A field that the reader's schema leaves out is gone past as the decoder does it, which is less strict. */
static status skipped(reader *r, uint32_t index, uint32_t depth_left)
{
    const node *node = &r->program->nodes[index];
    CHECK(guildhall_avro_skip(&r->input, r->program, index, depth_left));
    if (!guildhall_avro_many(node)) return GUILDHALL_AVRO_VALID;
    return add(&r->notes->marks, here(r));
}

static status record(reader *r, const node *node)
{
    const uint32_t *operand = r->program->operands + node->first, *end = operand + 2 * (size_t)node->count;
    for (; operand < end; operand += 2) {
        if (__builtin_expect(operand[1] == GUILDHALL_AVRO_SKIPPED, 0)) {
            CHECK(skipped(r, operand[0], r->rules->max_nesting - r->depth));
        } else {
            CHECK(value(r, operand[0]));
        }
    }
    return GUILDHALL_AVRO_VALID;
}

static status value(reader *r, uint32_t index)
{
    const node *node = &r->program->nodes[index];
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: return GUILDHALL_AVRO_VALID;
    case GUILDHALL_AVRO_BOOLEAN: return fixed(r, 1);
    case GUILDHALL_AVRO_INT: case GUILDHALL_AVRO_INT_AS_REAL: return number(r, 1);
    case GUILDHALL_AVRO_LONG: case GUILDHALL_AVRO_LONG_AS_REAL: return number(r, 0);
    case GUILDHALL_AVRO_FLOAT: return fixed(r, 4);
    case GUILDHALL_AVRO_DOUBLE: return fixed(r, 8);
    case GUILDHALL_AVRO_BYTES: return bytes(r);
    case GUILDHALL_AVRO_STRING: return text(r);
    case GUILDHALL_AVRO_FIXED: return fixed(r, node->count);
    case GUILDHALL_AVRO_ENUM: return enum_symbol(r, node);
    case GUILDHALL_AVRO_ARRAY: case GUILDHALL_AVRO_MAP: return nested(r, node, items);
    case GUILDHALL_AVRO_UNION: return chosen(r, node);
    case GUILDHALL_AVRO_RECORD: return nested(r, node, record);
    case GUILDHALL_AVRO_MISMATCH: break;
    }
    return GUILDHALL_AVRO_NO_MATCH;
}

guildhall_avro_outcome guildhall_avro_read(const uint8_t *bytes, size_t from, size_t length,
                                           const guildhall_avro_program *program, const guildhall_avro_rules *rules,
                                           guildhall_notes *notes)
{
    reader r = {{bytes + from, bytes + length, rules->max_empty_items}, bytes, program, rules, notes, 0};
    notes->marks.count = notes->samples.count = 0;
    if (length > rules->max_bytes) return (guildhall_avro_outcome){GUILDHALL_AVRO_TOO_LONG, from};
    status status = value(&r, 0);
    if (status == GUILDHALL_AVRO_VALID && r.input.at != r.input.end) status = GUILDHALL_AVRO_AFTER_END;
    return (guildhall_avro_outcome){status, (size_t)(r.input.at - bytes)};
}
