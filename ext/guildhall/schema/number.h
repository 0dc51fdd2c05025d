/* Numbers of instances and schemas, compared exactly whatever they are made of. */
#ifndef GUILDHALL_SCHEMA_NUMBER_H
#define GUILDHALL_SCHEMA_NUMBER_H

#include <ruby.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    GUILDHALL_NUMBER_INTEGER,
    GUILDHALL_NUMBER_DOUBLE,
    GUILDHALL_NUMBER_OBJECT /* an Integer beyond 64 bits, a BigDecimal, a Rational: Ruby compares it */
} guildhall_number_kind;

typedef struct {
    guildhall_number_kind kind;
    union {
        int64_t integer;
        double real;
        VALUE object;
    };
} guildhall_number;

guildhall_number guildhall_number_of(VALUE numeric);
VALUE guildhall_number_value(guildhall_number number);

/* -1, 0 or 1; 2 when they have no order (NaN). */
int guildhall_number_compare(guildhall_number a, guildhall_number b);

/* Without a remainder, in decimal: 0.3 is a multiple of 0.1. Raises LimitError for numbers of more digits that Ruby had to divide. */
bool guildhall_number_multiple(guildhall_number number, guildhall_number divisor, uint32_t max_digits);

/* Has it no fraction? 1.0 is an integer to JSON Schema. */
bool guildhall_number_integral(guildhall_number number);

/* Equal numbers have equal hashes, 1 and 1.0 too, and who does not know the secrets cannot choose others that have. `salt`: for NaN,
 * which equals nothing: another one each time. Raises LimitError for whole decimals of more digits. */
uint64_t guildhall_number_hash(guildhall_number number, uint32_t max_digits, uint64_t salt);

/* What hashes are mixed with a secret by. */
uint64_t guildhall_number_secret_hash(uint64_t value);

void guildhall_number_init(void);

#endif
