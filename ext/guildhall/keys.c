/* The cache of hash keys, one a Ractor: a direct-mapped table of interned Strings (and their Symbols). */
#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/ractor.h>
#include "ends.h"
#include "init.h"
#include "values.h"

#define SLOTS 2048     /* 96 KiB a Ractor; the webhooks of one big platform have 600 different keys */
#define WINDOW 8192    /* lookups between two looks at the hit rate */
#define INLINE_BYTES 16 /* keys up to this length are compared without touching the String */

typedef struct {
    guildhall_ends ends;
    uint32_t length;
    uint32_t next;       /* the slot of the key that followed this one last time */
    VALUE string;        /* 0: an empty slot */
    VALUE symbol;        /* 0: not made yet */
} slot;

struct guildhall_keys {
    uint32_t lookups, misses; /* in this window */
    int unique;               /* keys hardly ever repeat: do not intern them */
    slot slots[SLOTS];
};

static rb_ractor_local_key_t current_key;
static rb_encoding *utf8;

static void mark(void *pointer)
{
    const guildhall_keys *keys = pointer;
    for (int i = 0; i < SLOTS; i++) {
        if (!keys->slots[i].string) continue;
        rb_gc_mark(keys->slots[i].string);
        if (keys->slots[i].symbol) rb_gc_mark(keys->slots[i].symbol);
    }
}

static size_t memsize(const void *pointer) { return sizeof(guildhall_keys); }

/* Not write-barrier protected on purpose: there is one a Ractor, and every lookup would pay for it. */
static const rb_data_type_t type = {
    "Guildhall keys", {mark, RUBY_TYPED_DEFAULT_FREE, memsize, 0, {0}}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

guildhall_keys *guildhall_keys_current(void)
{
    VALUE holder;
    if (rb_ractor_local_storage_value_lookup(current_key, &holder)) return RTYPEDDATA_GET_DATA(holder);
    guildhall_keys *keys;
    holder = TypedData_Make_Struct(0, guildhall_keys, &type, keys);
    rb_ractor_local_storage_value_set(current_key, holder);
    return keys;
}

static inline int holds(const slot *candidate, guildhall_ends ends, const uint8_t *bytes, size_t length)
{
    return candidate->length == length && candidate->ends.head == ends.head && candidate->ends.tail == ends.tail &&
           candidate->string &&
           (length <= INLINE_BYTES || !memcmp(RSTRING_PTR(candidate->string), bytes, length));
}

/* Interning costs a look into a table that all Ractors share: not worth it for keys that never come again. One miss
 * in eight is kept all the same, to notice when they do. */
static inline int worth_keeping(guildhall_keys *keys)
{
    keys->misses++;
    return !keys->unique || keys->misses % 8 == 0;
}

static inline void note_lookup(guildhall_keys *keys)
{
    if (++keys->lookups < WINDOW) return;
    keys->unique = keys->misses > WINDOW / 2;
    keys->lookups = keys->misses = 0;
}

/* The slot that holds the key, or NULL where it is not worth a slot. */
static inline slot *find(guildhall_keys *keys, uint32_t *hint, const uint8_t *bytes, size_t length)
{
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    slot *previous = &keys->slots[*hint], *found = &keys->slots[previous->next];
    note_lookup(keys);
    if (RB_LIKELY(holds(found, ends, bytes, length))) {
        *hint = previous->next;
        return found;
    }
    uint32_t index = guildhall_ends_hash(ends, length) & (SLOTS - 1);
    if (!holds(&keys->slots[index], ends, bytes, length)) {
        index ^= 1; /* each key has two places */
        if (!holds(&keys->slots[index], ends, bytes, length)) {
            if (!worth_keeping(keys)) return NULL;
            VALUE string = rb_enc_interned_str((const char *)bytes, (long)length, utf8);
            if (keys->slots[index].string && !keys->slots[index ^ 1].string) index ^= 1;
            keys->slots[index] = (slot){ends, (uint32_t)length, 0, string, 0};
        }
    }
    previous->next = *hint = index;
    return &keys->slots[index];
}

VALUE guildhall_key_string(guildhall_keys *keys, uint32_t *hint, const uint8_t *bytes, size_t length,
                           guildhall_text text)
{
    slot *found = find(keys, hint, bytes, length);
    return RB_LIKELY(found != NULL) ? found->string : guildhall_string_new(bytes, length, text);
}

VALUE guildhall_key_symbol(guildhall_keys *keys, uint32_t *hint, const uint8_t *bytes, size_t length,
                           guildhall_text text)
{
    slot *found = find(keys, hint, bytes, length);
    if (RB_UNLIKELY(!found)) return rb_str_intern(rb_enc_interned_str((const char *)bytes, (long)length, utf8));
    if (RB_UNLIKELY(!found->symbol)) {
        VALUE symbol = rb_str_intern(found->string);
        found->symbol = symbol;
    }
    return found->symbol;
}

void guildhall_init_keys(void)
{
    utf8 = rb_utf8_encoding();
    current_key = rb_ractor_local_storage_value_newkey();
}
