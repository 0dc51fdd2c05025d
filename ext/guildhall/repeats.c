/* The cache of short strings, one a Ractor: a direct-mapped table. Texts that never come again push out those that do,
 * so where few do it is left alone for a while. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "ends.h"
#include "init.h"
#include "values.h"

#define SLOTS 512    /* 16 KiB a Ractor */
#define LONGEST 48   /* bytes; longer texts seldom repeat */
#define INLINE_BYTES 16 /* of texts up to this length nothing but the ends is compared */
#define WINDOW 2048  /* look-ups between two looks at the hit rate */
#define PAUSE 8      /* windows of look-ups that are left out where it was low */

typedef struct {
    guildhall_ends ends;
    uint32_t length;
    VALUE string; /* 0: an empty slot */
} slot;

struct guildhall_repeats {
    uint32_t lookups, hits; /* in this window */
    uint32_t pause;         /* look-ups still to leave out */
    slot slots[SLOTS];
};

static rb_ractor_local_key_t current;

static void mark(void *pointer)
{
    const guildhall_repeats *repeats = pointer;
    for (int i = 0; i < SLOTS; i++) {
        if (repeats->slots[i].string) rb_gc_mark(repeats->slots[i].string);
    }
}

static size_t memsize(const void *pointer) { return sizeof(guildhall_repeats); }

/* Not write-barrier protected on purpose: there is one a Ractor, and every look-up would pay for it. */
static const rb_data_type_t type = {
    "Guildhall repeats", {mark, RUBY_TYPED_DEFAULT_FREE, memsize, 0, {0}}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

guildhall_repeats *guildhall_repeats_current(void)
{
    VALUE holder;
    if (rb_ractor_local_storage_value_lookup(current, &holder)) return RTYPEDDATA_GET_DATA(holder);
    guildhall_repeats *repeats;
    holder = TypedData_Make_Struct(0, guildhall_repeats, &type, repeats);
    rb_ractor_local_storage_value_set(current, holder);
    return repeats;
}

static inline void note_lookup(guildhall_repeats *repeats)
{
    if (++repeats->lookups < WINDOW) return;
    if (repeats->hits < WINDOW / 8) repeats->pause = WINDOW * PAUSE;
    repeats->lookups = repeats->hits = 0;
}

VALUE guildhall_string_repeated(guildhall_repeats *repeats, const uint8_t *bytes, size_t length, guildhall_text text)
{
    if (length > LONGEST) return guildhall_string_new(bytes, length, text);
    if (repeats->pause) {
        repeats->pause--;
        return guildhall_string_new(bytes, length, text);
    }
    note_lookup(repeats);
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    slot *found = &repeats->slots[guildhall_ends_hash(ends, length) & (SLOTS - 1)];
    if (found->length == length && found->ends.head == ends.head && found->ends.tail == ends.tail && found->string &&
        (length <= INLINE_BYTES || !memcmp(RSTRING_PTR(found->string), bytes, length))) {
        repeats->hits++;
        return found->string;
    }
    VALUE string = guildhall_string_new(bytes, length, text);
    *found = (slot){ends, (uint32_t)length, string};
    return string;
}

void guildhall_init_repeats(void) { current = rb_ractor_local_storage_value_newkey(); }
