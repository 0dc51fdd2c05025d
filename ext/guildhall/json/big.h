/* Rounding of decimals that 64 bits cannot decide. */
#ifndef GUILDHALL_JSON_BIG_H
#define GUILDHALL_JSON_BIG_H

#include <stddef.h>
#include <stdint.h>

/* The double nearest to the number (a valid JSON number, its sign ignored), which lies at or above `below` and not
 * above the next double. */
double guildhall_json_big_round(const uint8_t *digits, size_t length, double below);

#endif
