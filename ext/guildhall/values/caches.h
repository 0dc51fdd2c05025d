/* What the decoders of one Ractor remember between payloads, because payloads of one kind repeat: keys, short strings, and
 * which keys Hashes have. Needs the GVL. */
#ifndef GUILDHALL_VALUES_CACHES_H
#define GUILDHALL_VALUES_CACHES_H

#include "frozen.h"
#include "hash_template.h"
#include "text/hash.h"

/* ---- keys: a direct-mapped table of interned Strings (and their Symbols); one that was seen before costs one comparison */

#define GUILDHALL_CACHED_KEYS 2048 /* 80 KiB; the webhooks of one big platform have 600 different keys */

typedef struct {
    guildhall_ends ends;
    uint32_t length;
    uint32_t next; /* the slot of the key that followed this one last time */
    VALUE string;  /* 0: an empty slot */
    VALUE symbol;  /* 0: not made yet */
} guildhall_cached_key;

/* All zero at first. */
typedef struct {
    uint32_t lookups, misses; /* in this window */
    int unique;               /* keys hardly ever repeat: do not intern them */
    guildhall_cached_key slots[GUILDHALL_CACHED_KEYS];
} guildhall_key_cache;

/* An interned frozen String, or a Symbol. *hint, 0 at first, links each key to the one that followed it last time: pass the
 * same variable for the keys of one decode. Where keys never repeat, they are not interned.
 * text: ASCII, UTF8 or UNCHECKED. */
VALUE guildhall_key_cached(guildhall_key_cache *cache, uint32_t *hint, const uint8_t *bytes, size_t length, guildhall_text text,
                           int symbol);

/* ---- short strings, and longer ones (addresses, mostly): direct-mapped tables. Values such as "EUR" or "open" come again and again, and a
 * String that is not made again need not be collected. Values that never come again push out those that do, so a table with few hits is
 * left alone for a while; hence one table for short strings and one for longer ones. */

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

typedef struct guildhall_caches {
    guildhall_key_cache keys;
    guildhall_value_cache values;
    guildhall_hash_templates templates;
} guildhall_caches;

/* The current Ractor's. Valid until the caller returns to Ruby. */
guildhall_caches *guildhall_caches_current(void);

#endif
