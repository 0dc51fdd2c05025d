/* Makes the Ruby objects that decoders return: frozen from the start, and shareable where that takes no walk
 * (guildhall/sharing.h).
 *
 * Everything here needs the GVL, may raise NoMemoryError, and runs no Ruby code, so no thread switch happens inside.
 * The parts handed in (elements, keys, values) must be shareable already: nothing checks them.
 */
#ifndef GUILDHALL_VALUES_FROZEN_H
#define GUILDHALL_VALUES_FROZEN_H

#include <ruby.h>
#include <ruby/ractor.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <guildhall/sharing.h>

/* Of Ruby's encodings. */
extern int guildhall_utf8_index, guildhall_ascii_index, guildhall_binary_index;

/* What is known about the bytes of a string. */
typedef enum {
    GUILDHALL_TEXT_ASCII,     /* UTF-8 encoding, every byte below 0x80 */
    GUILDHALL_TEXT_UTF8,      /* UTF-8 encoding, valid, some byte above 0x7f */
    GUILDHALL_TEXT_UNCHECKED, /* UTF-8 encoding, validity unknown */
    GUILDHALL_TEXT_BINARY     /* ASCII-8BIT encoding */
} guildhall_text;

/* Whether the contents of a String or an Array are another object's, as those of a long end are: that one need not be shareable. Even where
 * it is frozen, Ruby copies them when it likes (`-string`, Ractor.make_shareable), and they lie elsewhere from then on. */
static inline bool guildhall_borrows(VALUE object) { return RB_FL_ANY_RAW(object, RUBY_ELTS_SHARED) != 0; }

VALUE guildhall_string_new(const void *bytes, size_t length, guildhall_text text);
/* For strings written in place: make with rb_str_new, write, set the length, then pass it here. */
VALUE guildhall_string_finish(VALUE string, guildhall_text text);
/* The frozen String itself, or a frozen copy where it borrows its bytes: they stay where they are for as long as it lives. */
VALUE guildhall_string_settled(VALUE frozen);
/* A String of another encoding in UTF-8; nil where it cannot be converted. Runs Ruby code. */
VALUE guildhall_in_utf8(VALUE string);
VALUE guildhall_array_new(long count, const VALUE *elements);
/* `count` key-value pairs: pairs[0] is the first key, pairs[1] its value. The last of equal keys wins.
 * String keys must be frozen. */
VALUE guildhall_hash_new(long count, const VALUE *pairs);
/* The same, but not frozen. */
VALUE guildhall_open_hash_new(long count, const VALUE *pairs);

/* Shareable like everything else: flonums and fixnums are, heap floats and big integers get the flag. */
static inline VALUE guildhall_number(VALUE number)
{
    if (!RB_SPECIAL_CONST_P(number)) guildhall_share(number);
    return number;
}
static inline VALUE guildhall_float_new(double value) { return guildhall_number(DBL2NUM(value)); }
static inline VALUE guildhall_integer_new(int64_t value) { return guildhall_number(LL2NUM(value)); }
static inline VALUE guildhall_unsigned_new(uint64_t value) { return guildhall_number(ULL2NUM(value)); }

/* An Integer of any size from ASCII decimal digits, with an optional leading minus. */
VALUE guildhall_integer_from_digits(const uint8_t *digits, size_t length);

#endif
