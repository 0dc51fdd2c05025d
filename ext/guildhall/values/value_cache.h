/* The caches of short strings and of longer ones (addresses, mostly): direct-mapped tables. Values such as "EUR" or "open" come
 * again and again, and a String that is not made again need not be collected. Values that never come again push out those that
 * do, so a table with few hits is left alone for a while; hence one table for short strings and one for longer ones. */
#ifndef GUILDHALL_VALUES_VALUE_CACHE_H
#define GUILDHALL_VALUES_VALUE_CACHE_H

#include "frozen.h"
#include "text_ends.h"

#define GUILDHALL_CACHED_STRINGS 1024 /* of a table: 32 KiB */

typedef struct {
    guildhall_ends ends;
    uint32_t length;
    VALUE string; /* 0: an empty slot */
} guildhall_cached_string;

/* All zero at first. */
typedef struct {
    uint32_t lookups, hits; /* in this window */
    uint32_t pause;         /* lookups still to leave out */
    guildhall_cached_string slots[GUILDHALL_CACHED_STRINGS];
} guildhall_string_table;

typedef struct {
    guildhall_string_table short_strings, longer_strings;
} guildhall_value_cache;

/* As guildhall_string_new, but perhaps the String that the same bytes gave before. text: ASCII or UTF8. */
VALUE guildhall_string_cached(guildhall_value_cache *cache, const uint8_t *bytes, size_t length, guildhall_text text);

void guildhall_value_cache_mark(const guildhall_value_cache *cache);

#endif
