/* Ruby copies a Hash quickly, but has no function to replace the values of a small one without looking each of them up.
 * Small ones keep their pairs in a row in their own slot: where, is found out when the extension is loaded, by looking
 * for pairs that are known; and before anything is written, the template's keys have to be there. On a
 * Ruby that keeps them elsewhere, nothing is found, and Hashes are filled key by key. */
#include <ruby.h>
#include <ruby/st.h>
#include <string.h>
#include "frozen.h"
#include "hash_template.h"

#define LARGEST 128    /* pairs: more take long anyhow, and templates are kept */
#define SMALL 8        /* pairs that Ruby keeps in the slot */
#define HEADER 16      /* bytes of every object */
#define SLOT_BYTES 160 /* of the smallest slot that has room for them */

static size_t pairs_offset; /* in the slot of a small Hash; 0: Hashes are not copied */

static inline VALUE *hash_template_pairs(VALUE hash) { return (VALUE *)((char *)hash + pairs_offset); }

static inline int hash_template_has_keys(VALUE small, long count, const VALUE *pairs)
{
    const VALUE *held = hash_template_pairs(small);
    for (long i = 0; i < count; i++) {
        if (held[2 * i] != pairs[2 * i]) return 0;
    }
    return 1;
}

/* No write barrier is needed, as elsewhere with new objects: nothing has been allocated since the slot was. */
static inline VALUE hash_template_fill_slot(VALUE template, long count, const VALUE *pairs)
{
    VALUE made = rb_hash_dup(template);
    if (RB_UNLIKELY(!hash_template_has_keys(made, count, pairs))) return 0;
    VALUE *held = hash_template_pairs(made);
    for (long i = 0; i < count; i++) held[2 * i + 1] = pairs[2 * i + 1];
    return made;
}

typedef struct {
    const VALUE *pair;
    int other; /* keys than the template's */
} filling;

static int hash_template_look(st_data_t key, st_data_t value, st_data_t pointer, int unused)
{
    filling *f = (filling *)pointer;
    if ((VALUE)key == f->pair[0]) return ST_REPLACE;
    f->other = 1;
    return ST_STOP;
}

static int hash_template_replace(st_data_t *key, st_data_t *value, st_data_t pointer, int unused)
{
    filling *f = (filling *)pointer;
    *value = (st_data_t)f->pair[1];
    f->pair += 2;
    return ST_CONTINUE;
}

/* The copy's table is allocated after its slot, which may start a collection that has marked the copy by now: the garbage collector
 * has to be told of each value. */
static inline VALUE hash_template_fill_table(VALUE template, const VALUE *pairs)
{
    filling f = {pairs, 0};
    VALUE made = rb_hash_dup(template);
    st_foreach_with_replace(RHASH_TBL(made), hash_template_look, hash_template_replace, (st_data_t)&f);
    for (const VALUE *pair = pairs; pair < f.pair; pair += 2) RB_OBJ_WRITTEN(made, Qundef, pair[1]);
    return f.other ? 0 : made;
}

static inline uint64_t hash_template_print(long count, const VALUE *pairs)
{
    uint64_t print = (uint64_t)count;
    for (long i = 0; i < count; i++) print = (print << 9 | print >> 55) ^ pairs[2 * i];
    return print * 0x9E3779B97F4A7C15ull;
}

/* 0: keys that are equal are in it, so that there are fewer pairs. */
static VALUE hash_template_new(long count, const VALUE *pairs)
{
    VALUE empty[2 * LARGEST] = {0};
    for (long i = 0; i < count; i++) {
        empty[2 * i] = pairs[2 * i];
        empty[2 * i + 1] = Qnil;
    }
    VALUE template = guildhall_hash_new(count, empty);
    if (count > SMALL) RHASH_TBL(template); /* copies of it have a table then */
    return RHASH_SIZE(template) == (size_t)count ? template : 0;
}

/* Not frozen; 0: it has other keys. */
static inline VALUE hash_template_fill(VALUE template, long count, const VALUE *pairs)
{
    return count <= SMALL ? hash_template_fill_slot(template, count, pairs) : hash_template_fill_table(template, pairs);
}

/* Either of two neighbours; of those that have other keys, the one that was there last stays. */
static inline guildhall_hash_template *hash_template_for(guildhall_hash_templates *templates, uint64_t print)
{
    size_t place = print >> 32 & (GUILDHALL_HASH_TEMPLATES - 1);
    guildhall_hash_template *first = &templates->templates[place], *second = &templates->templates[place ^ 1];
    if (RB_LIKELY(first->print == print)) return first;
    if (second->print == print) return second;
    *second = *first;
    *first = (guildhall_hash_template){0};
    return first;
}

VALUE guildhall_open_hash_from_template(guildhall_hash_templates *templates, long count, const VALUE *pairs)
{
    if (count < 2 || count > LARGEST || !pairs_offset) return guildhall_open_hash_new(count, pairs);
    uint64_t print = hash_template_print(count, pairs);
    guildhall_hash_template *template = hash_template_for(templates, print);
    if (RB_LIKELY(template->hash && template->count == count)) {
        VALUE made = hash_template_fill(template->hash, count, pairs);
        if (RB_LIKELY(made)) return made;
    }
    VALUE hash = template->print == print ? hash_template_new(count, pairs) : 0;
    *template = (guildhall_hash_template){print, hash, count};
    return guildhall_open_hash_new(count, pairs);
}

VALUE guildhall_hash_from_template(guildhall_hash_templates *templates, long count, const VALUE *pairs)
{
    return guildhall_share(guildhall_open_hash_from_template(templates, count, pairs));
}

void guildhall_hash_templates_mark(const guildhall_hash_templates *templates)
{
    for (int i = 0; i < GUILDHALL_HASH_TEMPLATES; i++) {
        if (templates->templates[i].hash) rb_gc_mark(templates->templates[i].hash);
    }
}

/* ---- self-tests */

/* The offset of `count` known pairs in the slot of a Hash; 0: not found. */
static size_t hash_template_find_pairs(long count)
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

/* Whether a copy has the template's keys and the values that were given, and the template still has its own. */
static int hash_template_fills_well(long count)
{
    VALUE pairs[2 * LARGEST];
    for (long i = 0; i < 2 * count; i++) pairs[i] = LONG2FIX(104729 * (i + count));
    VALUE template = hash_template_new(count, pairs), filled = guildhall_hash_new(count, pairs);
    VALUE made = hash_template_fill(template, count, pairs);
    for (long i = 0; i < count; i++) {
        if (!made || rb_hash_lookup2(made, pairs[2 * i], Qundef) != pairs[2 * i + 1]) return 0;
        if (rb_hash_lookup2(template, pairs[2 * i], Qundef) != Qnil) return 0;
    }
    RB_GC_GUARD(template);
    return RTEST(rb_equal(made, filled));
}

int guildhall_hash_templates_hold(void)
{
    pairs_offset = hash_template_find_pairs(SMALL);
    for (long count = 1; count <= SMALL && pairs_offset; count++) {
        if (hash_template_find_pairs(count) != pairs_offset || !hash_template_fills_well(count)) pairs_offset = 0;
    }
    if (pairs_offset && !(hash_template_fills_well(SMALL + 1) && hash_template_fills_well(LARGEST))) pairs_offset = 0;
    return pairs_offset != 0;
}

void guildhall_distrust_hash_templates(void) { pairs_offset = 0; }
