/* Long numbers, blocks, and values that are skipped. */
#include "input.h"

typedef guildhall_avro_status status;
typedef guildhall_avro_input input;

const guildhall_avro_rules guildhall_avro_default_rules = {
    .max_nesting = 256,
    .max_bytes = 64 << 20,
    .max_empty_items = 65536,
    .allow_invalid_utf8 = 1,
};

#define LONGEST 10 /* bytes of a 64-bit number */

status guildhall_avro_long_number(input *input, int64_t *number)
{
    uint64_t bits = 0;
    size_t left = guildhall_avro_left(input), limit = left < LONGEST ? left : LONGEST;
    for (size_t i = 0; i < limit; i++) {
        uint8_t byte = input->at[i];
        if (i == LONGEST - 1 && byte > 1) return GUILDHALL_AVRO_BAD_NUMBER;
        bits |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            input->at += i + 1;
            *number = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
            return GUILDHALL_AVRO_VALID;
        }
    }
    return left < LONGEST ? GUILDHALL_AVRO_UNEXPECTED_END : GUILDHALL_AVRO_BAD_NUMBER;
}

static status avro_input_block_head(input *input, uint64_t *count, int64_t *bytes)
{
    int64_t number;
    status status = guildhall_avro_number(input, &number);
    *bytes = -1;
    if (status != GUILDHALL_AVRO_VALID) return status;
    if (number >= 0) {
        *count = (uint64_t)number;
        return GUILDHALL_AVRO_VALID;
    }
    *count = 0 - (uint64_t)number;
    status = guildhall_avro_number(input, bytes);
    if (status == GUILDHALL_AVRO_VALID && *bytes < 0) return GUILDHALL_AVRO_BAD_LENGTH;
    return status;
}

status guildhall_avro_afford(input *input, const guildhall_avro_node *item, int map, uint64_t count)
{
    uint64_t minimum = (uint64_t)item->minimum + (map ? 1 : 0), values = (uint64_t)item->inside + 1;
    if (minimum) return count > guildhall_avro_left(input) / minimum ? GUILDHALL_AVRO_BAD_COUNT : GUILDHALL_AVRO_VALID;
    if (count > input->empty_left / values) return GUILDHALL_AVRO_TOO_MANY_EMPTY;
    input->empty_left -= count * values;
    return GUILDHALL_AVRO_VALID;
}

status guildhall_avro_block(input *input, const guildhall_avro_node *item, int map, uint64_t *count)
{
    const uint8_t *at = input->at;
    int64_t bytes;
    status status = avro_input_block_head(input, count, &bytes);
    if (status == GUILDHALL_AVRO_VALID) status = guildhall_avro_afford(input, item, map, *count);
    if (status != GUILDHALL_AVRO_VALID) input->at = at;
    return status;
}

uint64_t guildhall_avro_block_again(input *input)
{
    uint64_t count = 0;
    int64_t bytes;
    avro_input_block_head(input, &count, &bytes);
    return count;
}

static status avro_input_skip_bytes(input *input, size_t length)
{
    const uint8_t *bytes;
    return guildhall_avro_take(input, length, &bytes);
}

static status avro_input_skip_span(input *input)
{
    const uint8_t *bytes;
    size_t length;
    return guildhall_avro_span(input, &bytes, &length);
}

static status avro_input_skip_items(input *input, const guildhall_avro_program *program, const guildhall_avro_node *node,
                                    uint32_t depth_left)
{
    uint32_t item = program->operands[node->first];
    int map = node->type == GUILDHALL_AVRO_MAP;
    uint64_t count;
    int64_t bytes;
    for (;;) {
        status status = avro_input_block_head(input, &count, &bytes);
        if (status == GUILDHALL_AVRO_VALID && !count) return status;
        if (status == GUILDHALL_AVRO_VALID && bytes >= 0) {
            if ((status = avro_input_skip_bytes(input, (size_t)bytes)) != GUILDHALL_AVRO_VALID) return status;
            continue;
        }
        if (status == GUILDHALL_AVRO_VALID) status = guildhall_avro_afford(input, &program->nodes[item], map, count);
        while (status == GUILDHALL_AVRO_VALID && count--) {
            if (map) status = avro_input_skip_span(input);
            if (status == GUILDHALL_AVRO_VALID) status = guildhall_avro_skip(input, program, item, depth_left);
        }
        if (status != GUILDHALL_AVRO_VALID) return status;
    }
}

static status avro_input_skip_record(input *input, const guildhall_avro_program *program, const guildhall_avro_node *node,
                                     uint32_t depth_left)
{
    status status = guildhall_avro_pay_for(input, node);
    for (uint32_t i = 0; i < node->count && status == GUILDHALL_AVRO_VALID; i++) {
        status = guildhall_avro_skip(input, program, program->operands[node->first + 2 * i], depth_left);
    }
    return status;
}

status guildhall_avro_skip(input *input, const guildhall_avro_program *program, uint32_t index, uint32_t depth_left)
{
    const guildhall_avro_node *node = &program->nodes[index];
    int64_t number;
    status status;
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: return GUILDHALL_AVRO_VALID;
    case GUILDHALL_AVRO_BOOLEAN: return avro_input_skip_bytes(input, 1);
    case GUILDHALL_AVRO_INT: case GUILDHALL_AVRO_LONG: case GUILDHALL_AVRO_INT_AS_REAL:
    case GUILDHALL_AVRO_LONG_AS_REAL: case GUILDHALL_AVRO_ENUM: return guildhall_avro_number(input, &number);
    case GUILDHALL_AVRO_FLOAT: return avro_input_skip_bytes(input, 4);
    case GUILDHALL_AVRO_DOUBLE: return avro_input_skip_bytes(input, 8);
    case GUILDHALL_AVRO_BYTES: case GUILDHALL_AVRO_STRING: return avro_input_skip_span(input);
    case GUILDHALL_AVRO_FIXED: return avro_input_skip_bytes(input, node->count);
    case GUILDHALL_AVRO_ARRAY: case GUILDHALL_AVRO_MAP:
        return depth_left ? avro_input_skip_items(input, program, node, depth_left - 1) : GUILDHALL_AVRO_TOO_DEEP;
    case GUILDHALL_AVRO_RECORD:
        return depth_left ? avro_input_skip_record(input, program, node, depth_left - 1) : GUILDHALL_AVRO_TOO_DEEP;
    case GUILDHALL_AVRO_UNION:
        status = guildhall_avro_number(input, &number);
        if (status != GUILDHALL_AVRO_VALID) return status;
        if (number < 0 || number >= node->count) return GUILDHALL_AVRO_BAD_BRANCH;
        return guildhall_avro_skip(input, program, program->operands[node->first + (uint32_t)number], depth_left);
    case GUILDHALL_AVRO_MISMATCH: break;
    }
    return GUILDHALL_AVRO_NO_MATCH;
}

const char *guildhall_avro_status_text(status status)
{
    switch (status) {
    case GUILDHALL_AVRO_VALID: return "valid";
    case GUILDHALL_AVRO_UNEXPECTED_END: return "unexpected end of input";
    case GUILDHALL_AVRO_BAD_NUMBER: return "number beyond the range of its type";
    case GUILDHALL_AVRO_BAD_LENGTH: return "negative length";
    case GUILDHALL_AVRO_BAD_COUNT: return "unexpected end of input: more items announced than bytes are left";
    case GUILDHALL_AVRO_TOO_MANY_EMPTY: return "more than max_empty_items items that take no byte, with what is in them";
    case GUILDHALL_AVRO_TOO_MANY_UNPAID:
        return "too many fields that take no byte (nulls, defaults) for so few bytes; max_empty_items allows more";
    case GUILDHALL_AVRO_BAD_SYMBOL: return "the enum has no symbol of this number";
    case GUILDHALL_AVRO_UNKNOWN_SYMBOL: return "the reader's enum does not have this symbol, and no default";
    case GUILDHALL_AVRO_BAD_BRANCH: return "the union has no branch of this number";
    case GUILDHALL_AVRO_NO_MATCH: return "the reader's schema has no type that matches the written one";
    case GUILDHALL_AVRO_INVALID_UTF8: return "a string is not valid UTF-8";
    case GUILDHALL_AVRO_TOO_DEEP: return "nested deeper than max_nesting";
    case GUILDHALL_AVRO_TOO_LONG: return "longer than max_bytes";
    case GUILDHALL_AVRO_AFTER_END: return "bytes after the end of the value";
    case GUILDHALL_AVRO_NO_MEMORY: return "out of memory";
    }
    return "unknown status";
}
