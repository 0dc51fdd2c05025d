/* Long numbers and blocks. */
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

status guildhall_avro_block_head(input *input, uint64_t *count, int64_t *bytes)
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

const char *guildhall_avro_status_text(status status)
{
    static const char *const texts[] = {
        [GUILDHALL_AVRO_VALID] = "valid",
        [GUILDHALL_AVRO_UNEXPECTED_END] = "unexpected end of input",
        [GUILDHALL_AVRO_BAD_NUMBER] = "number beyond the range of its type",
        [GUILDHALL_AVRO_BAD_LENGTH] = "negative length",
        [GUILDHALL_AVRO_BAD_COUNT] = "unexpected end of input: more items announced than bytes are left",
        [GUILDHALL_AVRO_TOO_MANY_EMPTY] = "more than max_empty_items items that take no byte, with what is in them",
        [GUILDHALL_AVRO_TOO_MANY_UNPAID] =
            "too many fields that take no byte (nulls, defaults) for so few bytes; max_empty_items allows more",
        [GUILDHALL_AVRO_BAD_SYMBOL] = "the enum has no symbol of this number",
        [GUILDHALL_AVRO_UNKNOWN_SYMBOL] = "the reader's enum does not have this symbol, and no default",
        [GUILDHALL_AVRO_BAD_BRANCH] = "the union has no branch of this number",
        [GUILDHALL_AVRO_NO_MATCH] = "the reader's schema has no type that matches the written one",
        [GUILDHALL_AVRO_INVALID_UTF8] = "a string is not valid UTF-8",
        [GUILDHALL_AVRO_TOO_DEEP] = "nested deeper than max_nesting",
        [GUILDHALL_AVRO_TOO_LONG] = "longer than max_bytes",
        [GUILDHALL_AVRO_AFTER_END] = "bytes after the end of the value",
        [GUILDHALL_AVRO_NO_MEMORY] = "out of memory"};
    return texts[status];
}
