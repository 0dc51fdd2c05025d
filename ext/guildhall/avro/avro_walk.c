/* What is not noted is read once more; it was found good before. */
#include "avro_walk.h"

typedef guildhall_avro_view view;
typedef guildhall_spot spot;
typedef guildhall_avro_items items;
typedef guildhall_avro_node node;

static inline const node *node_of(const view *v, spot s) { return &v->program->nodes[s.node]; }

static inline guildhall_avro_input input_at(const view *v, uint32_t offset)
{
    return (guildhall_avro_input){v->bytes + offset, v->bytes + v->length, UINT64_MAX};
}

static inline uint32_t offset_of(const view *v, const guildhall_avro_input *input)
{
    return (uint32_t)(input->at - v->bytes);
}

spot guildhall_avro_chosen(const view *v, spot s)
{
    while (node_of(v, s)->type == GUILDHALL_AVRO_UNION) {
        guildhall_avro_input input = input_at(v, s.offset);
        int64_t branch = 0;
        guildhall_avro_number(&input, &branch);
        s.node = v->program->operands[node_of(v, s)->first + (uint32_t)branch];
        s.offset = offset_of(v, &input);
    }
    return s;
}

/* A block's head. The number of items; where they begin. */
static uint64_t block(const view *v, uint32_t *offset)
{
    guildhall_avro_input input = input_at(v, *offset);
    uint64_t count = 0;
    guildhall_avro_block(&input, 0, &count);
    *offset = offset_of(v, &input);
    return count;
}

uint32_t guildhall_avro_count(const view *v, spot many)
{
    uint64_t count = block(v, &many.offset);
    if (!count) return 0;
    uint32_t next = v->marks[many.mark + 1];
    return next & GUILDHALL_AVRO_BLOCKS ? v->marks[(next & ~GUILDHALL_AVRO_BLOCKS) - 1] : (uint32_t)count;
}

static spot past(const view *v, spot s);

static spot past_many(const view *v, spot s)
{
    uint32_t inside = s.offset;
    if (!block(v, &inside)) return (spot){inside, s.mark, s.node};
    return (spot){v->marks[s.mark], v->marks[s.mark + 1] & ~GUILDHALL_AVRO_BLOCKS, s.node};
}

static spot past_scalar(const view *v, spot s)
{
    guildhall_avro_input input = input_at(v, s.offset);
    guildhall_avro_skip(&input, v->program, s.node, GUILDHALL_AVRO_NESTING_LIMIT);
    return (spot){offset_of(v, &input), s.mark, s.node};
}

static spot past_field(const view *v, spot s, const uint32_t *operand)
{
    s.node = operand[0];
    if (operand[1] != GUILDHALL_AVRO_SKIPPED) return past(v, s);
    if (guildhall_avro_many(node_of(v, s))) return (spot){v->marks[s.mark], s.mark + 1, s.node};
    return past_scalar(v, s); /* of records and unions too: they were gone past without marks */
}

static spot past_record(const view *v, spot s)
{
    const node *record = node_of(v, s);
    const uint32_t *operand = v->program->operands + record->first;
    for (uint32_t i = 0; i < record->count; i++, operand += 2) s = past_field(v, s, operand);
    return s;
}

/* Where what follows stands, in the source and among the marks. */
static spot past(const view *v, spot s)
{
    s = guildhall_avro_chosen(v, s);
    const node *here = node_of(v, s);
    if (guildhall_avro_many(here)) return past_many(v, s);
    return here->type == GUILDHALL_AVRO_RECORD ? past_record(v, s) : past_scalar(v, s);
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

spot guildhall_avro_member(const view *v, spot record, uint32_t place)
{
    const uint32_t *operand = v->program->operands + node_of(v, record)->first;
    for (; place; place--, operand += 2) record = past_field(v, record, operand);
    record.node = operand[0];
    return record;
}

items guildhall_avro_items_of(const view *v, spot container)
{
    const node *here = node_of(v, container);
    items made = {.view = v, .node = here, .at = container};
    if (here->type == GUILDHALL_AVRO_RECORD) {
        made.left = here->count;
        made.operand = here->first;
        return made;
    }
    made.left = block(v, &made.at.offset);
    if (made.left) made.at.mark += 2;
    made.at.node = v->program->operands[here->first];
    return made;
}

static int next_field(items *of)
{
    while (of->left) {
        const uint32_t *operand = of->view->program->operands + of->operand;
        spot here = of->at;
        of->left--;
        of->operand += 2;
        of->at = past_field(of->view, here, operand);
        if (operand[1] == GUILDHALL_AVRO_SKIPPED) continue;
        here.node = operand[0];
        of->value = here;
        of->name = operand[1];
        return 1;
    }
    return 0;
}

void guildhall_avro_entry(const view *v, spot item, items *entry)
{
    guildhall_avro_input input = input_at(v, item.offset);
    guildhall_avro_span(&input, &entry->key, &entry->key_length);
    item.offset = offset_of(v, &input);
    entry->value = item;
}

int guildhall_avro_items_next(items *of)
{
    if (of->node->type == GUILDHALL_AVRO_RECORD) return next_field(of);
    if (!of->left) return 0;
    of->value = of->at;
    if (of->node->type == GUILDHALL_AVRO_MAP) guildhall_avro_entry(of->view, of->at, of);
    uint32_t item = of->at.node;
    of->at = past(of->view, of->value);
    of->at.node = item;
    if (!--of->left) of->left = block(of->view, &of->at.offset);
    return 1;
}

/* Goes on from the last sample before the position. */
static void approach(items *of, spot array, uint32_t *position)
{
    const view *v = of->view;
    uint32_t next = v->marks[array.mark + 1], end = v->marks[array.mark], place = *position / GUILDHALL_SAMPLED;
    uint32_t count = guildhall_avro_count(v, array), blocks = next & GUILDHALL_AVRO_BLOCKS ? 1 : 0, width = 2 + blocks;
    uint32_t samples = guildhall_avro_samples(count, end - of->at.offset);
    if (!place || !samples) return;
    const uint32_t *sample = v->marks + (next & ~GUILDHALL_AVRO_BLOCKS) - blocks - (size_t)(samples - place + 1) * width;
    of->at.offset = sample[0];
    of->at.mark = sample[1];
    of->left = blocks ? sample[2] : count - place * GUILDHALL_SAMPLED;
    *position -= place * GUILDHALL_SAMPLED;
}

spot guildhall_avro_item(const view *v, spot array, uint32_t position)
{
    items of = guildhall_avro_items_of(v, array);
    if (position >= GUILDHALL_SAMPLED) approach(&of, array, &position);
    while (position--) guildhall_avro_items_next(&of);
    return of.at;
}
