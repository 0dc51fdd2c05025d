/* Avro's primitive types, read from bytes. Inline, without Ruby. Each returns a status; on an error the input is
 * where it stood. */
#ifndef GUILDHALL_AVRO_INPUT_H
#define GUILDHALL_AVRO_INPUT_H

#include "program.h"

typedef struct {
    const uint8_t *at, *end;
    uint64_t empty_left;  /* values without a byte that may still come in arrays */
    uint64_t unpaid_left; /* fields of records without a byte, and defaults */
} guildhall_avro_input;

static inline guildhall_avro_input guildhall_avro_input_of(const uint8_t *bytes, size_t from, size_t length, const guildhall_avro_rules *rules)
{
    return (guildhall_avro_input){bytes + from, bytes + length, rules->max_empty_items, guildhall_avro_unpaid_fields(rules, length - from)};
}

/* Of what has been read before. */
static inline guildhall_avro_input guildhall_avro_input_again(const uint8_t *bytes, size_t from, size_t length)
{
    return (guildhall_avro_input){bytes + from, bytes + length, UINT64_MAX, UINT64_MAX};
}

static inline size_t guildhall_avro_left(const guildhall_avro_input *input) { return (size_t)(input->end - input->at); }

guildhall_avro_status guildhall_avro_long_number(guildhall_avro_input *input, int64_t *number);

/* A record begins. */
static inline guildhall_avro_status guildhall_avro_pay_for(guildhall_avro_input *input, const guildhall_avro_node *record)
{
    if (__builtin_expect(record->unpaid > input->unpaid_left, 0)) return GUILDHALL_AVRO_TOO_MANY_UNPAID;
    input->unpaid_left -= record->unpaid;
    return GUILDHALL_AVRO_VALID;
}

static inline guildhall_avro_status guildhall_avro_number(guildhall_avro_input *input, int64_t *number)
{
    if (__builtin_expect(input->at < input->end && *input->at < 0x80, 1)) {
        uint8_t byte = *input->at++;
        *number = (int64_t)(byte >> 1) ^ -(int64_t)(byte & 1);
        return GUILDHALL_AVRO_VALID;
    }
    return guildhall_avro_long_number(input, number);
}

static inline guildhall_avro_status guildhall_avro_int(guildhall_avro_input *input, int64_t *number)
{
    const uint8_t *at = input->at;
    guildhall_avro_status status = guildhall_avro_number(input, number);
    if (__builtin_expect(status == GUILDHALL_AVRO_VALID && (*number < INT32_MIN || *number > INT32_MAX), 0)) {
        input->at = at;
        return GUILDHALL_AVRO_BAD_NUMBER;
    }
    return status;
}

static inline guildhall_avro_status guildhall_avro_take(guildhall_avro_input *input, size_t length, const uint8_t **bytes)
{
    if (guildhall_avro_left(input) < length) return GUILDHALL_AVRO_UNEXPECTED_END;
    *bytes = input->at;
    input->at += length;
    return GUILDHALL_AVRO_VALID;
}

/* A length and that many bytes. */
static inline guildhall_avro_status guildhall_avro_span(guildhall_avro_input *input, const uint8_t **bytes, size_t *length)
{
    const uint8_t *at = input->at;
    int64_t number;
    guildhall_avro_status status = guildhall_avro_number(input, &number);
    if (__builtin_expect(status != GUILDHALL_AVRO_VALID, 0)) return status;
    if (__builtin_expect(number < 0 || (uint64_t)number > guildhall_avro_left(input), 0)) {
        input->at = at;
        return number < 0 ? GUILDHALL_AVRO_BAD_LENGTH : GUILDHALL_AVRO_UNEXPECTED_END;
    }
    *length = (size_t)number;
    *bytes = input->at;
    input->at += number;
    return GUILDHALL_AVRO_VALID;
}

/* Little-endian, as every processor is that this is built for (extconf.rb). */
static inline guildhall_avro_status guildhall_avro_float(guildhall_avro_input *input, double *number)
{
    const uint8_t *bytes;
    guildhall_avro_status status = guildhall_avro_take(input, 4, &bytes);
    if (status != GUILDHALL_AVRO_VALID) return status;
    float narrow;
    memcpy(&narrow, bytes, sizeof narrow);
    *number = narrow;
    return status;
}

static inline guildhall_avro_status guildhall_avro_double(guildhall_avro_input *input, double *number)
{
    const uint8_t *bytes;
    guildhall_avro_status status = guildhall_avro_take(input, 8, &bytes);
    if (status != GUILDHALL_AVRO_VALID) return status;
    memcpy(number, bytes, sizeof *number);
    return status;
}

/* A count has to be paid for: by bytes that are there (each pair of a map has one for its key), or out of the allowance
 * for values that take none. */
guildhall_avro_status guildhall_avro_afford(guildhall_avro_input *input, const guildhall_avro_node *item, int map, uint64_t count);
/* The head of an array's or map's next block: how many items; 0: there are no more. Its size in bytes; -1: it does not say. */
guildhall_avro_status guildhall_avro_block_head(guildhall_avro_input *input, uint64_t *count, int64_t *size);

#endif
