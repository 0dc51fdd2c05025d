/* A compiled Avro schema: what is in the bytes, node by node, and what becomes of it. Without Ruby.
 *
 * Where the reader's schema differs from the writer's, the differences are settled when the program is made: a record
 * node lists the writer's fields in their order, each kept under the reader's name or skipped, and the defaults of
 * fields that the writer did not have; a number that is promoted has a node of its own; a union's branch that the
 * reader has no place for is a MISMATCH.
 */
#ifndef GUILDHALL_AVRO_PROGRAM_H
#define GUILDHALL_AVRO_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum {
    GUILDHALL_AVRO_NULL,
    GUILDHALL_AVRO_BOOLEAN,
    GUILDHALL_AVRO_INT,
    GUILDHALL_AVRO_LONG,
    GUILDHALL_AVRO_FLOAT,
    GUILDHALL_AVRO_DOUBLE,
    GUILDHALL_AVRO_BYTES,
    GUILDHALL_AVRO_STRING,
    GUILDHALL_AVRO_FIXED,
    GUILDHALL_AVRO_ENUM,
    GUILDHALL_AVRO_ARRAY,
    GUILDHALL_AVRO_MAP,
    GUILDHALL_AVRO_UNION,
    GUILDHALL_AVRO_RECORD,
    GUILDHALL_AVRO_INT_AS_REAL,  /* an int that the reader calls float or double */
    GUILDHALL_AVRO_LONG_AS_REAL,
    GUILDHALL_AVRO_MISMATCH      /* the reader's schema has no place for it */
} guildhall_avro_type;

typedef enum {
    GUILDHALL_AVRO_PLAIN,
    GUILDHALL_AVRO_CONVERTED, /* by Ruby code */
    GUILDHALL_AVRO_MILLIS,    /* timestamps */
    GUILDHALL_AVRO_MICROS,
    GUILDHALL_AVRO_NANOS,
    GUILDHALL_AVRO_LOCAL_MILLIS, /* what a clock shows, wherever it is */
    GUILDHALL_AVRO_LOCAL_MICROS,
    GUILDHALL_AVRO_LOCAL_NANOS
} guildhall_avro_meaning;

static inline int guildhall_avro_local(guildhall_avro_meaning meaning) { return meaning >= GUILDHALL_AVRO_LOCAL_MILLIS; }

/* How many units of a timestamp a second has. */
static inline int64_t guildhall_avro_units(guildhall_avro_meaning meaning)
{
    if (guildhall_avro_local(meaning)) meaning -= GUILDHALL_AVRO_LOCAL_MILLIS - GUILDHALL_AVRO_MILLIS;
    return meaning == GUILDHALL_AVRO_MILLIS ? 1000 : meaning == GUILDHALL_AVRO_MICROS ? 1000000 : 1000000000;
}

#define GUILDHALL_AVRO_SKIPPED UINT32_MAX /* a field that the reader does not have; a symbol it does not know */

typedef struct {
    uint8_t type, meaning;
    uint32_t count;     /* writer's fields, branches, symbols; bytes of a fixed */
    uint32_t first;     /* its first operand */
    uint32_t kept;      /* record: pairs of the Hash it becomes; union: branches that are records; others: the constant that is the
                           converter, the reason of a mismatch */
    uint32_t minimum;   /* the fewest bytes that a value takes */
    uint32_t inside;    /* where these are none: how many values are in one, which take none either */
    uint32_t unpaid;    /* record: its own fields that take no byte, and the defaults */
} guildhall_avro_node;

static inline int guildhall_avro_named(const guildhall_avro_node *node)
{
    return node->type == GUILDHALL_AVRO_RECORD || node->type == GUILDHALL_AVRO_ENUM || node->type == GUILDHALL_AVRO_FIXED;
}

/* Operands. Before the first one of a record, an enum or a fixed: the constant that is its name. record: count × (node, constant: its name, or SKIPPED), then a (constant, constant) each default: name and
 * value. enum: count × constant. union: count × node. array, map: a node. */
typedef struct {
    const guildhall_avro_node *nodes;
    const uint32_t *operands;
    const struct guildhall_avro_text {
        const char *bytes;
        uint32_t length;
    } *texts;           /* of each constant that is a text; for paths */
    uint32_t nodes_count, operands_count, constants_count;
} guildhall_avro_program;

static inline int guildhall_avro_many(const guildhall_avro_node *node)
{
    return node->type == GUILDHALL_AVRO_ARRAY || node->type == GUILDHALL_AVRO_MAP;
}

typedef enum {
    GUILDHALL_AVRO_VALID = 0,
    GUILDHALL_AVRO_UNEXPECTED_END,
    GUILDHALL_AVRO_BAD_NUMBER,
    GUILDHALL_AVRO_BAD_LENGTH,
    GUILDHALL_AVRO_BAD_COUNT,
    GUILDHALL_AVRO_TOO_MANY_EMPTY,
    GUILDHALL_AVRO_TOO_MANY_UNPAID,
    GUILDHALL_AVRO_BAD_SYMBOL,
    GUILDHALL_AVRO_UNKNOWN_SYMBOL,
    GUILDHALL_AVRO_BAD_BRANCH,
    GUILDHALL_AVRO_NO_MATCH,
    GUILDHALL_AVRO_INVALID_UTF8,
    GUILDHALL_AVRO_TOO_DEEP,
    GUILDHALL_AVRO_TOO_LONG,
    GUILDHALL_AVRO_AFTER_END,
    GUILDHALL_AVRO_NO_MEMORY
} guildhall_avro_status;

const char *guildhall_avro_status_text(guildhall_avro_status status);

typedef struct {
    uint32_t max_nesting;     /* records, arrays and maps within each other */
    size_t max_bytes;
    uint64_t max_empty_items; /* items that take no byte and the values in them, of all arrays together: nothing else bounds them */
    unsigned allow_invalid_utf8 : 1;
} guildhall_avro_rules;

/* How many fields of records that take no byte, and defaults, a byte of the payload pays for; and how many come without, unless
 * max_empty_items is more. */
#define GUILDHALL_AVRO_FIELDS_PER_BYTE 32
#define GUILDHALL_AVRO_UNPAID_FIELDS 65536

/* The decoder recurses, and threads have small stacks. */
#define GUILDHALL_AVRO_NESTING_LIMIT 1000

/* How many fields that take no byte a payload of that length may have. */
static inline uint64_t guildhall_avro_unpaid_fields(const guildhall_avro_rules *rules, size_t length)
{
    uint64_t most = rules->max_empty_items;
    return (most > GUILDHALL_AVRO_UNPAID_FIELDS ? most : GUILDHALL_AVRO_UNPAID_FIELDS) + GUILDHALL_AVRO_FIELDS_PER_BYTE * (uint64_t)length;
}

extern const guildhall_avro_rules guildhall_avro_default_rules;

#endif
