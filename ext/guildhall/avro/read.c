/* One pass over a payload, as the decoder makes it, and as strict; only that nothing is made. Later, what the index does not say is read
 * again. */
#include "read.h"
#include "text/ascii.h"
#include "text/utf8.h"

typedef guildhall_avro_status status;
typedef guildhall_avro_node node;
typedef guildhall_avro_view view;
typedef guildhall_avro_items items;
typedef guildhall_position position;

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
    size_t samples;        /* the first of its own among the open containers' samples */
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

static inline status avro_read_added(int added) { return added ? GUILDHALL_AVRO_VALID : GUILDHALL_AVRO_NO_MEMORY; }

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
    guildhall_words *entries = &t->builder->entries;
    return avro_read_added(guildhall_words_add(entries, 0) && guildhall_words_add(entries, 0));
}

/* A sample of the item that comes now, if it is its turn; `left`: how many of the block are still to come, this one included. */
static inline status avro_read_item(traversal *t, const container *c, uint64_t left)
{
    if (c->items % GUILDHALL_SAMPLED || !c->items) return GUILDHALL_AVRO_VALID;
    guildhall_words *samples = &t->builder->samples;
    return avro_read_added(guildhall_words_add(samples, avro_read_here(t)) && guildhall_words_add(samples, avro_read_entries(t)) &&
                           guildhall_words_add(samples, (uint32_t)left));
}

#define BLOCKS ((uint32_t)1 << 31) /* there is more than one */
#define SAMPLE_WORDS 3

/* The number of samples for a container, by the bytes of its items. */
static inline uint32_t avro_read_samples(uint64_t items, uint64_t bytes)
{
    return items && bytes >= items ? (uint32_t)((items - 1) / GUILDHALL_SAMPLED) : 0;
}

/* Its samples follow the entries of what is inside. */
static status avro_read_close(traversal *t, const container *c)
{
    if (!c->items) return GUILDHALL_AVRO_VALID;
    guildhall_words *entries = &t->builder->entries, *samples = &t->builder->samples;
    size_t end = c->samples + SAMPLE_WORDS * (size_t)avro_read_samples(c->items, avro_read_here(t) - c->begin);
    int added = 1;
    for (size_t i = c->samples; i < end && added; i++) added = guildhall_words_add(entries, samples->words[i]);
    if (!added || (c->blocks > 1 && !guildhall_words_add(entries, (uint32_t)c->items))) return GUILDHALL_AVRO_NO_MEMORY;
    entries->words[c->entry] = avro_read_here(t);
    entries->words[c->entry + 1] = avro_read_entries(t) | (c->blocks > 1 ? BLOCKS : 0);
    samples->count = c->samples;
    return GUILDHALL_AVRO_VALID;
}

static status avro_read_jump(traversal *t)
{
    t->input.at = t->bytes + t->entries[t->entry];
    t->entry = t->entries[t->entry + 1] & ~BLOCKS;
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
    return status == GUILDHALL_AVRO_VALID && many && !past ? avro_read_added(guildhall_words_add(&t->builder->entries, avro_read_here(t))) : status;
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

/* ---- afterwards: it was valid before */

static inline const node *avro_read_node_of(const view *v, position s) { return &v->program->nodes[s.node]; }

static inline guildhall_avro_input avro_read_input_at(const view *v, uint32_t offset)
{
    return guildhall_avro_input_again(v->bytes, offset, v->length);
}

static inline uint32_t avro_read_offset_of(const view *v, const guildhall_avro_input *input)
{
    return (uint32_t)(input->at - v->bytes);
}

/* The position of what follows a value (left_out: one that the reader's schema leaves out), in the source and in the index. */
static position avro_read_position_past(const view *v, position at, int left_out)
{
    traversal t = {.input = avro_read_input_at(v, at.offset), .program = v->program, .depth_left = GUILDHALL_AVRO_NESTING_LIMIT,
                   .bytes = v->bytes, .entries = v->entries, .entry = at.entry};
    if (left_out) avro_read_left_out(&t, at.node, 1);
    else avro_read_past(&t, at.node);
    return (position){avro_read_here(&t), t.entry, at.node};
}

position guildhall_avro_chosen(const view *v, position s)
{
    while (avro_read_node_of(v, s)->type == GUILDHALL_AVRO_UNION) {
        guildhall_avro_input input = avro_read_input_at(v, s.offset);
        int64_t branch = 0;
        guildhall_avro_number(&input, &branch);
        s.node = v->program->operands[avro_read_node_of(v, s)->first + (uint32_t)branch];
        s.offset = avro_read_offset_of(v, &input);
    }
    return s;
}

/* A block's head. The number of items; where they begin. */
static uint64_t avro_read_block_of(const view *v, uint32_t *offset)
{
    guildhall_avro_input input = avro_read_input_at(v, *offset);
    uint64_t count = 0;
    int64_t size;
    guildhall_avro_block_head(&input, &count, &size);
    *offset = avro_read_offset_of(v, &input);
    return count;
}

uint32_t guildhall_avro_count(const view *v, position many)
{
    uint64_t count = avro_read_block_of(v, &many.offset);
    if (!count) return 0;
    uint32_t next = v->entries[many.entry + 1];
    return next & BLOCKS ? v->entries[(next & ~BLOCKS) - 1] : (uint32_t)count;
}

static position avro_read_past_field(const view *v, position at, const uint32_t *operand)
{
    at.node = operand[0];
    return avro_read_position_past(v, at, operand[1] == GUILDHALL_AVRO_SKIPPED);
}

uint32_t guildhall_avro_field(const guildhall_avro_program *program, const node *record, const char *name, size_t length)
{
    const uint32_t *operand = program->operands + record->first;
    uint32_t end = record->count + record->kept; /* the defaults are as many as `kept` has more than there were fields kept */
    for (uint32_t i = 0; i < end; i++, operand += 2) {
        uint32_t constant = operand[i < record->count];
        if (i < record->count && constant != GUILDHALL_AVRO_SKIPPED) end--;
        if (constant == GUILDHALL_AVRO_SKIPPED) continue;
        const struct guildhall_avro_text *text = &program->texts[constant];
        if (text->length == length && !memcmp(text->bytes, name, length)) return i;
    }
    return UINT32_MAX;
}

position guildhall_avro_member(const view *v, position record, uint32_t place)
{
    const uint32_t *operand = v->program->operands + avro_read_node_of(v, record)->first;
    for (; place; place--, operand += 2) record = avro_read_past_field(v, record, operand);
    record.node = operand[0];
    return record;
}

items guildhall_avro_items_of(const view *v, position container)
{
    const node *here = avro_read_node_of(v, container);
    items made = {.view = v, .node = here, .at = container};
    if (here->type == GUILDHALL_AVRO_RECORD) {
        made.left = here->count;
        made.operand = here->first;
        return made;
    }
    made.left = avro_read_block_of(v, &made.at.offset);
    if (made.left) made.at.entry += 2;
    made.at.node = v->program->operands[here->first];
    return made;
}

static int avro_read_next_field(items *cursor)
{
    while (cursor->left) {
        const uint32_t *operand = cursor->view->program->operands + cursor->operand;
        position here = cursor->at;
        cursor->left--;
        cursor->operand += 2;
        cursor->at = avro_read_past_field(cursor->view, here, operand);
        if (operand[1] == GUILDHALL_AVRO_SKIPPED) continue;
        here.node = operand[0];
        cursor->value = here;
        cursor->name = operand[1];
        return 1;
    }
    return 0;
}

void guildhall_avro_pair(const view *v, position item, items *pair)
{
    guildhall_avro_input input = avro_read_input_at(v, item.offset);
    guildhall_avro_span(&input, &pair->key, &pair->key_length);
    item.offset = avro_read_offset_of(v, &input);
    pair->value = item;
}

int guildhall_avro_items_next(items *cursor)
{
    if (cursor->node->type == GUILDHALL_AVRO_RECORD) return avro_read_next_field(cursor);
    if (!cursor->left) return 0;
    cursor->value = cursor->at;
    if (cursor->node->type == GUILDHALL_AVRO_MAP) guildhall_avro_pair(cursor->view, cursor->at, cursor);
    uint32_t item = cursor->at.node;
    cursor->at = avro_read_position_past(cursor->view, cursor->value, 0);
    cursor->at.node = item;
    if (!--cursor->left) cursor->left = avro_read_block_of(cursor->view, &cursor->at.offset);
    return 1;
}

/* Goes on from the last sample before the position. */
static void avro_read_approach(items *cursor, position array, uint32_t *index)
{
    const uint32_t *entries = cursor->view->entries;
    uint32_t next = entries[array.entry + 1], end = (next & ~BLOCKS) - (next & BLOCKS ? 1 : 0), place = *index / GUILDHALL_SAMPLED;
    uint32_t samples = avro_read_samples(guildhall_avro_count(cursor->view, array), entries[array.entry] - cursor->at.offset);
    if (!samples) *index = 0; /* items without a byte: wherever one is, the others are too */
    if (!place || !samples) return;
    const uint32_t *sample = entries + end - SAMPLE_WORDS * (size_t)(samples - place + 1);
    cursor->at.offset = sample[0];
    cursor->at.entry = sample[1];
    cursor->left = sample[2];
    *index -= place * GUILDHALL_SAMPLED;
}

position guildhall_avro_item(const view *v, position array, uint32_t index)
{
    items cursor = guildhall_avro_items_of(v, array);
    if (index >= GUILDHALL_SAMPLED) avro_read_approach(&cursor, array, &index);
    while (index--) guildhall_avro_items_next(&cursor);
    return cursor.at;
}
