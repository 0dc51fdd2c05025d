/* Decimal to double, correctly rounded: Clinger's exact cases, then the algorithm of Eisel and Lemire ("Number parsing
 * at a gigabyte per second", 2021), then, for the rare long number that is near the middle of two doubles, the C library's.
 * Never depends on the locale. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "digits.h"
#include "parse.h"
#include "powers_of_five.h"
#include "tape.h"

#define MANTISSA_BITS 52
#define SIGNIFICANT_DIGITS 19 /* as many as fit 64 bits */

/* What the digits say: mantissa × 10**exponent; `exact` unless digits were left out of the mantissa. */
typedef struct {
    uint64_t mantissa;
    int64_t exponent;
    int negative, exact;
} decimal;

static int64_t json_number_read_exponent(const uint8_t *at, const uint8_t *end)
{
    int negative = *at == '-';
    int64_t exponent = 0;
    if (*at == '-' || *at == '+') at++;
    for (; at < end; at++) {
        if (exponent < 1000000000) exponent = exponent * 10 + (*at - '0');
    }
    return negative ? -exponent : exponent;
}

/* Adds a run of digits to the mantissa, as far as it has room; digits of the fraction lower the exponent. */
static inline const uint8_t *json_number_read_digits(const uint8_t *at, const uint8_t *end, decimal *number, int *used, int fraction)
{
    /* Eight at once, as long as all of them count and there is room. */
    while (end - at >= 8 && *used <= SIGNIFICANT_DIGITS - 8 && (number->mantissa || *at != '0')) {
        uint64_t word = guildhall_json_load_digits(at);
        if (guildhall_json_leading_digits(word) < 8) break;
        number->mantissa = number->mantissa * 100000000 + guildhall_json_eight_digits(word);
        number->exponent -= fraction * 8;
        *used += 8;
        at += 8;
    }
    for (; at < end && guildhall_json_is_digit(*at); at++) {
        if (*used < SIGNIFICANT_DIGITS) {
            number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
            *used += number->mantissa != 0; /* leading zeros do not count */
            number->exponent -= fraction;
        } else {
            number->exact &= *at == '0';
            number->exponent += !fraction;
        }
    }
    return at;
}

static decimal json_number_read_decimal(const uint8_t *at, size_t length)
{
    const uint8_t *end = at + length;
    decimal number = {.exact = 1, .negative = *at == '-'};
    int used = 0;
    at = json_number_read_digits(at + number.negative, end, &number, &used, 0);
    if (at < end && *at == '.') at = json_number_read_digits(at + 1, end, &number, &used, 1);
    if (at < end) number.exponent += json_number_read_exponent(at + 1, end);
    return number;
}

#define ROOM 33 /* bytes that may be read from a number's beginning on */

/* What most decimals are, up to seven digits, a point, as many more as fit, and no exponent, is read without a jump for
 * each digit, which the processor could not foresee. 0 when the number is not like that. */
static inline int json_number_read_plain(const uint8_t *at, const uint8_t *end, decimal *number)
{
    number->negative = *at == '-';
    at += number->negative;
    unsigned whole = guildhall_json_add_digits(at, &number->mantissa);
    if (whole == 8 || at[whole] != '.') return 0;
    int used = (int)whole - (*at == '0');
    at += whole + 1;
    unsigned count, fraction = 0;
    do {
        count = guildhall_json_add_digits(at + fraction, &number->mantissa);
        fraction += count;
    } while (count == 8 && fraction < 24);
    number->exponent = -(int64_t)fraction;
    return at + fraction == end && used + (int)fraction <= SIGNIFICANT_DIGITS;
}

static inline double json_number_assemble(uint64_t mantissa, int32_t exponent)
{
    uint64_t bits = mantissa | (uint64_t)exponent << MANTISSA_BITS;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* mantissa × 10**exponent rounded to the nearest double, for mantissa ≠ 0 taken as exact. */
static double json_number_eisel_lemire(uint64_t mantissa, int64_t exponent)
{
    if (exponent < POWER_OF_FIVE_FIRST) return 0.0;
    if (exponent > 308) return INFINITY;
    int zeros = __builtin_clzll(mantissa);
    const uint64_t *power = powers_of_five[exponent - POWER_OF_FIVE_FIRST];
    unsigned __int128 product = (unsigned __int128)(mantissa << zeros) * power[0];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if ((high & 0x1ff) == 0x1ff) { /* the bits below the mantissa are all ones: a carry might matter */
        uint64_t more = (uint64_t)((unsigned __int128)(mantissa << zeros) * power[1] >> 64);
        low += more;
        high += low < more;
    }
    int top = (int)(high >> 63), shift = top + 64 - MANTISSA_BITS - 3;
    uint64_t rounded = high >> shift;
    int32_t binary = (int32_t)((217706 * exponent >> 16) + 63) + top - zeros + 1023;
    if (binary <= 0) { /* subnormal */
        if (1 - binary >= 64) return 0.0;
        rounded >>= 1 - binary;
        rounded = (rounded + (rounded & 1)) >> 1;
        return json_number_assemble(rounded & ~((uint64_t)1 << MANTISSA_BITS), rounded >> MANTISSA_BITS ? 1 : 0);
    }
    /* Exactly half way, which only these exponents can be: to even. */
    if (low <= 1 && exponent >= -4 && exponent <= 23 && (rounded & 3) == 1 && rounded << shift == high) rounded &= ~(uint64_t)1;
    rounded = (rounded + (rounded & 1)) >> 1;
    if (rounded >> (MANTISSA_BITS + 1)) {
        rounded = (uint64_t)1 << MANTISSA_BITS;
        binary++;
    }
    if (binary >= 2047) return INFINITY;
    return json_number_assemble(rounded & ~((uint64_t)1 << MANTISSA_BITS), binary);
}

#define DIGITS 770 /* more cannot change which side of a middle a number lies on, but for being more than nothing */

/* By the C library, which gets the digits as a whole number: a point is what depends on the locale. */
static double json_number_by_library(const uint8_t *at, const uint8_t *end)
{
    char text[DIGITS + 32];
    int64_t exponent = 0;
    int used = 0, point = 0, more = 0;
    for (at += *at == '-'; at < end && (*at | 32) != 'e'; at++) {
        if (*at == '.') {
            point = 1;
        } else if (used < DIGITS) {
            text[used] = (char)*at;
            used += used || *at != '0';
            exponent -= point;
        } else {
            more |= *at != '0';
            exponent += !point;
        }
    }
    if (more) { /* any digit will do: it only breaks a tie */
        text[used++] = '1';
        exponent--;
    }
    if (at < end) exponent += json_number_read_exponent(at + 1, end);
    snprintf(text + used, sizeof text - (size_t)used, "e%lld", (long long)exponent);
    return strtod(text, NULL);
}

static const double exact_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Up to 53 bits this would be exact; but on which side of 2**53 numbers of sixteen digits lie, which are many, the
 * processor could not foresee. */
#define EASY_BITS 49

static double json_number_magnitude(const decimal *number, const uint8_t *digits, size_t length)
{
    if (!number->mantissa) return 0.0;
    if (number->exact && number->mantissa >> EASY_BITS == 0 && number->exponent >= -22 && number->exponent <= 22) {
        double value = (double)number->mantissa;
        return number->exponent < 0 ? value / exact_powers[-number->exponent] : value * exact_powers[number->exponent];
    }
    double value = json_number_eisel_lemire(number->mantissa, number->exponent);
    if (number->exact || value == json_number_eisel_lemire(number->mantissa + 1, number->exponent)) return value;
    return json_number_by_library(digits, digits + length);
}

double guildhall_json_double(guildhall_json_view view, guildhall_json_node node)
{
    guildhall_json_type type = guildhall_json_type_of(node);
    if (type == GUILDHALL_JSON_INTEGER) return (double)guildhall_json_integer(node);
    const uint8_t *digits = guildhall_json_source(view, node);
    if (type == GUILDHALL_JSON_CONSTANT) return *digits == 'N' ? NAN : *digits == '-' ? -INFINITY : INFINITY;
    size_t length = guildhall_json_length(node);
    decimal number = {.exact = 1};
    if (view.end - digits < ROOM || !json_number_read_plain(digits, digits + length, &number)) number = json_number_read_decimal(digits, length);
    double value = json_number_magnitude(&number, digits, length);
    return number.negative ? -value : value;
}

uint64_t guildhall_json_written_digits(const uint8_t *text, size_t length)
{
    const uint8_t *end = text + length, *first = text + (length && *text == '-');
    const uint8_t *at = guildhall_json_skip_digits(first, end);
    int64_t whole = at - first, fraction = 0;
    if (whole == 1 && *first == '0') whole = 0; /* 0.1e3 is 100 */
    if (at < end && *at == '.') {
        first = at + 1;
        at = guildhall_json_skip_digits(first, end);
        fraction = at - first;
    }
    int64_t shift = at + 1 < end ? json_number_read_exponent(at + 1, end) : 0;
    whole += shift;
    fraction -= shift;
    return (uint64_t)(whole > 1 ? whole : 1) + (uint64_t)(fraction > 0 ? fraction : 0);
}
