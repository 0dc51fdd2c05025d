/* Shortest decimals by the Schubfach algorithm (Giulietti, "The Schubfach way to render doubles", 2020). */
#include <stdint.h>
#include <string.h>
#include "powers_of_five.h"
#include "shortest.h"

typedef struct {
    uint64_t digits;
    int exponent; /* of ten */
} decimal;

typedef struct {
    uint64_t high, low;
} power;

static inline int json_shortest_floor_log10_of_power_of_two(int exponent) { return exponent * 1262611 >> 22; }
static inline int json_shortest_floor_log10_of_three_quarters(int exponent) { return (exponent * 1262611 - 524031) >> 22; }
static inline int json_shortest_floor_log2_of_power_of_ten(int exponent) { return exponent * 1741647 >> 19; }

/* 128 bits of 10**exponent, rounded up where they are not exact. */
static inline power json_shortest_power_of_ten(int exponent)
{
    const uint64_t *bits = powers_of_five[exponent - POWER_OF_FIVE_FIRST];
    uint64_t up = exponent > 55 || exponent < -27; /* the table is cut off there, and rounded up from -27 to -1 */
    power rounded = {bits[0], bits[1] + up};
    rounded.high += rounded.low < up;
    return rounded;
}

/* The product's upper part, its lowest bit saying whether anything was lost. */
static inline uint64_t json_shortest_round_to_odd(power factor, uint64_t value)
{
    uint64_t below = (uint64_t)((unsigned __int128)factor.low * value >> 64);
    unsigned __int128 product = (unsigned __int128)factor.high * value + below;
    return (uint64_t)(product >> 64) | ((uint64_t)product > 1);
}

/* significand × 2**exponent; `irregular`: the next double below is only half as far away as the one above. */
static decimal json_shortest_of(uint64_t significand, int exponent, int irregular)
{
    int odd = significand & 1;
    int ten = irregular ? json_shortest_floor_log10_of_three_quarters(exponent) : json_shortest_floor_log10_of_power_of_two(exponent);
    int shift = exponent + json_shortest_floor_log2_of_power_of_ten(-ten) + 1;
    power factor = json_shortest_power_of_ten(-ten);
    uint64_t lower = json_shortest_round_to_odd(factor, (4 * significand - 2 + (uint64_t)irregular) << shift) + (uint64_t)odd;
    uint64_t value = json_shortest_round_to_odd(factor, 4 * significand << shift);
    uint64_t upper = json_shortest_round_to_odd(factor, (4 * significand + 2) << shift) - (uint64_t)odd;
    uint64_t digits = value / 4;
    if (digits >= 10) {
        uint64_t fewer = digits / 10;
        int down = lower <= 40 * fewer, up = 40 * fewer + 40 <= upper;
        if (down != up) return (decimal){fewer + (uint64_t)up, ten + 1};
    }
    int down = lower <= 4 * digits, up = 4 * digits + 4 <= upper;
    if (down != up) return (decimal){digits + (uint64_t)up, ten};
    uint64_t middle = 4 * digits + 2;
    return (decimal){digits + (value > middle || (value == middle && (digits & 1))), ten};
}

static decimal json_shortest_to_decimal(uint64_t bits)
{
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t significand = exponent ? fraction | (uint64_t)1 << 52 : fraction;
    int binary = (exponent ? exponent : 1) - 1075;
    if (binary <= 0 && binary > -53 && !(significand & (((uint64_t)1 << -binary) - 1))) {
        return (decimal){significand >> -binary, 0}; /* an integer */
    }
    return json_shortest_of(significand, binary, !fraction && exponent > 1);
}

static int json_shortest_write_digits(uint64_t value, char *out)
{
    char reversed[20];
    int count = 0;
    do reversed[count++] = (char)('0' + value % 10);
    while (value /= 10);
    for (int i = 0; i < count; i++) out[i] = reversed[count - 1 - i];
    return count;
}

static size_t json_shortest_write_scientific(const char *digits, int count, int exponent, char *out)
{
    char *at = out;
    *at++ = digits[0];
    if (count > 1) {
        *at++ = '.';
        memcpy(at, digits + 1, (size_t)count - 1);
        at += count - 1;
    }
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    at += json_shortest_write_digits((uint64_t)(exponent < 0 ? -exponent : exponent), at);
    return (size_t)(at - out);
}

/* digits × 10**exponent without an exponent; exponent < 0. */
static size_t json_shortest_write_fraction(const char *digits, int count, int exponent, char *out)
{
    int before = count + exponent; /* digits before the point */
    if (before > 0) {
        memcpy(out, digits, (size_t)before);
        out[before] = '.';
        memcpy(out + before + 1, digits + before, (size_t)(count - before));
        return (size_t)count + 1;
    }
    memcpy(out, "0.", 2);
    memset(out + 2, '0', (size_t)-before);
    memcpy(out + 2 - before, digits, (size_t)count);
    return (size_t)(2 - before + count);
}

static size_t json_shortest_write_integer(const char *digits, int count, int exponent, char *out)
{
    memcpy(out, digits, (size_t)count);
    memset(out + count, '0', (size_t)exponent);
    memcpy(out + count + exponent, ".0", 2);
    return (size_t)(count + exponent + 2);
}

size_t guildhall_json_write_double(double value, char out[GUILDHALL_JSON_DOUBLE_BYTES])
{
    uint64_t bits;
    char digits[20];
    memcpy(&bits, &value, sizeof bits);
    size_t sign = bits >> 63;
    if (sign) *out++ = '-';
    if (!(bits << 1)) return memcpy(out, "0.0", 3), sign + 3;
    decimal number = json_shortest_to_decimal(bits & ~((uint64_t)1 << 63));
    for (; number.digits % 10 == 0; number.exponent++) number.digits /= 10;
    int count = json_shortest_write_digits(number.digits, digits), leading = number.exponent + count - 1;
    int size = leading < 0 ? -leading : leading;
    if (number.exponent >= 0 && size < 15) return sign + json_shortest_write_integer(digits, count, number.exponent, out);
    if (number.exponent < 0 && (number.exponent > -7 || size < 10)) return sign + json_shortest_write_fraction(digits, count, number.exponent, out);
    return sign + json_shortest_write_scientific(digits, count, leading, out);
}
