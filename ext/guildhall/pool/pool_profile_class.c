/* Guildhall::Pool::Profile in Ruby. */
#include "pool_profile.h"
#include <ruby/ractor.h>
#include "init.h"

static void profile_mark(void *data)
{
    guildhall_profile *profile = data;
    rb_gc_mark(profile->task);
    rb_gc_mark(profile->rest);
    rb_gc_mark(profile->codec);
    rb_gc_mark(profile->decode_stage);
    rb_gc_mark(profile->preparer);
}

static size_t profile_memsize(const void *data)
{
    return sizeof(guildhall_profile);
}

/* WB_PROTECTED, as the queue: every batch refers to one, and old ones that refer to something without barriers are looked
 * at in each minor collection. */
static const rb_data_type_t profile_type = {
    "Guildhall::Pool::Profile",
    {profile_mark, RUBY_DEFAULT_FREE, profile_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_profile *guildhall_profile_of(VALUE object)
{
    return rb_check_typeddata(object, &profile_type);
}

static const guildhall_decoder *decoder_at(VALUE address)
{
    if (NIL_P(address)) return NULL;
    const guildhall_decoder *decoder = (const guildhall_decoder *)(uintptr_t)NUM2ULL(address);
    bool usable = decoder->abi == GUILDHALL_DECODER_ABI && decoder->size >= sizeof(guildhall_decoder);
    return usable ? decoder : NULL;
}

/* Profile.build(task, takes_metadata, codec, address of its native decoder, rest, name of the decoding stage, preparer) */
static VALUE profile_build(VALUE class, VALUE task, VALUE takes_metadata, VALUE codec, VALUE address, VALUE rest,
                           VALUE stage, VALUE preparer)
{
    const guildhall_decoder *decoder = decoder_at(address);
    guildhall_profile *profile;
    VALUE self = TypedData_Make_Struct(class, guildhall_profile, &profile_type, profile);
    RB_OBJ_WRITE(self, &profile->task, task);
    RB_OBJ_WRITE(self, &profile->rest, rest);
    RB_OBJ_WRITE(self, &profile->codec, codec);
    RB_OBJ_WRITE(self, &profile->decode_stage, stage);
    RB_OBJ_WRITE(self, &profile->preparer, preparer);
    profile->decoder = decoder;
    profile->takes_metadata = RTEST(takes_metadata);
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

static VALUE profile_task(VALUE self)
{
    return guildhall_profile_of(self)->task;
}

/* What is to see the payloads first, in the dispatching thread; nil: nothing. */
static VALUE profile_preparer(VALUE self)
{
    return guildhall_profile_of(self)->preparer;
}

/* Whether running it needs no Ruby at all. */
static VALUE profile_native_p(VALUE self)
{
    const guildhall_profile *profile = guildhall_profile_of(self);
    return profile->decoder && NIL_P(profile->rest) ? Qtrue : Qfalse;
}

static VALUE seconds(const guildhall_estimate *estimate)
{
    if (atomic_load_explicit(&estimate->samples, memory_order_relaxed) == 0) return Qnil;
    return DBL2NUM(guildhall_estimate_read(estimate) / 1e9);
}

/* The level with the least time a payload of those above 0; 0: none was tried. */
static unsigned best_parallel(const guildhall_cell *cell)
{
    unsigned best = 0;
    for (unsigned level = 1; level < GUILDHALL_LEVELS; level++) {
        const guildhall_estimate *known = &cell->levels[level];
        if (atomic_load_explicit(&known->samples, memory_order_relaxed) == 0) continue;
        if (best == 0 || guildhall_estimate_read(known) < guildhall_estimate_read(&cell->levels[best])) best = level;
    }
    return best;
}

/* What was learned: [[about so many bytes, about so many payloads, seconds a payload inline, with more hands, how many
 * these are], …]; nil for what was not tried. */
static VALUE profile_measurements(VALUE self)
{
    guildhall_profile *profile = guildhall_profile_of(self);
    VALUE rows = rb_ary_new();
    for (unsigned bytes = 0; bytes < GUILDHALL_BYTE_CLASSES; bytes++) {
        for (unsigned count = 0; count < GUILDHALL_COUNT_CLASSES; count++) {
            guildhall_cell *cell = &profile->cells[bytes][count];
            unsigned best = best_parallel(cell);
            VALUE inlined = seconds(&cell->levels[0]), parallel = seconds(best ? &cell->levels[best] : &cell->forced);
            if (NIL_P(inlined) && NIL_P(parallel)) continue;
            rb_ary_push(rows, rb_ary_new_from_args(5, SIZET2NUM(bytes ? (size_t)3 << (bytes - 1) >> 1 : 0),
                                                   SIZET2NUM(count ? (size_t)3 << (count - 1) >> 1 : 0),
                                                   inlined, parallel, best ? UINT2NUM(1u << best) : Qnil));
        }
    }
    return rows;
}

void guildhall_init_pool_profile(VALUE pool)
{
    VALUE profile = rb_define_class_under(pool, "Profile", rb_cObject);
    rb_undef_alloc_func(profile);
    rb_define_singleton_method(profile, "build", profile_build, 7);
    rb_define_method(profile, "task", profile_task, 0);
    rb_define_method(profile, "preparer", profile_preparer, 0);
    rb_define_method(profile, "native?", profile_native_p, 0);
    rb_define_method(profile, "measurements", profile_measurements, 0);
}
