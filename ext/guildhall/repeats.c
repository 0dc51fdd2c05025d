/* The caches of short strings and of small containers of them, one of each a Ractor: direct-mapped tables. Values that
 * never come again push out those that do, so where few do the table is left alone for a while. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "ends.h"
#include "init.h"
#include "values.h"

#define SLOTS 512    /* 16 KiB and 28 KiB a Ractor */
#define LONGEST 48   /* bytes; longer texts seldom repeat */
#define INLINE_BYTES 16 /* of texts up to this length nothing but the ends is compared */
#define WINDOW 2048  /* look-ups between two looks at the hit rate */
#define PAUSE 8      /* windows of look-ups that are left out where it was low */

typedef struct {
    guildhall_ends ends;
    uint32_t length;
    VALUE string; /* 0: an empty slot */
} slot;

#define FEW 4 /* values of a container */

typedef struct {
    uint32_t count; /* of the values */
    int object;
    VALUE values[FEW]; /* those that are not there: 0 */
    VALUE container;   /* 0: an empty slot */
} container_slot;

typedef struct {
    uint32_t lookups, hits; /* in this window */
    uint32_t pause;         /* look-ups still to leave out */
} worth;

struct guildhall_repeats {
    worth strings, containers;
    slot slots[SLOTS];
    container_slot container_slots[SLOTS];
};

static rb_ractor_local_key_t current;

static void mark(void *pointer)
{
    const guildhall_repeats *repeats = pointer;
    for (int i = 0; i < SLOTS; i++) {
        if (repeats->slots[i].string) rb_gc_mark(repeats->slots[i].string);
        if (repeats->container_slots[i].container) rb_gc_mark(repeats->container_slots[i].container);
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

/* Is the table worth a look? Counts it if so. */
static inline int look(worth *table)
{
    if (table->pause) {
        table->pause--;
        return 0;
    }
    if (++table->lookups < WINDOW) return 1;
    if (table->hits < WINDOW / 8) table->pause = WINDOW * PAUSE;
    table->lookups = table->hits = 0;
    return 1;
}

VALUE guildhall_string_repeated(guildhall_repeats *repeats, const uint8_t *bytes, size_t length, guildhall_text text)
{
    if (length > LONGEST || !look(&repeats->strings)) return guildhall_string_new(bytes, length, text);
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    slot *found = &repeats->slots[guildhall_ends_hash(ends, length) & (SLOTS - 1)];
    if (found->length == length && found->ends.head == ends.head && found->ends.tail == ends.tail && found->string &&
        (length <= INLINE_BYTES || !memcmp(RSTRING_PTR(found->string), bytes, length))) {
        repeats->strings.hits++;
        return found->string;
    }
    VALUE string = guildhall_string_new(bytes, length, text);
    *found = (slot){ends, (uint32_t)length, string};
    return string;
}

/* Marked together with the container, so what it holds must not be large. */
static inline int is_small(VALUE value)
{
    return RB_SPECIAL_CONST_P(value) || (RB_BUILTIN_TYPE(value) == T_STRING && RSTRING_LEN(value) <= LONGEST);
}

/* Copies the values; 0 when one of them is not small, which is mostly the last where one is. */
static inline int all_small(long count, const VALUE *values, VALUE *copy)
{
    while (count--) {
        if (!is_small(copy[count] = values[count])) return 0;
    }
    return 1;
}

static inline container_slot *slot_of(guildhall_repeats *repeats, const VALUE *values, int object)
{
    uint64_t mixed = (values[0] + (uint64_t)object) * 0x9E3779B97F4A7C15ull ^ values[1] * 0xd6e8feb86659fd93ull ^
                     values[2] * 0xff51afd7ed558ccdull ^ values[3] * 0xc4ceb9fe1a85ec53ull;
    return &repeats->container_slots[(mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15ull >> 32 & (SLOTS - 1)];
}

static inline VALUE new_container(long count, const VALUE *values, int object)
{
    return object ? guildhall_hash_new(count / 2, values) : guildhall_array_new(count, values);
}

static inline VALUE container(guildhall_repeats *repeats, long count, const VALUE *values, int object)
{
    VALUE copy[FEW] = {0};
    if (count > FEW || !look(&repeats->containers) || !all_small(count, values, copy)) return new_container(count, values, object);
    container_slot *found = slot_of(repeats, copy, object);
    if (found->container && found->count == count && found->object == object && !memcmp(found->values, copy, sizeof copy)) {
        repeats->containers.hits++;
        return found->container;
    }
    VALUE made = new_container(count, values, object);
    *found = (container_slot){(uint32_t)count, object, {copy[0], copy[1], copy[2], copy[3]}, made};
    return made;
}

VALUE guildhall_array_repeated(guildhall_repeats *repeats, long count, const VALUE *elements)
{
    return container(repeats, count, elements, 0);
}

VALUE guildhall_hash_repeated(guildhall_repeats *repeats, long count, const VALUE *pairs)
{
    return container(repeats, count * 2, pairs, 1);
}

void guildhall_init_repeats(void) { current = rb_ractor_local_storage_value_newkey(); }
