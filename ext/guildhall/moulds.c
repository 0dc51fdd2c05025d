/* Ruby copies a Hash quickly, but has no function to replace the values of a small one without looking each of them up.
 * Small ones keep their pairs in a row in their own slot: where, is found out when the extension is loaded, by looking
 * for pairs that are known; and it is the keys of the mould that have to stand there before anything is written. On a
 * Ruby that keeps them elsewhere, nothing is found, and Hashes are filled key by key. */
#include <ruby.h>
#include <ruby/st.h>
#include <string.h>
#include "init.h"
#include "moulds.h"
#include "values.h"

#define LARGEST 128    /* pairs: more take long anyhow, and moulds are kept */
#define SMALL 8        /* pairs that Ruby keeps in the slot */
#define HEADER 16      /* bytes of every object */
#define SLOT_BYTES 160 /* of the smallest slot that has room for them */

static size_t pairs_offset; /* in the slot of a small Hash; 0: not known */

static inline VALUE *pairs_of(VALUE hash) { return (VALUE *)((char *)hash + pairs_offset); }

static inline int has_keys(VALUE small, long count, const VALUE *pairs)
{
    const VALUE *held = pairs_of(small);
    for (long i = 0; i < count; i++) {
        if (held[2 * i] != pairs[2 * i]) return 0;
    }
    return 1;
}

/* No write barrier is needed, as elsewhere with new objects: nothing has been allocated since. */
static inline VALUE cast_small(VALUE mould, long count, const VALUE *pairs)
{
    VALUE made = rb_hash_dup(mould);
    if (RB_UNLIKELY(!has_keys(made, count, pairs))) return 0;
    VALUE *held = pairs_of(made);
    for (long i = 0; i < count; i++) held[2 * i + 1] = pairs[2 * i + 1];
    return guildhall_share(made);
}

typedef struct {
    const VALUE *pair;
    int other; /* keys than the mould's */
} filling;

static int look_at_key(st_data_t key, st_data_t value, st_data_t pointer, int unused)
{
    filling *f = (filling *)pointer;
    if ((VALUE)key == f->pair[0]) return ST_REPLACE;
    f->other = 1;
    return ST_STOP;
}

static int replace_value(st_data_t *key, st_data_t *value, st_data_t pointer, int unused)
{
    filling *f = (filling *)pointer;
    *value = (st_data_t)f->pair[1];
    f->pair += 2;
    return ST_CONTINUE;
}

static inline VALUE cast_large(VALUE mould, const VALUE *pairs)
{
    filling f = {pairs, 0};
    VALUE made = rb_hash_dup(mould);
    st_foreach_with_replace(RHASH_TBL(made), look_at_key, replace_value, (st_data_t)&f);
    return f.other ? 0 : guildhall_share(made);
}

static inline uint64_t print_of(long count, const VALUE *pairs)
{
    uint64_t print = (uint64_t)count;
    for (long i = 0; i < count; i++) print = (print << 9 | print >> 55) ^ pairs[2 * i];
    return print * 0x9E3779B97F4A7C15ull;
}

/* 0: keys that are equal are in it, so that there are fewer pairs. */
static VALUE mould_of(long count, const VALUE *pairs)
{
    VALUE empty[2 * LARGEST];
    for (long i = 0; i < count; i++) {
        empty[2 * i] = pairs[2 * i];
        empty[2 * i + 1] = Qnil;
    }
    VALUE mould = guildhall_hash_new(count, empty);
    return RHASH_SIZE(mould) == (size_t)count ? mould : 0;
}

/* Either of two neighbours; of those that have other keys, the one that was there last stays. */
static inline guildhall_mould *mould_for(guildhall_moulds *moulds, uint64_t print)
{
    size_t place = print >> 32 & (GUILDHALL_MOULDS - 1);
    guildhall_mould *first = &moulds->moulds[place], *second = &moulds->moulds[place ^ 1];
    if (RB_LIKELY(first->print == print)) return first;
    if (second->print == print) return second;
    *second = *first;
    *first = (guildhall_mould){0};
    return first;
}

VALUE guildhall_moulds_hash(guildhall_moulds *moulds, long count, const VALUE *pairs)
{
    if (count < 2 || count > LARGEST || !pairs_offset) return guildhall_hash_new(count, pairs);
    uint64_t print = print_of(count, pairs);
    guildhall_mould *mould = mould_for(moulds, print);
    if (RB_LIKELY(mould->hash)) {
        VALUE made = count <= SMALL ? cast_small(mould->hash, count, pairs) : cast_large(mould->hash, pairs);
        if (RB_LIKELY(made)) return made;
    }
    VALUE hash = mould->print == print ? mould_of(count, pairs) : 0;
    *mould = (guildhall_mould){print, hash};
    return guildhall_hash_new(count, pairs);
}

void guildhall_moulds_mark(const guildhall_moulds *moulds)
{
    for (int i = 0; i < GUILDHALL_MOULDS; i++) {
        if (moulds->moulds[i].hash) rb_gc_mark(moulds->moulds[i].hash);
    }
}

/* Where `count` known pairs stand in the slot of a Hash; 0: nowhere. */
static size_t offset_of_pairs(long count)
{
    VALUE pairs[2 * SMALL];
    size_t size = (size_t)count * 2 * sizeof(VALUE), offset = 0;
    for (long i = 0; i < 2 * count; i++) pairs[i] = LONG2FIX(7919 * (i + count));
    VALUE hash = guildhall_hash_new(count, pairs);
    for (size_t at = HEADER; at + size <= SLOT_BYTES && !offset; at += sizeof(VALUE)) {
        if (!memcmp((char *)hash + at, pairs, size)) offset = at;
    }
    RB_GC_GUARD(hash);
    return offset;
}

/* Whether a cast has the mould's keys and the values that were given. */
static int casts_well(long count)
{
    VALUE pairs[2 * SMALL];
    for (long i = 0; i < 2 * count; i++) pairs[i] = LONG2FIX(104729 * (i + count));
    VALUE mould = mould_of(count, pairs), made = cast_small(mould, count, pairs), filled = guildhall_hash_new(count, pairs);
    for (long i = 0; i < count; i++) {
        if (!made || rb_hash_lookup2(made, pairs[2 * i], Qundef) != pairs[2 * i + 1]) return 0;
        if (rb_hash_lookup2(mould, pairs[2 * i], Qundef) != Qnil) return 0;
    }
    RB_GC_GUARD(mould);
    return RTEST(rb_equal(made, filled));
}

void guildhall_init_moulds(void)
{
    pairs_offset = offset_of_pairs(SMALL);
    for (long count = 1; count <= SMALL && pairs_offset; count++) {
        if (offset_of_pairs(count) != pairs_offset || !casts_well(count)) pairs_offset = 0;
    }
}
