/* Compares a decimal with the middle of two doubles exactly, by big integers of a fixed size. */
#include <math.h>
#include <string.h>
#include "big.h"

#define LIMBS 96
#define DIGITS 770 /* more cannot change which side of a middle a number lies on, but for being more than nothing */

typedef struct {
    uint64_t limbs[LIMBS]; /* lowest first */
    int used;
} big;

static void json_big_multiply_add(big *number, uint64_t factor, uint64_t carry)
{
    for (int i = 0; i < number->used; i++) {
        unsigned __int128 product = (unsigned __int128)number->limbs[i] * factor + carry;
        number->limbs[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    if (carry && number->used < LIMBS) number->limbs[number->used++] = carry;
}

static void json_big_multiply_by_power_of_five(big *number, int64_t exponent)
{
    const uint64_t five27 = 7450580596923828125ull; /* the largest power of five in 64 bits */
    for (; exponent >= 27; exponent -= 27) json_big_multiply_add(number, five27, 0);
    uint64_t rest = 1;
    for (; exponent > 0; exponent--) rest *= 5;
    json_big_multiply_add(number, rest, 0);
}

static void json_big_shift_left(big *number, int64_t bits)
{
    int whole = (int)(bits / 64);
    if (bits % 64) json_big_multiply_add(number, (uint64_t)1 << bits % 64, 0);
    if (!whole || number->used + whole > LIMBS) return;
    memmove(number->limbs + whole, number->limbs, (size_t)number->used * sizeof(uint64_t));
    memset(number->limbs, 0, (size_t)whole * sizeof(uint64_t));
    number->used += whole;
}

static int json_big_compare(const big *left, const big *right)
{
    if (left->used != right->used) return left->used < right->used ? -1 : 1;
    for (int i = left->used - 1; i >= 0; i--) {
        if (left->limbs[i] != right->limbs[i]) return left->limbs[i] < right->limbs[i] ? -1 : 1;
    }
    return 0;
}

/* The significant digits as an integer; returns the power of ten to multiply it with. */
static int64_t json_big_read(const uint8_t *at, const uint8_t *end, big *number)
{
    int64_t exponent = 0, written = 0;
    int used = 0, point = 0, more = 0;
    for (; at < end && (*at | 32) != 'e'; at++) {
        if (*at == '.') {
            point = 1;
        } else if (*at != '-') {
            if (used < DIGITS) {
                json_big_multiply_add(number, 10, (uint64_t)(*at - '0'));
                used += number->used != 0;
                exponent -= point;
            } else {
                more |= *at != '0';
                exponent += !point;
            }
        }
    }
    if (more) { /* any digit will do: it only breaks a tie */
        json_big_multiply_add(number, 10, 1);
        exponent--;
    }
    if (at++ < end) {
        int negative = *at == '-';
        for (at += *at == '-' || *at == '+'; at < end; at++) {
            if (written < 1000000) written = written * 10 + (*at - '0');
        }
        exponent += negative ? -written : written;
    }
    return exponent;
}

double guildhall_json_big_round(const uint8_t *digits, size_t length, double below)
{
    uint64_t bits;
    memcpy(&bits, &below, sizeof bits);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int binary = (int)(bits >> 52);
    uint64_t mantissa = binary ? fraction | (uint64_t)1 << 52 : fraction;
    int64_t power_of_two = (binary ? binary : 1) - 1075 - 1; /* of the middle, which has one bit more */
    big number = {.used = 0}, middle = {.limbs = {mantissa * 2 + 1}, .used = 1};
    int64_t power_of_ten = json_big_read(digits, digits + length, &number);
    if (power_of_ten > 0) json_big_multiply_by_power_of_five(&number, power_of_ten);
    else json_big_multiply_by_power_of_five(&middle, -power_of_ten);
    int64_t shift = power_of_ten - power_of_two;
    if (shift > 0) json_big_shift_left(&number, shift);
    else json_big_shift_left(&middle, -shift);
    int order = json_big_compare(&number, &middle);
    return order < 0 || (order == 0 && !(bits & 1)) ? below : nextafter(below, INFINITY);
}
