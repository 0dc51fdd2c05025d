/* Guildhall::Pool::Batch in Ruby. */
#include "pool_batch.h"
#include "pool_fair_queue.h"
#include "pool_generation.h"
#include "pool_run.h"
#include <ruby/ractor.h>
#include "init.h"

enum { PAYLOADS_SAMPLED = 8 };

static ID id_raw_payload;
static VALUE guildhall_module;

/* Claims and publications go on while this runs from a walk over all objects: one load a slot. */
static void batch_mark(void *data)
{
    guildhall_batch *batch = data;
    rb_gc_mark(batch->profile_object);
    rb_gc_mark(batch->queue_object);
    rb_gc_mark(batch->source_name);
    for (size_t i = 0; i < batch->size; i++) {
        VALUE slot = guildhall_batch_slot(batch, i);
        rb_gc_mark(batch->payloads[i]);
        if (batch->metadata) rb_gc_mark(batch->metadata[i]);
        if (!RB_SPECIAL_CONST_P(slot)) rb_gc_mark(slot);
    }
}

static void batch_free(void *data)
{
    guildhall_batch *batch = data;
    if (batch->generation == guildhall_generation()) guildhall_waitlist_destroy(&batch->readers);
    ruby_xfree(batch->payloads);
    ruby_xfree(batch);
}

static size_t batch_memsize(const void *data)
{
    const guildhall_batch *batch = data;
    return sizeof(guildhall_batch) + batch->size * sizeof(VALUE) * (batch->metadata ? 3 : 2);
}

static const rb_data_type_t batch_type = {
    "Guildhall::Pool::Batch",
    {batch_mark, batch_free, batch_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_batch *guildhall_batch_of(VALUE object)
{
    return rb_check_typeddata(object, &batch_type);
}

static VALUE checked(VALUE object, const char *name, long index)
{
    if (rb_ractor_shareable_p(object)) return object;
    VALUE shareable = rb_const_get(guildhall_module, rb_intern("Shareable"));
    rb_funcall(shareable, rb_intern("check!"), 2, object, rb_sprintf("%s[%ld]", name, index));
    return object;
}

VALUE guildhall_portable(VALUE payload, long index)
{
    if (!RB_TYPE_P(payload, T_STRING)) return checked(payload, "payloads", index);
    VALUE frozen = OBJ_FROZEN(payload) ? payload : rb_str_new_frozen(payload);
    /* Without instance variables the check would cost more than decoding a small one. */
    return rb_ivar_count(frozen) == 0 ? frozen : checked(frozen, "payloads", index);
}

static VALUE argument_error(void)
{
    return rb_const_get(guildhall_module, rb_intern("ArgumentError"));
}

static size_t bytes_in(VALUE payload, bool envelope)
{
    VALUE bytes = envelope ? rb_funcallv(payload, id_raw_payload, 0, NULL) : payload;
    return RB_TYPE_P(bytes, T_STRING) ? (size_t)RSTRING_LEN(bytes) : 0;
}

size_t guildhall_mean_bytes(VALUE payloads, bool envelopes)
{
    long count = RARRAY_LEN(payloads), step = count / PAYLOADS_SAMPLED + 1, sampled = 0;
    size_t sum = 0;
    for (long i = 0; i < count; i += step, sampled++) sum += bytes_in(rb_ary_entry(payloads, i), envelopes);
    return sampled ? sum / (size_t)sampled : 0;
}

/* One block of memory: payloads, slots, metadata. The slots are unset before anything can be collected. */
static void allocate_slots(guildhall_batch *batch, size_t size, bool metadata)
{
    VALUE *block = ruby_xmalloc2(size * (metadata ? 3 : 2) + 1, sizeof(VALUE));
    batch->payloads = block;
    batch->slots = (_Atomic VALUE *)(block + size);
    batch->metadata = metadata ? block + 2 * size : NULL;
    for (size_t i = 0; i < size; i++) {
        block[i] = Qnil;
        atomic_init(&batch->slots[i], GUILDHALL_SLOT_UNSET);
        if (metadata) batch->metadata[i] = Qnil;
    }
    batch->size = size;
}

/* The slots have been counted; Ruby that ran since may have changed the Array. */
static void fill(VALUE self, VALUE *to, VALUE from, bool metadata)
{
    long count = (long)guildhall_batch_of(self)->size;
    if (RARRAY_LEN(from) != count) rb_raise(argument_error(), "%s has changed meanwhile: %ld elements, not %ld", metadata ? "metadata" : "payloads", RARRAY_LEN(from), count);
    for (long i = 0; i < count; i++) {
        VALUE object = RARRAY_AREF(from, i);
        RB_OBJ_WRITE(self, &to[i], metadata ? checked(object, "metadata", i) : guildhall_portable(object, i));
    }
}

static VALUE allocate(VALUE class, VALUE queue, VALUE profile, VALUE payloads, size_t bytes, bool metadata)
{
    guildhall_fair_queue *in = guildhall_fair_queue_of(queue);
    guildhall_profile *of = guildhall_profile_of(profile);
    size_t size = (size_t)RARRAY_LEN(payloads);
    guildhall_batch *batch;
    VALUE self = TypedData_Make_Struct(class, guildhall_batch, &batch_type, batch);
    batch->self = self;
    batch->generation = guildhall_generation();
    batch->queue_object = batch->source_name = batch->profile_object = Qnil;
    guildhall_waitlist_init(&batch->readers);
    RB_OBJ_WRITE(self, &batch->profile_object, profile);
    RB_OBJ_WRITE(self, &batch->queue_object, queue);
    batch->profile = of;
    batch->queue = in;
    batch->bytes = bytes;
    batch->retry = true;
    batch->dispatched_at = guildhall_now();
    if (size == 0) atomic_store(&batch->completed_at, batch->dispatched_at);
    allocate_slots(batch, size, metadata);
    fill(self, batch->payloads, payloads, false);
    return self;
}

/* Batch.build(queue, profile, payloads, metadata or nil, envelopes, retry, deadline in seconds or nil, slice or nil) */
static VALUE batch_build(VALUE class, VALUE queue, VALUE profile, VALUE payloads, VALUE metadata, VALUE envelopes,
                         VALUE retry, VALUE deadline, VALUE slice)
{
    size_t bytes = guildhall_mean_bytes(payloads, RTEST(envelopes));
    VALUE self = allocate(class, queue, profile, payloads, bytes, !NIL_P(metadata));
    guildhall_batch *batch = guildhall_batch_of(self);
    batch->envelopes = RTEST(envelopes);
    batch->retry = RTEST(retry);
    batch->deadline_ns = NIL_P(deadline) ? 0 : (int64_t)(NUM2DBL(deadline) * 1e9);
    batch->slice = NIL_P(slice) ? 0 : NUM2SIZET(slice);
    if (!NIL_P(metadata)) fill(self, batch->metadata, metadata, true);
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

static VALUE batch_size(VALUE self)
{
    return SIZET2NUM(guildhall_batch_of(self)->size);
}

/* [dispatched, complete] in seconds of the monotonic clock; nil while it is not complete. */
static VALUE batch_times(VALUE self)
{
    const guildhall_batch *batch = guildhall_batch_of(self);
    if (!guildhall_batch_complete(batch)) return Qnil;
    return rb_assoc_new(DBL2NUM((double)batch->dispatched_at / 1e9), DBL2NUM((double)atomic_load(&batch->completed_at) / 1e9));
}

static VALUE batch_done(VALUE self)
{
    return SIZET2NUM(atomic_load(&guildhall_batch_of(self)->done));
}

static VALUE batch_failed(VALUE self)
{
    return SIZET2NUM(atomic_load(&guildhall_batch_of(self)->failed));
}

static VALUE batch_complete_p(VALUE self)
{
    return guildhall_batch_complete(guildhall_batch_of(self)) ? Qtrue : Qfalse;
}

static VALUE batch_parallel_p(VALUE self)
{
    return atomic_load(&guildhall_batch_of(self)->parallel) ? Qtrue : Qfalse;
}

/* The outcome at the index; Qundef stands for none and becomes the given object. */
static VALUE batch_at(VALUE self, VALUE index, VALUE none)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    long at = NUM2LONG(index);
    if (at < 0) at += (long)batch->size;
    if (at < 0 || (size_t)at >= batch->size) return none;
    VALUE slot = guildhall_batch_slot(batch, (size_t)at);
    return guildhall_outcome_p(slot) ? slot : none;
}

/* All outcomes; nil while one is missing. */
static VALUE batch_outcomes(VALUE self)
{
    const guildhall_batch *batch = guildhall_batch_of(self);
    if (!guildhall_batch_complete(batch)) return Qnil;
    return rb_obj_freeze(rb_ary_new_from_values((long)batch->size, (const VALUE *)batch->slots));
}

/* wait(index or nil for all, seconds or nil) → false at the deadline */
static VALUE batch_wait(VALUE self, VALUE index, VALUE timeout)
{
    size_t at = NIL_P(index) ? GUILDHALL_ALL : NUM2SIZET(index);
    return guildhall_batch_wait(guildhall_batch_of(self), at, guildhall_deadline(timeout)) ? Qtrue : Qfalse;
}

/* wait_beyond(number of outcomes, seconds or nil) → false at the deadline */
static VALUE batch_wait_beyond(VALUE self, VALUE count, VALUE timeout)
{
    return guildhall_batch_wait_beyond(guildhall_batch_of(self), NUM2SIZET(count), guildhall_deadline(timeout)) ? Qtrue : Qfalse;
}

static bool available(const guildhall_batch *batch, VALUE index)
{
    VALUE slot = guildhall_batch_slot(batch, NUM2SIZET(index));
    return slot == GUILDHALL_SLOT_UNSET || slot == GUILDHALL_SLOT_AGAIN;
}

/* One of its hands is no more: a worker takes its place. */
static void stop_reading(guildhall_batch *batch)
{
    if (!batch->reading) return;
    batch->reading = false;
    guildhall_fair_queue_wake(batch->queue, 1);
}

/* Whether a caller is to run payloads that are in line for workers. `stalled`: it has waited for some, in vain. */
static bool lends_a_hand(guildhall_batch *batch, bool stalled)
{
    guildhall_fair_queue *queue = batch->queue;
    size_t idle = atomic_load(&queue->idle), seated = atomic_load(&queue->seated);
    if (seated == 0 && !guildhall_fair_queue_staffed(queue)) return true;
    if (batch->workers_only || atomic_load(&batch->suspicious)) return false;
    /* One hand more than there are processors keeps the others waiting, all of them whenever garbage is collected. */
    if (idle < seated && seated - idle >= queue->processors) return idle == 0 && stalled;
    if (idle == 0) return true;
    /* While it runs payloads other callers wait for the GVL, and so does what they would dispatch. */
    if (atomic_load(&queue->yielding) > 0) stop_reading(batch);
    return batch->reading;
}

/* help?(index or nil, whether it has waited in vain): whether this caller should run some of it: it is one of the hands
 * that the batch was meant for, or nobody else will, or nobody else is free to. */
static VALUE batch_help_p(VALUE self, VALUE index, VALUE stalled)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    if (!NIL_P(index) && !available(batch, index)) return Qfalse;
    if (NIL_P(index) && !guildhall_batch_unclaimed(batch)) return Qfalse;
    return !atomic_load(&batch->parallel) || lends_a_hand(batch, RTEST(stalled)) ? Qtrue : Qfalse;
}

static VALUE take_turns(VALUE nothing)
{
    rb_thread_schedule();
    return nothing;
}

static int64_t span(const guildhall_fair_queue *queue)
{
    bool others = atomic_load_explicit(&queue->yielding, memory_order_relaxed) > 0;
    return others ? GUILDHALL_SHORT_SPAN_NS : GUILDHALL_SPAN_NS;
}

/* Now, not when Ruby's time slice of 100 ms is over; sooner where some are known to wait for one. */
void guildhall_give_way(guildhall_fair_queue *queue)
{
    int64_t now = guildhall_now();
    if (now - atomic_load_explicit(&queue->yielded_at, memory_order_relaxed) < span(queue)) return;
    atomic_fetch_add(&queue->yielding, 1);
    int state = 0;
    rb_protect(take_turns, Qnil, &state);
    atomic_fetch_sub(&queue->yielding, 1);
    atomic_store_explicit(&queue->yielded_at, guildhall_now(), memory_order_relaxed);
    if (state) rb_jump_tag(state);
}

static void call_missing_worker(const guildhall_batch *batch)
{
    guildhall_fair_queue *queue = batch->queue;
    size_t idle = atomic_load(&queue->idle), seated = atomic_load(&queue->seated), busy = seated > idle ? seated - idle : 0;
    if (busy < guildhall_fair_queue_workers_for(batch)) guildhall_fair_queue_wake(queue, 1);
}

void guildhall_batch_help(guildhall_batch *batch)
{
    int64_t until = guildhall_now() + span(batch->queue);
    size_t from, count, next = 0;
    bool parallel = atomic_load(&batch->parallel);
    do {
        count = parallel ? guildhall_batch_slice(batch) : batch->size;
        count = guildhall_batch_take(batch, count, &from);
        if (count) next = guildhall_run(batch, from, from + count, until, NULL);
        if (count && next < from + count) guildhall_batch_rewind(batch, next);
    } while (count && parallel && guildhall_now() < until);
    if (!parallel && guildhall_batch_complete(batch)) guildhall_batch_learn(batch, 0);
    if (parallel && guildhall_batch_unclaimed(batch)) call_missing_worker(batch);
    guildhall_give_way(batch->queue);
}

/* Runs unclaimed payloads in this thread, for about five milliseconds. Whether all are done now. */
static VALUE batch_help(VALUE self)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    guildhall_batch_help(batch);
    RB_GC_GUARD(self);
    return guildhall_batch_complete(batch) ? Qtrue : Qfalse;
}

/* Whether all of it is known to take less than one such span, in this thread. */
static VALUE batch_brief_p(VALUE self)
{
    const guildhall_batch *batch = guildhall_batch_of(self);
    if (atomic_load(&batch->parallel) || batch->generation != guildhall_generation()) return Qfalse;
    return guildhall_profile_brief(batch->profile, batch->size, batch->bytes) ? Qtrue : Qfalse;
}

/* Runs the one payload in this thread, if nobody else has claimed it. */
static VALUE batch_run_at(VALUE self, VALUE index)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    size_t at = NUM2SIZET(index);
    if (at < batch->size) guildhall_run(batch, at, at + 1, 0, NULL);
    RB_GC_GUARD(self);
    return Qnil;
}

/* Whether the payload waits for somebody to run it. */
static VALUE batch_available_p(VALUE self, VALUE index)
{
    return available(guildhall_batch_of(self), index) ? Qtrue : Qfalse;
}

static VALUE batch_native_p(VALUE self)
{
    return guildhall_batch_native(guildhall_batch_of(self)) ? Qtrue : Qfalse;
}

/* fail_at(index, failure) gives that outcome to the payload unless somebody has claimed it. Whether it did. */
static VALUE batch_fail_at(VALUE self, VALUE index, VALUE failure)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    size_t at = NUM2SIZET(index);
    VALUE mark = at < batch->size ? guildhall_batch_claim(batch, at) : 0;
    return mark && guildhall_batch_publish(batch, at, mark, failure, true) ? Qtrue : Qfalse;
}

/* Wakes all that wait for something that fail_at has given. */
static VALUE batch_notify(VALUE self)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    guildhall_batch_notify(batch, 0, batch->size);
    return self;
}

/* To be called by readers: see guildhall_batch_adopt. */
static VALUE batch_adopt(VALUE self)
{
    guildhall_batch_adopt(guildhall_batch_of(self));
    return self;
}

static VALUE batch_watch(VALUE self)
{
    atomic_store(&guildhall_batch_of(self)->watched, true);
    return self;
}

static VALUE batch_learn(VALUE self)
{
    guildhall_batch_learn(guildhall_batch_of(self), guildhall_now());
    return Qnil;
}

void guildhall_init_pool_batch(VALUE guildhall, VALUE pool)
{
    guildhall_module = guildhall;
    id_raw_payload = rb_intern("raw_payload");
    VALUE batch = rb_define_class_under(pool, "Batch", rb_cObject);
    rb_undef_alloc_func(batch);
    rb_define_singleton_method(batch, "build", batch_build, 8);
    rb_define_method(batch, "size", batch_size, 0);
    rb_define_method(batch, "times", batch_times, 0);
    rb_define_method(batch, "done", batch_done, 0);
    rb_define_method(batch, "failed", batch_failed, 0);
    rb_define_method(batch, "complete?", batch_complete_p, 0);
    rb_define_method(batch, "parallel?", batch_parallel_p, 0);
    rb_define_method(batch, "at", batch_at, 2);
    rb_define_method(batch, "outcomes", batch_outcomes, 0);
    rb_define_method(batch, "wait", batch_wait, 2);
    rb_define_method(batch, "help?", batch_help_p, 2);
    rb_define_method(batch, "help", batch_help, 0);
    rb_define_method(batch, "brief?", batch_brief_p, 0);
    rb_define_method(batch, "run_at", batch_run_at, 1);
    rb_define_method(batch, "available?", batch_available_p, 1);
    rb_define_method(batch, "native?", batch_native_p, 0);
    rb_define_method(batch, "fail_at", batch_fail_at, 2);
    rb_define_method(batch, "notify", batch_notify, 0);
    rb_define_method(batch, "wait_beyond", batch_wait_beyond, 2);
    rb_define_method(batch, "adopt", batch_adopt, 0);
    rb_define_method(batch, "watch", batch_watch, 0);
    rb_define_method(batch, "learn", batch_learn, 0);
}
