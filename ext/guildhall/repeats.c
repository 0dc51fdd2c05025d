/* The caches of short strings, of longer ones (addresses, mostly) and of small containers, one of each a Ractor:
 * direct-mapped tables. Values that never come again push out those that do, so where few do the table is left alone for
 * a while: which is why short and longer strings have a table each. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "ends.h"
#include "init.h"
#include "values.h"

#define SLOTS 512    /* of containers: 28 KiB a Ractor */
#define TEXTS 1024   /* of a table of strings: 32 KiB a Ractor */
#define SHORT 48     /* bytes */
#define LONGEST 128  /* bytes; texts that are longer still seldom repeat */
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

typedef struct {
    worth worth;
    slot slots[TEXTS];
} texts;

struct guildhall_repeats {
    texts short_texts, longer_texts;
    worth containers;
    container_slot container_slots[SLOTS];
};

static rb_ractor_local_key_t current;

static void mark_texts(const texts *table)
{
    for (int i = 0; i < TEXTS; i++) {
        if (table->slots[i].string) rb_gc_mark(table->slots[i].string);
    }
}

static void mark(void *pointer)
{
    const guildhall_repeats *repeats = pointer;
    mark_texts(&repeats->short_texts);
    mark_texts(&repeats->longer_texts);
    for (int i = 0; i < SLOTS; i++) {
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

/* Addresses of one kind begin and end alike, and what tells them apart stands in between. */
static inline slot *text_slot(texts *table, guildhall_ends ends, const uint8_t *bytes, size_t length)
{
    uint64_t middle = 0;
    if (length > INLINE_BYTES) memcpy(&middle, bytes + length / 2 - 4, sizeof middle);
    return &table->slots[guildhall_ends_hash(ends, length ^ middle * 0xd6e8feb86659fd93ull) & (TEXTS - 1)];
}

static inline int holds(const slot *slot, guildhall_ends ends, const uint8_t *bytes, size_t length)
{
    return slot->length == length && slot->ends.head == ends.head && slot->ends.tail == ends.tail && slot->string &&
           (length <= INLINE_BYTES || !memcmp(RSTRING_PTR(slot->string), bytes, length));
}

VALUE guildhall_string_repeated(guildhall_repeats *repeats, const uint8_t *bytes, size_t length, guildhall_text text)
{
    texts *table = length <= SHORT ? &repeats->short_texts : &repeats->longer_texts;
    if (length > LONGEST || !look(&table->worth)) return guildhall_string_new(bytes, length, text);
    guildhall_ends ends = guildhall_ends_of(bytes, length);
    slot *found = text_slot(table, ends, bytes, length);
    if (holds(found, ends, bytes, length)) {
        table->worth.hits++;
        return found->string;
    }
    VALUE string = guildhall_string_new(bytes, length, text);
    *found = (slot){ends, (uint32_t)length, string};
    return string;
}

/* Marked together with the container, so what it holds must not be large. */
static inline int is_small(VALUE value)
{
    return RB_SPECIAL_CONST_P(value) || (RB_BUILTIN_TYPE(value) == T_STRING && RSTRING_LEN(value) <= SHORT);
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
