/* Which kinds of keys a Hash has that is written: keys of one kind are different when they are read again; a String and a Symbol may be the
 * same text, and so may be what is converted first. */
#ifndef GUILDHALL_DOCUMENT_KEY_KINDS_H
#define GUILDHALL_DOCUMENT_KEY_KINDS_H

#include <stdbool.h>

enum { GUILDHALL_STRING_KEY = 1, GUILDHALL_SYMBOL_KEY = 2, GUILDHALL_CONVERTED_KEY = 4 };

static inline bool guildhall_keys_may_collide(int kinds) { return kinds & (kinds - 1) || kinds == GUILDHALL_CONVERTED_KEY; }

#endif
