/* The cache of hash keys: a direct-mapped table of interned Strings (and their Symbols). A key that was seen before costs one
 * comparison. */
#ifndef GUILDHALL_VALUES_KEY_CACHE_H
#define GUILDHALL_VALUES_KEY_CACHE_H

#include "frozen.h"
#include "text_ends.h"

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

void guildhall_key_cache_mark(const guildhall_key_cache *cache);
void guildhall_init_key_cache(void);

#endif
