/* What the index does not say is read again; it was valid before. */
#include "walk.h"

typedef guildhall_avro_view view;
typedef guildhall_position position;
typedef guildhall_avro_items items;
typedef guildhall_avro_node node;

static inline const node *avro_walk_node_of(const view *v, position s) { return &v->program->nodes[s.node]; }

static inline guildhall_avro_input avro_walk_input_at(const view *v, uint32_t offset)
{
    return guildhall_avro_input_again(v->bytes, offset, v->length);
}

static inline uint32_t avro_walk_offset_of(const view *v, const guildhall_avro_input *input)
{
    return (uint32_t)(input->at - v->bytes);
}

position guildhall_avro_chosen(const view *v, position s)
{
    while (avro_walk_node_of(v, s)->type == GUILDHALL_AVRO_UNION) {
        guildhall_avro_input input = avro_walk_input_at(v, s.offset);
        int64_t branch = 0;
        guildhall_avro_number(&input, &branch);
        s.node = v->program->operands[avro_walk_node_of(v, s)->first + (uint32_t)branch];
        s.offset = avro_walk_offset_of(v, &input);
    }
    return s;
}

/* A block's head. The number of items; where they begin. */
static uint64_t avro_walk_block(const view *v, uint32_t *offset)
{
    guildhall_avro_input input = avro_walk_input_at(v, *offset);
    uint64_t count = 0;
    int64_t size;
    guildhall_avro_block_head(&input, &count, &size);
    *offset = avro_walk_offset_of(v, &input);
    return count;
}

uint32_t guildhall_avro_count(const view *v, position many)
{
    uint64_t count = avro_walk_block(v, &many.offset);
    if (!count) return 0;
    uint32_t next = v->entries[many.entry + 1];
    return next & GUILDHALL_AVRO_BLOCKS ? v->entries[(next & ~GUILDHALL_AVRO_BLOCKS) - 1] : (uint32_t)count;
}

static position avro_walk_past_field(const view *v, position at, const uint32_t *operand)
{
    at.node = operand[0];
    return guildhall_avro_past(v, at, operand[1] == GUILDHALL_AVRO_SKIPPED);
}

uint32_t guildhall_avro_field(const guildhall_avro_program *program, const node *record, const char *name, size_t length)
{
    uint32_t defaults = record->kept;
    for (uint32_t i = 0; i < record->count; i++) {
        const uint32_t *operand = program->operands + record->first + 2 * (size_t)i;
        if (operand[1] == GUILDHALL_AVRO_SKIPPED) continue;
        defaults--;
        const struct guildhall_avro_text *text = &program->texts[operand[1]];
        if (text->length == length && !memcmp(text->bytes, name, length)) return i;
    }
    for (uint32_t i = record->count; i < record->count + defaults; i++) {
        const struct guildhall_avro_text *text = &program->texts[program->operands[record->first + 2 * (size_t)i]];
        if (text->length == length && !memcmp(text->bytes, name, length)) return i;
    }
    return UINT32_MAX;
}

position guildhall_avro_member(const view *v, position record, uint32_t place)
{
    const uint32_t *operand = v->program->operands + avro_walk_node_of(v, record)->first;
    for (; place; place--, operand += 2) record = avro_walk_past_field(v, record, operand);
    record.node = operand[0];
    return record;
}

items guildhall_avro_items_of(const view *v, position container)
{
    const node *here = avro_walk_node_of(v, container);
    items made = {.view = v, .node = here, .at = container};
    if (here->type == GUILDHALL_AVRO_RECORD) {
        made.left = here->count;
        made.operand = here->first;
        return made;
    }
    made.left = avro_walk_block(v, &made.at.offset);
    if (made.left) made.at.entry += 2;
    made.at.node = v->program->operands[here->first];
    return made;
}

static int avro_walk_next_field(items *cursor)
{
    while (cursor->left) {
        const uint32_t *operand = cursor->view->program->operands + cursor->operand;
        position here = cursor->at;
        cursor->left--;
        cursor->operand += 2;
        cursor->at = avro_walk_past_field(cursor->view, here, operand);
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
    guildhall_avro_input input = avro_walk_input_at(v, item.offset);
    guildhall_avro_span(&input, &pair->key, &pair->key_length);
    item.offset = avro_walk_offset_of(v, &input);
    pair->value = item;
}

int guildhall_avro_items_next(items *cursor)
{
    if (cursor->node->type == GUILDHALL_AVRO_RECORD) return avro_walk_next_field(cursor);
    if (!cursor->left) return 0;
    cursor->value = cursor->at;
    if (cursor->node->type == GUILDHALL_AVRO_MAP) guildhall_avro_pair(cursor->view, cursor->at, cursor);
    uint32_t item = cursor->at.node;
    cursor->at = guildhall_avro_past(cursor->view, cursor->value, 0);
    cursor->at.node = item;
    if (!--cursor->left) cursor->left = avro_walk_block(cursor->view, &cursor->at.offset);
    return 1;
}

/* Goes on from the last sample before the position. */
static void avro_walk_approach(items *cursor, position array, uint32_t *index)
{
    const view *v = cursor->view;
    uint32_t next = v->entries[array.entry + 1], end = v->entries[array.entry], place = *index / GUILDHALL_SAMPLED;
    uint32_t count = guildhall_avro_count(v, array), blocks = next & GUILDHALL_AVRO_BLOCKS ? 1 : 0, width = 2 + blocks;
    uint32_t samples = guildhall_avro_samples(count, end - cursor->at.offset);
    if (!samples) *index = 0; /* items without a byte: wherever one is, the others are too */
    if (!place || !samples) return;
    const uint32_t *sample = v->entries + (next & ~GUILDHALL_AVRO_BLOCKS) - blocks - (size_t)(samples - place + 1) * width;
    cursor->at.offset = sample[0];
    cursor->at.entry = sample[1];
    cursor->left = blocks ? sample[2] : count - place * GUILDHALL_SAMPLED;
    *index -= place * GUILDHALL_SAMPLED;
}

position guildhall_avro_item(const view *v, position array, uint32_t index)
{
    items cursor = guildhall_avro_items_of(v, array);
    if (index >= GUILDHALL_SAMPLED) avro_walk_approach(&cursor, array, &index);
    while (index--) guildhall_avro_items_next(&cursor);
    return cursor.at;
}
