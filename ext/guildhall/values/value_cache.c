/* A string has one slot: the last one that belongs there stays. */
#include <ruby.h>
#include "value_cache.h"

#define SLOTS GUILDHALL_CACHED_STRINGS
#define SHORT_BYTES 48
#define LONGEST_BYTES 128 /* strings that are longer still seldom repeat */
#define WINDOW 2048       /* lookups between two checks of the hit rate */
#define PAUSED_WINDOWS 8  /* that are left out where it was low */

typedef guildhall_string_table table;
typedef guildhall_cached_string slot;

/* Is a lookup worth it? Counts it if so. */
static inline int value_cache_pays(table *table)
{
    if (table->pause) {
        table->pause--;
        return 0;
    }
    if (++table->lookups < WINDOW) return 1;
    if (table->hits < WINDOW / 8) table->pause = WINDOW * PAUSED_WINDOWS;
    table->lookups = table->hits = 0;
    return 1;
}

/* Addresses of one kind begin and end alike: they differ in the middle. */
static inline slot *value_cache_slot(table *table, guildhall_ends ends, const uint8_t *bytes, size_t length)
{
    uint64_t middle = 0;
    if (length > GUILDHALL_ENDS_BYTES) memcpy(&middle, bytes + length / 2 - 4, sizeof middle);
    return &table->slots[guildhall_ends_hash(ends, length ^ middle * 0xd6e8feb86659fd93ull) & (SLOTS - 1)];
}

VALUE guildhall_string_cached(guildhall_value_cache *cache, const uint8_t *bytes, size_t length, guildhall_text text)
{
    table *table = length <= SHORT_BYTES ? &cache->short_strings : &cache->longer_strings;
    if (length > LONGEST_BYTES || !value_cache_pays(table)) return guildhall_string_new(bytes, length, text);
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    slot *found = value_cache_slot(table, ends, bytes, length);
    if (guildhall_ends_equal(found->ends, found->length, found->string, ends, bytes, length)) {
        table->hits++;
        return found->string;
    }
    VALUE string = guildhall_string_new(bytes, length, text);
    *found = (slot){ends, (uint32_t)length, string};
    return string;
}

static void value_cache_mark_table(const table *table)
{
    for (int i = 0; i < SLOTS; i++) {
        if (table->slots[i].string) rb_gc_mark(table->slots[i].string);
    }
}

void guildhall_value_cache_mark(const guildhall_value_cache *cache)
{
    value_cache_mark_table(&cache->short_strings);
    value_cache_mark_table(&cache->longer_strings);
}
