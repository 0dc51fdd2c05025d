/* One pass over a payload, as the decoder makes it, and as strict; only that nothing is made. */
#include "read.h"
#include "text/ascii.h"
#include "text/utf8.h"
#include "walk.h"

typedef guildhall_avro_status status;
typedef guildhall_avro_node node;

typedef struct {
    guildhall_avro_input input;
    const guildhall_avro_program *program;
    uint32_t depth_left;
    const uint8_t *bytes;
    int allow_invalid_utf8;
    guildhall_index_builder *builder; /* FIND */
    const uint32_t *entries;          /* PAST: what comes next in the index */
    uint32_t entry;
} traversal;

typedef struct {
    uint64_t items, blocks;
    uint32_t entry, begin; /* its entry in the index; where its items begin */
    size_t samples;       /* the first of its own among the open containers' samples */
} container;

#define AVRO(name) avro_read_##name
#define avro_read_null(t) GUILDHALL_AVRO_VALID
#define avro_read_boolean(t, value) GUILDHALL_AVRO_VALID
#define avro_read_integer(t, node, number) GUILDHALL_AVRO_VALID
#define avro_read_real(t, number) GUILDHALL_AVRO_VALID
#define avro_read_binary(t, bytes, length) GUILDHALL_AVRO_VALID
#define avro_read_symbol(t, constant) GUILDHALL_AVRO_VALID
#define avro_read_chosen(t, branch) GUILDHALL_AVRO_VALID
#define avro_read_field(t, name) GUILDHALL_AVRO_VALID
#define avro_read_end_record(t, c, node) GUILDHALL_AVRO_VALID
#define avro_read_mismatch(t, node) GUILDHALL_AVRO_NO_MATCH
#define avro_read_failed_item(t, c, map, status) (status)
#define avro_read_failed_field(t, name, status) (status)
#define avro_read_end(t, c, map) avro_read_close(t, c)
#define avro_read_key avro_read_text

static inline status avro_read_text(traversal *t, const uint8_t *bytes, size_t length)
{
    if (t->allow_invalid_utf8 || guildhall_ascii(bytes, length)) return GUILDHALL_AVRO_VALID;
    return guildhall_utf8_classify(bytes, length) == GUILDHALL_UTF8_INVALID ? GUILDHALL_AVRO_INVALID_UTF8 : GUILDHALL_AVRO_VALID;
}

static inline status avro_read_add(guildhall_words *words, uint32_t word)
{
    return guildhall_words_add(words, word) ? GUILDHALL_AVRO_VALID : GUILDHALL_AVRO_NO_MEMORY;
}

static inline uint32_t avro_read_here(const traversal *t) { return (uint32_t)(t->input.at - t->bytes); }
static inline uint32_t avro_read_entries(const traversal *t) { return (uint32_t)t->builder->entries.count; }

static inline void avro_read_begin(traversal *t, container *c)
{
    c->entry = avro_read_entries(t);
    c->samples = t->builder->samples.count;
}

/* Its first block makes two entries, which its end fills in. */
static inline status avro_read_block(traversal *t, container *c)
{
    if (c->blocks++) return GUILDHALL_AVRO_VALID;
    c->begin = avro_read_here(t);
    status added = avro_read_add(&t->builder->entries, 0);
    return added != GUILDHALL_AVRO_VALID ? added : avro_read_add(&t->builder->entries, 0);
}

/* A sample of the item that comes now, if it is its turn; `left`: how many of the block are still to come, this one included. */
static inline status avro_read_item(traversal *t, const container *c, uint64_t left)
{
    if (c->items % GUILDHALL_SAMPLED || !c->items) return GUILDHALL_AVRO_VALID;
    guildhall_words *samples = &t->builder->samples;
    int added = guildhall_words_add(samples, avro_read_here(t)) && guildhall_words_add(samples, avro_read_entries(t)) &&
                guildhall_words_add(samples, (uint32_t)left);
    return added ? GUILDHALL_AVRO_VALID : GUILDHALL_AVRO_NO_MEMORY;
}

/* Its samples, which follow the entries of what is inside. */
static status avro_read_close(traversal *t, const container *c)
{
    if (!c->blocks) return GUILDHALL_AVRO_VALID;
    const uint32_t *open = t->builder->samples.words + c->samples;
    guildhall_words *entries = &t->builder->entries;
    uint32_t count = guildhall_avro_samples(c->items, avro_read_here(t) - c->begin);
    int blocks = c->blocks > 1, added = 1;
    for (uint32_t i = 0; i < count && added; i++, open += 3) {
        added = guildhall_words_add(entries, open[0]) && guildhall_words_add(entries, open[1]) &&
                (!blocks || guildhall_words_add(entries, open[2]));
    }
    if (!added || (blocks && !guildhall_words_add(entries, (uint32_t)c->items))) return GUILDHALL_AVRO_NO_MEMORY;
    uint32_t *words = entries->words + c->entry;
    words[0] = avro_read_here(t);
    words[1] = avro_read_entries(t) | (blocks ? GUILDHALL_AVRO_BLOCKS : 0);
    t->builder->samples.count = c->samples;
    return GUILDHALL_AVRO_VALID;
}

static status avro_read_jump(traversal *t)
{
    t->input.at = t->bytes + t->entries[t->entry];
    t->entry = t->entries[t->entry + 1] & ~GUILDHALL_AVRO_BLOCKS;
    return GUILDHALL_AVRO_VALID;
}

/* Of an array or a map the index says where the source goes on after it; what is in records and unions has no entries. */
static status avro_read_left_out(traversal *t, uint32_t index, int past)
{
    int many = guildhall_avro_many(&t->program->nodes[index]);
    if (past && many) {
        t->input.at = t->bytes + t->entries[t->entry++];
        return GUILDHALL_AVRO_VALID;
    }
    status status = guildhall_avro_leave_out(&t->input, t->program, index, t->depth_left);
    return status == GUILDHALL_AVRO_VALID && many && !past ? avro_read_add(&t->builder->entries, avro_read_here(t)) : status;
}

#include "traverse.inc.c"

static status avro_read_index(traversal *t, uint32_t index) { return avro_read_value(t, &t->program->nodes[index], FIND); }
static status avro_read_leave_out(traversal *t, uint32_t index) { return avro_read_value(t, &t->program->nodes[index], LEAVE_OUT); }
static status avro_read_past(traversal *t, uint32_t index) { return avro_read_value(t, &t->program->nodes[index], PAST); }

static inline status avro_read_inside(traversal *t, uint32_t index, purpose why)
{
    return why == FIND ? avro_read_index(t, index) : why == PAST ? avro_read_past(t, index) : avro_read_leave_out(t, index);
}

guildhall_outcome guildhall_avro_read(const uint8_t *bytes, size_t from, size_t length, const guildhall_avro_program *program,
                                      const guildhall_avro_rules *rules, guildhall_index_builder *builder)
{
    traversal t = {.input = guildhall_avro_input_of(bytes, from, length, rules), .program = program, .depth_left = rules->max_nesting,
                   .bytes = bytes, .allow_invalid_utf8 = rules->allow_invalid_utf8, .builder = builder};
    builder->entries.count = builder->samples.count = 0;
    if (length > rules->max_bytes) return (guildhall_outcome){GUILDHALL_AVRO_TOO_LONG, from};
    status status = avro_read_index(&t, 0);
    if (status == GUILDHALL_AVRO_VALID && t.input.at != t.input.end) status = GUILDHALL_AVRO_AFTER_END;
    return (guildhall_outcome){status, (size_t)(t.input.at - bytes)};
}

status guildhall_avro_leave_out(guildhall_avro_input *input, const guildhall_avro_program *program, uint32_t node, uint32_t depth_left)
{
    traversal t = {.input = *input, .program = program, .depth_left = depth_left};
    status status = avro_read_leave_out(&t, node);
    *input = t.input;
    return status;
}

guildhall_position guildhall_avro_past(const guildhall_avro_view *view, guildhall_position at, int left_out)
{
    traversal t = {.input = guildhall_avro_input_again(view->bytes, at.offset, view->length), .program = view->program,
                   .depth_left = GUILDHALL_AVRO_NESTING_LIMIT, .bytes = view->bytes, .entries = view->entries, .entry = at.entry};
    if (left_out) avro_read_left_out(&t, at.node, 1);
    else avro_read_past(&t, at.node);
    return (guildhall_position){avro_read_here(&t), t.entry, at.node};
}
