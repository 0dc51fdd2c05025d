/* What Documents of every format have in common, and encoders have to know of them. */
#ifndef GUILDHALL_DOCUMENT_ANY_H
#define GUILDHALL_DOCUMENT_ANY_H

#include <ruby.h>
#include <ruby/encoding.h>
#include <stdbool.h>
#include "key_index.h"
#include "plain.h"
#include "values/frozen.h"

/* The bytes that a Document shows: the String itself where it is frozen, shareable and has them to itself, else a copy that is. Raises TypeError for
 * what is no String. */
VALUE guildhall_frozen_bytes(VALUE source);

/* Reports indexes that were made since to the garbage collector. */
static inline void guildhall_key_indexes_report(guildhall_key_indexes *indexes)
{
    size_t unreported = guildhall_key_indexes_unreported(indexes);
    if (RB_UNLIKELY(unreported)) rb_gc_adjust_memory_usage((ssize_t)unreported);
}

/* The text that a String given as a key means; 0: none that UTF-8 could say. */
static inline VALUE guildhall_document_text(VALUE key)
{
    if (!RB_TYPE_P(key, T_STRING)) return 0;
    if (RB_LIKELY(RB_ENCODING_GET_INLINED(key) == guildhall_utf8_index)) return key;
    return rb_enc_asciicompat(rb_enc_get(key)) && rb_enc_str_asciionly_p(key) ? key : 0;
}

/* The rest of the way of a `dig` that has left the payload: the value's own dig decides what that means. */
VALUE guildhall_document_dig_on(VALUE value, int count, const VALUE *keys);

/* What lies at the end of these steps from a plain object, as Columns has it; nil where nothing does. */
VALUE guildhall_columns_of_plain(VALUE value, long count, const VALUE *steps);

/* Which kinds of keys a Hash has that is written: keys of one kind are different when they are read again; a String and a Symbol may be the
 * same text, and so may be what is converted first. */
enum { GUILDHALL_STRING_KEY = 1, GUILDHALL_SYMBOL_KEY = 2, GUILDHALL_CONVERTED_KEY = 4 };

static inline bool guildhall_keys_may_collide(int kinds) { return kinds & (kinds - 1) || kinds == GUILDHALL_CONVERTED_KEY; }

#endif
