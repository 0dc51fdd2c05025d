/* One struct a Ractor, which a decode looks up once. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/ractor.h>
#include "caches.h"
#include "init.h"

/* Is it this text? string: what was kept of it, together with its length and its ends; 0: nothing. */
static inline int caches_hold(guildhall_ends kept, uint32_t kept_length, VALUE string, guildhall_ends ends, const uint8_t *bytes,
                              size_t length)
{
    return kept_length == length && kept.head == ends.head && kept.tail == ends.tail && string &&
           (length <= GUILDHALL_ENDS_BYTES || !memcmp(RSTRING_PTR(string), bytes, length));
}

/* ---- keys: each has two places in the table */

#define KEY_WINDOW 8192 /* lookups between two checks of the hit rate */

typedef guildhall_key_cache key_cache;
typedef guildhall_cached_key key_slot;

static rb_encoding *utf8;

static inline int caches_key_is(const key_slot *slot, guildhall_ends ends, const uint8_t *bytes, size_t length)
{
    return caches_hold(slot->ends, slot->length, slot->string, ends, bytes, length);
}

/* Interning costs a look into a table that all Ractors share: not worth it for keys that never come again. One miss
 * in eight is kept all the same, to notice when they do. */
static inline int caches_key_worth_keeping(key_cache *cache)
{
    cache->misses++;
    return !cache->unique || cache->misses % 8 == 0;
}

static inline void caches_count_key(key_cache *cache)
{
    if (++cache->lookups < KEY_WINDOW) return;
    cache->unique = cache->misses > KEY_WINDOW / 2;
    cache->lookups = cache->misses = 0;
}

/* The slot that holds the key, or NULL where it is not worth a slot. */
static inline key_slot *caches_find_key(key_cache *cache, uint32_t *hint, const uint8_t *bytes, size_t length)
{
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    key_slot *previous = &cache->slots[*hint], *found = &cache->slots[previous->next];
    caches_count_key(cache);
    if (RB_LIKELY(caches_key_is(found, ends, bytes, length))) {
        *hint = previous->next;
        return found;
    }
    uint32_t index = guildhall_ends_hash(ends, length) & (GUILDHALL_CACHED_KEYS - 1);
    if (!caches_key_is(&cache->slots[index], ends, bytes, length)) {
        index ^= 1;
        if (!caches_key_is(&cache->slots[index], ends, bytes, length)) {
            if (!caches_key_worth_keeping(cache)) return NULL;
            VALUE string = rb_enc_interned_str((const char *)bytes, (long)length, utf8);
            if (cache->slots[index].string && !cache->slots[index ^ 1].string) index ^= 1;
            cache->slots[index] = (key_slot){ends, (uint32_t)length, 0, string, 0};
        }
    }
    previous->next = *hint = index;
    return &cache->slots[index];
}

VALUE guildhall_key_cached(key_cache *cache, uint32_t *hint, const uint8_t *bytes, size_t length, guildhall_text text, int symbol)
{
    key_slot *found = caches_find_key(cache, hint, bytes, length);
    if (!symbol) return RB_LIKELY(found != NULL) ? found->string : guildhall_string_new(bytes, length, text);
    if (RB_UNLIKELY(!found)) return rb_str_intern(rb_enc_interned_str((const char *)bytes, (long)length, utf8));
    if (RB_UNLIKELY(!found->symbol)) {
        VALUE made = rb_str_intern(found->string);
        found->symbol = made;
    }
    return found->symbol;
}

static void caches_mark_keys(const key_cache *cache)
{
    for (int i = 0; i < GUILDHALL_CACHED_KEYS; i++) {
        if (!cache->slots[i].string) continue;
        rb_gc_mark(cache->slots[i].string);
        if (cache->slots[i].symbol) rb_gc_mark(cache->slots[i].symbol);
    }
}

/* ---- strings: each has one place, and the last one that belongs there stays */

#define SHORT_BYTES 48
#define LONGEST_BYTES 128 /* strings that are longer still seldom repeat */
#define STRING_WINDOW 2048 /* lookups between two checks of the hit rate */
#define PAUSED_WINDOWS 8         /* that are left out where it was low */

typedef guildhall_string_table table;
typedef guildhall_cached_string string_slot;

/* Is a lookup worth it? Counts it if so. */
static inline int caches_table_pays(table *table)
{
    if (table->pause) {
        table->pause--;
        return 0;
    }
    if (++table->lookups < STRING_WINDOW) return 1;
    if (table->hits < STRING_WINDOW / 8) table->pause = STRING_WINDOW * PAUSED_WINDOWS;
    table->lookups = table->hits = 0;
    return 1;
}

/* Addresses of one kind begin and end alike: they differ in the middle. */
static inline string_slot *caches_string_slot(table *table, guildhall_ends ends, const uint8_t *bytes, size_t length)
{
    uint64_t middle = 0;
    if (length > GUILDHALL_ENDS_BYTES) memcpy(&middle, bytes + length / 2 - 4, sizeof middle);
    return &table->slots[guildhall_ends_hash(ends, length ^ middle * 0xd6e8feb86659fd93ull) & (GUILDHALL_CACHED_STRINGS - 1)];
}

VALUE guildhall_string_cached(guildhall_value_cache *cache, const uint8_t *bytes, size_t length, guildhall_text text)
{
    table *table = length <= SHORT_BYTES ? &cache->short_strings : &cache->longer_strings;
    if (length > LONGEST_BYTES || !caches_table_pays(table)) return guildhall_string_new(bytes, length, text);
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    string_slot *found = caches_string_slot(table, ends, bytes, length);
    if (caches_hold(found->ends, found->length, found->string, ends, bytes, length)) {
        table->hits++;
        return found->string;
    }
    VALUE string = guildhall_string_new(bytes, length, text);
    *found = (string_slot){ends, (uint32_t)length, string};
    return string;
}

static void caches_mark_table(const table *table)
{
    for (int i = 0; i < GUILDHALL_CACHED_STRINGS; i++) {
        if (table->slots[i].string) rb_gc_mark(table->slots[i].string);
    }
}

/* ---- a Ractor's */

static rb_ractor_local_key_t current;

static void caches_mark(void *pointer)
{
    const guildhall_caches *caches = pointer;
    caches_mark_keys(&caches->keys);
    caches_mark_table(&caches->values.short_strings);
    caches_mark_table(&caches->values.longer_strings);
    guildhall_hash_templates_mark(&caches->templates);
}

static size_t caches_memsize(const void *pointer) { return sizeof(guildhall_caches); }

/* Not write-barrier protected on purpose: there is one a Ractor, and every lookup would pay for it. */
static const rb_data_type_t type = {
    "Guildhall caches", {caches_mark, RUBY_TYPED_DEFAULT_FREE, caches_memsize}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

guildhall_caches *guildhall_caches_current(void)
{
    VALUE holder;
    if (rb_ractor_local_storage_value_lookup(current, &holder)) return RTYPEDDATA_GET_DATA(holder);
    guildhall_caches *caches;
    holder = TypedData_Make_Struct(0, guildhall_caches, &type, caches);
    rb_ractor_local_storage_value_set(current, holder);
    return caches;
}

void guildhall_init_caches(void)
{
    utf8 = rb_utf8_encoding();
    current = rb_ractor_local_storage_value_newkey();
}
