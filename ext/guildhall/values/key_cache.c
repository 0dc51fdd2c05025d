/* Each key has two places in the table. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "key_cache.h"

#define SLOTS GUILDHALL_CACHED_KEYS
#define WINDOW 8192 /* lookups between two checks of the hit rate */

typedef guildhall_key_cache cache;
typedef guildhall_cached_key slot;

static rb_encoding *utf8;

static inline int key_cache_holds(const slot *slot, guildhall_ends ends, const uint8_t *bytes, size_t length)
{
    return guildhall_ends_equal(slot->ends, slot->length, slot->string, ends, bytes, length);
}

/* Interning costs a look into a table that all Ractors share: not worth it for keys that never come again. One miss
 * in eight is kept all the same, to notice when they do. */
static inline int key_cache_worth_keeping(cache *cache)
{
    cache->misses++;
    return !cache->unique || cache->misses % 8 == 0;
}

static inline void key_cache_count_lookup(cache *cache)
{
    if (++cache->lookups < WINDOW) return;
    cache->unique = cache->misses > WINDOW / 2;
    cache->lookups = cache->misses = 0;
}

/* The slot that holds the key, or NULL where it is not worth a slot. */
static inline slot *key_cache_find(cache *cache, uint32_t *hint, const uint8_t *bytes, size_t length)
{
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    slot *previous = &cache->slots[*hint], *found = &cache->slots[previous->next];
    key_cache_count_lookup(cache);
    if (RB_LIKELY(key_cache_holds(found, ends, bytes, length))) {
        *hint = previous->next;
        return found;
    }
    uint32_t index = guildhall_ends_hash(ends, length) & (SLOTS - 1);
    if (!key_cache_holds(&cache->slots[index], ends, bytes, length)) {
        index ^= 1;
        if (!key_cache_holds(&cache->slots[index], ends, bytes, length)) {
            if (!key_cache_worth_keeping(cache)) return NULL;
            VALUE string = rb_enc_interned_str((const char *)bytes, (long)length, utf8);
            if (cache->slots[index].string && !cache->slots[index ^ 1].string) index ^= 1;
            cache->slots[index] = (slot){ends, (uint32_t)length, 0, string, 0};
        }
    }
    previous->next = *hint = index;
    return &cache->slots[index];
}

VALUE guildhall_key_cached(cache *cache, uint32_t *hint, const uint8_t *bytes, size_t length, guildhall_text text, int symbol)
{
    slot *found = key_cache_find(cache, hint, bytes, length);
    if (!symbol) return RB_LIKELY(found != NULL) ? found->string : guildhall_string_new(bytes, length, text);
    if (RB_UNLIKELY(!found)) return rb_str_intern(rb_enc_interned_str((const char *)bytes, (long)length, utf8));
    if (RB_UNLIKELY(!found->symbol)) {
        VALUE made = rb_str_intern(found->string);
        found->symbol = made;
    }
    return found->symbol;
}

void guildhall_key_cache_mark(const cache *cache)
{
    for (int i = 0; i < SLOTS; i++) {
        if (!cache->slots[i].string) continue;
        rb_gc_mark(cache->slots[i].string);
        if (cache->slots[i].symbol) rb_gc_mark(cache->slots[i].symbol);
    }
}

void guildhall_init_key_cache(void) { utf8 = rb_utf8_encoding(); }
