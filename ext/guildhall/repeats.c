/* The caches of short strings, of longer ones (addresses, mostly) and of containers of them, one of each a Ractor:
 * direct-mapped tables. Values that never come again push out those that do, so where few do the table is left alone for
 * a while: which is why small and larger things have a table each. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "ends.h"
#include "init.h"
#include "moulds.h"
#include "values.h"

#define SLOTS 512    /* of small containers: 24 KiB */
#define MORE_SLOTS 128 /* of larger ones: 42 KiB */
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

#define FEW 4  /* values of a container: keys count */
#define MORE 40

typedef struct {
    uint32_t count; /* of the values */
    int object;
    VALUE container; /* 0: an empty slot */
    VALUE values[];
} container_slot;

#define FEW_WORDS (2 + FEW)
#define MORE_WORDS (2 + MORE)

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
    worth few, more;
    guildhall_moulds moulds;
    uint64_t few_slots[SLOTS * FEW_WORDS], more_slots[MORE_SLOTS * MORE_WORDS]; /* container_slots */
};

static rb_ractor_local_key_t current;

static void mark_texts(const texts *table)
{
    for (int i = 0; i < TEXTS; i++) {
        if (table->slots[i].string) rb_gc_mark(table->slots[i].string);
    }
}

static void mark_containers(const uint64_t *slots, size_t count, size_t words)
{
    for (size_t i = 0; i < count; i++) {
        const container_slot *slot = (const container_slot *)(slots + i * words);
        if (slot->container) rb_gc_mark(slot->container);
    }
}

static void mark(void *pointer)
{
    const guildhall_repeats *repeats = pointer;
    mark_texts(&repeats->short_texts);
    mark_texts(&repeats->longer_texts);
    mark_containers(repeats->few_slots, SLOTS, FEW_WORDS);
    mark_containers(repeats->more_slots, MORE_SLOTS, MORE_WORDS);
    guildhall_moulds_mark(&repeats->moulds);
}

/* What is in a container may move, though the container does not: the slots would speak of other objects then. */
static void forget_containers(void *pointer)
{
    guildhall_repeats *repeats = pointer;
    memset(repeats->few_slots, 0, sizeof repeats->few_slots);
    memset(repeats->more_slots, 0, sizeof repeats->more_slots);
}

static size_t memsize(const void *pointer) { return sizeof(guildhall_repeats); }

/* Not write-barrier protected on purpose: there is one a Ractor, and every look-up would pay for it. */
static const rb_data_type_t type = {
    "Guildhall repeats", {mark, RUBY_TYPED_DEFAULT_FREE, memsize, forget_containers, {0}}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

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
    return RB_SPECIAL_CONST_P(value) || (RB_BUILTIN_TYPE(value) == T_STRING && RSTRING_LEN(value) <= LONGEST);
}

/* Mostly it is the last value that is not, where one is not. */
static inline int all_small(long count, const VALUE *values)
{
    while (count--) {
        if (!is_small(values[count])) return 0;
    }
    return 1;
}

/* slots: a power of two. */
static inline size_t mixed(uint64_t sum, size_t slots) { return (sum ^ sum >> 32) * 0x9E3779B97F4A7C15ull >> 32 & (slots - 1); }

/* Of FEW values, or four at a time: one multiplication need not wait for the other. */
static inline uint64_t sum_of(const VALUE *values)
{
    return values[0] * 0x9E3779B97F4A7C15ull ^ values[1] * 0xd6e8feb86659fd93ull ^ values[2] * 0xff51afd7ed558ccdull ^
           values[3] * 0xc4ceb9fe1a85ec53ull;
}

static inline uint64_t sum_of_more(long count, const VALUE *values)
{
    uint64_t sum = sum_of(values + count - FEW);
    for (; count > FEW; count -= FEW, values += FEW) sum = (sum ^ sum >> 29) * 0xd6e8feb86659fd93ull + sum_of(values);
    return sum;
}

static inline VALUE new_container(guildhall_repeats *repeats, long count, const VALUE *values, int object)
{
    return object ? guildhall_moulds_hash(&repeats->moulds, count / 2, values) : guildhall_array_new(count, values);
}

/* size: of the values, in bytes. */
static inline VALUE remembered(guildhall_repeats *repeats, container_slot *slot, worth *table, long count, const VALUE *values,
                               size_t size, int object)
{
    if (slot->container && slot->count == count && slot->object == object && !memcmp(slot->values, values, size)) {
        table->hits++;
        return slot->container;
    }
    VALUE made = new_container(repeats, count, values, object);
    *slot = (container_slot){(uint32_t)count, object, made};
    memcpy(slot->values, values, size);
    return made;
}

static inline VALUE small_container(guildhall_repeats *repeats, long count, const VALUE *values, int object)
{
    if (!look(&repeats->few) || !all_small(count, values)) return new_container(repeats, count, values, object);
    VALUE copy[FEW] = {0};
    for (long i = 0; i < count; i++) copy[i] = values[i];
    size_t place = mixed(sum_of(copy) + (uint64_t)object, SLOTS);
    container_slot *slot = (container_slot *)(repeats->few_slots + place * FEW_WORDS);
    return remembered(repeats, slot, &repeats->few, count, copy, sizeof copy, object);
}

static inline VALUE container(guildhall_repeats *repeats, long count, const VALUE *values, int object)
{
    if (count <= FEW) return small_container(repeats, count, values, object);
    if (count > MORE || !is_small(values[count - 1]) || !look(&repeats->more) || !all_small(count, values)) {
        return new_container(repeats, count, values, object);
    }
    size_t place = mixed(sum_of_more(count, values) + (uint64_t)object, MORE_SLOTS);
    container_slot *slot = (container_slot *)(repeats->more_slots + place * MORE_WORDS);
    return remembered(repeats, slot, &repeats->more, count, values, (size_t)count * sizeof *values, object);
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
