/* Is it UTF-8? Without Ruby, from any thread. */
#ifndef GUILDHALL_TEXT_UTF8_H
#define GUILDHALL_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The first byte of the first sequence that is not valid UTF-8 (overlong forms, surrogates and code points above
 * U+10FFFF are not; a sequence cut off by `end` is not), or `end` when all of it is. */
const uint8_t *guildhall_utf8_error(const uint8_t *bytes, const uint8_t *end);

typedef enum { GUILDHALL_UTF8_ASCII, GUILDHALL_UTF8_VALID, GUILDHALL_UTF8_INVALID } guildhall_utf8_class;

/* All ASCII, valid with other characters, or invalid. */
guildhall_utf8_class guildhall_utf8_classify(const uint8_t *bytes, size_t length);

/* Writes a code point (below 0x110000) as UTF-8; returns the position after it. */
static inline uint8_t *guildhall_utf8_write(uint8_t *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (uint8_t)code;
    } else if (code < 0x800) {
        *out++ = (uint8_t)(0xC0 | code >> 6);
        *out++ = (uint8_t)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *out++ = (uint8_t)(0xE0 | code >> 12);
        *out++ = (uint8_t)(0x80 | (code >> 6 & 63));
        *out++ = (uint8_t)(0x80 | (code & 63));
    } else {
        *out++ = (uint8_t)(0xF0 | code >> 18);
        *out++ = (uint8_t)(0x80 | (code >> 12 & 63));
        *out++ = (uint8_t)(0x80 | (code >> 6 & 63));
        *out++ = (uint8_t)(0x80 | (code & 63));
    }
    return out;
}

#endif
