/* Guildhall::Pool::Batch in Ruby. */
#include "fair_queue.h"
#include <ruby/encoding.h>
#include <ruby/ractor.h>
#include <stdlib.h>
#include <guildhall/sharing.h>
#include "init.h"
#include "memory/block_pool.h"
#include "transfer.h"
#include "values/frozen.h"
#include "values/share.h"

enum { PAYLOADS_SAMPLED = 8 };

static VALUE guildhall_module;

/* Threads claim and publish while this runs, so it loads each slot once. Pins the Batch, which the struct points to. */
static void pool_batch_mark(void *data)
{
    guildhall_batch *batch = data;
    rb_gc_mark(batch->self);
    rb_gc_mark(batch->runnable_object);
    rb_gc_mark(batch->queue_object);
    rb_gc_mark(batch->source_name);
    for (size_t i = 0; i < batch->size; i++) {
        VALUE slot = guildhall_batch_slot(batch, i);
        rb_gc_mark(batch->payloads[i]);
        if (batch->metadata) rb_gc_mark(batch->metadata[i]);
        if (!RB_SPECIAL_CONST_P(slot)) rb_gc_mark(slot);
        else guildhall_transfer_mark(slot);
    }
}

/* Of the struct with payloads, slots and metadata. */
static size_t pool_batch_block_bytes(size_t size, bool metadata)
{
    return sizeof(guildhall_batch) + size * sizeof(VALUE) * (metadata ? 3 : 2);
}

static size_t pool_batch_transfers_bytes(const guildhall_batch *batch)
{
    size_t bytes = 0;
    for (size_t i = 0; i < batch->size; i++) bytes += guildhall_transfer_size(guildhall_batch_slot(batch, i));
    return bytes;
}

/* In a child, nobody holds what the parent's workers held. */
static void pool_batch_free(void *data)
{
    guildhall_batch *batch = data;
    guildhall_gc_freed(pool_batch_block_bytes(batch->size, batch->metadata));
    if (GUILDHALL_COLLECTOR_PER_RACTOR) guildhall_transfers_gone(pool_batch_transfers_bytes(batch));
    guildhall_dispatched_remove(batch);
    if (batch->generation != guildhall_fork_generation()) atomic_store(&batch->holders, 1);
    guildhall_batch_let_go(batch);
}

static size_t pool_batch_memsize(const void *data)
{
    const guildhall_batch *batch = data;
    return pool_batch_block_bytes(batch->size, batch->metadata) + pool_batch_transfers_bytes(batch);
}

static const rb_data_type_t batch_type = {
    "Guildhall::Pool::Batch",
    {pool_batch_mark, pool_batch_free, pool_batch_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | (GUILDHALL_COLLECTOR_PER_RACTOR ? 0 : RUBY_TYPED_WB_PROTECTED)}; /* see guildhall_batch_refers */

guildhall_batch *guildhall_batch_of(VALUE object) { return rb_check_typeddata(object, &batch_type); }

static VALUE pool_batch_check_shareable(VALUE object, const char *name, long index)
{
    if (guildhall_shareable(object)) return object;
    VALUE shareable = rb_const_get(guildhall_module, rb_intern("Shareable"));
    rb_funcall(shareable, rb_intern("check!"), 2, object, rb_sprintf("%s[%ld]", name, index));
    return object;
}

/* The String, frozen, its bytes where they will stay. 0: there is more to it than its bytes. */
static VALUE pool_batch_plain_string(VALUE string)
{
    if (RBASIC_CLASS(string) != rb_cString || rb_ivar_count(string)) return 0;
    if (RB_ENCODING_GET_INLINED(string) == RUBY_ENCODING_INLINE_MAX) return 0;
    return guildhall_string_settled(OBJ_FROZEN(string) ? string : rb_str_new_frozen(string));
}

VALUE guildhall_dispatchable(VALUE payload, long index)
{
    if (!RB_TYPE_P(payload, T_STRING)) return pool_batch_check_shareable(payload, "payloads", index);
    VALUE string = GUILDHALL_COLLECTOR_PER_RACTOR ? pool_batch_plain_string(payload) : 0;
    if (!string) string = guildhall_shareable_string(payload);
    return string ? string : pool_batch_check_shareable(payload, "payloads", index);
}

size_t guildhall_mean_bytes(VALUE payloads, bool records)
{
    long count = RARRAY_LEN(payloads), step = count / PAYLOADS_SAMPLED + 1, sampled = 0;
    size_t sum = 0;
    for (long i = 0; i < count; i += step, sampled++) {
        VALUE bytes = rb_ary_entry(payloads, i);
        if (records) bytes = rb_funcallv(bytes, rb_intern("raw_payload"), 0, NULL);
        if (RB_TYPE_P(bytes, T_STRING)) sum += (size_t)RSTRING_LEN(bytes);
    }
    return sampled ? sum / (size_t)sampled : 0;
}

/* Ruby that has run since the slots were counted, or runs meanwhile, may have changed the Array. */
static void pool_batch_fill(VALUE self, VALUE *to, VALUE from, bool metadata)
{
    const guildhall_batch *batch = guildhall_batch_of(self);
    long count = (long)batch->size;
    /* Whether workers see no more of the payloads than their bytes. */
    bool stay = GUILDHALL_COLLECTOR_PER_RACTOR && batch->in_place && !batch->runnable->takes_metadata;
    for (long i = 0;; i++) {
        if (RARRAY_LEN(from) != count) {
            rb_raise(guildhall_argument_error(), "%s has changed meanwhile: %ld elements, not %ld", metadata ? "metadata" : "payloads",
                     RARRAY_LEN(from), count);
        }
        if (i == count) return;
        VALUE object = RARRAY_AREF(from, i);
        if (metadata) pool_batch_check_shareable(object, "metadata", i);
        else if (!stay) object = guildhall_dispatchable(object, i);
        RB_OBJ_WRITE(self, &to[i], object);
    }
}

static VALUE batch_class;

/* One block of memory: the struct, payloads, slots, metadata. It is not Ruby's, because any Ractor may be the last one to hold it; Ruby is
 * told of its size. The slots are unset before anything can be collected. */
static VALUE pool_batch_allocate(VALUE queue, VALUE runnable, size_t size, size_t bytes, bool metadata)
{
    guildhall_fair_queue *in = guildhall_fair_queue_of(queue);
    guildhall_runnable *of = guildhall_runnable_of(runnable);
    size_t block = pool_batch_block_bytes(size, metadata);
    if (size > SIZE_MAX / sizeof(VALUE) / 4) rb_memerror();
    VALUE self = TypedData_Wrap_Struct(batch_class, &batch_type, NULL);
    guildhall_gc_block_adopt(block);
    guildhall_batch *batch = calloc(1, block);
    if (!batch) rb_memerror();
    VALUE *values = (VALUE *)(batch + 1);
    batch->payloads = values;
    batch->slots = (_Atomic VALUE *)(values + size);
    batch->metadata = metadata ? values + 2 * size : NULL;
    for (size_t i = 0; i < size; i++) {
        batch->payloads[i] = Qnil;
        atomic_init(&batch->slots[i], GUILDHALL_SLOT_UNSET);
        if (metadata) batch->metadata[i] = Qnil;
    }
    batch->size = size;
    batch->self = self;
    batch->queue_object = batch->source_name = batch->runnable_object = Qnil;
    atomic_init(&batch->holders, 1);
    guildhall_waitlist_init(&batch->readers);
    RTYPEDDATA_DATA(self) = batch;
    batch->generation = guildhall_fork_generation();
    RB_OBJ_WRITE(self, &batch->runnable_object, runnable);
    RB_OBJ_WRITE(self, &batch->queue_object, queue);
    batch->runnable = of;
    batch->queue = in;
    batch->bytes = bytes;
    batch->retry = true;
    batch->weight = 1;
    batch->source_key = (uint64_t)(uintptr_t)batch;
    batch->cost = guildhall_cost_find(&in->costs, of->code->number, bytes, 0);
    batch->cost_key = batch->cost->key;
    batch->measured_at = guildhall_now();
    return self;
}

/* Where all records are of one class that says where their bytes lie. */
static const guildhall_records *pool_batch_records_in_place(VALUE records)
{
    if (RARRAY_LEN(records) == 0) return NULL;
    VALUE class = rb_obj_class(RARRAY_AREF(records, 0));
    for (long i = 1; i < RARRAY_LEN(records); i++) {
        if (rb_obj_class(RARRAY_AREF(records, i)) != class) return NULL;
    }
    VALUE address = rb_check_funcall(class, rb_intern("native_records"), 0, NULL);
    if (address == Qundef) return NULL;
    const guildhall_records *offered = (const guildhall_records *)(uintptr_t)NUM2ULL(address);
    return offered->abi == GUILDHALL_RECORDS_ABI ? offered : NULL;
}

/* Batch.build(queue, runnable, payloads, metadata or nil, records, retry, deadline in seconds or nil, slice or nil,
 *             source or nil, slices a turn) */
static VALUE pool_batch_build(VALUE class, VALUE queue, VALUE runnable, VALUE payloads, VALUE metadata, VALUE records,
                         VALUE retry, VALUE deadline, VALUE slice, VALUE source, VALUE weight)
{
    Check_Type(payloads, T_ARRAY);
    if (!NIL_P(metadata)) Check_Type(metadata, T_ARRAY);
    size_t bytes = guildhall_mean_bytes(payloads, RTEST(records));
    VALUE self = pool_batch_allocate(queue, runnable, (size_t)RARRAY_LEN(payloads), bytes, !NIL_P(metadata));
    guildhall_batch *batch = guildhall_batch_of(self);
    batch->records = RTEST(records);
    if (batch->records) batch->in_place = pool_batch_records_in_place(payloads);
    batch->retry = RTEST(retry);
    batch->deadline_ns = NIL_P(deadline) ? 0 : (int64_t)(NUM2DBL(deadline) * 1e9);
    batch->slice = NIL_P(slice) ? 0 : NUM2SIZET(slice);
    if (!NIL_P(source)) batch->source_key = NUM2ULL(rb_hash(source)) << 1 | 1;
    VALUE name = rb_ractor_shareable_p(source) ? source : rb_str_new_frozen(rb_obj_as_string(source)); /* as it is now */
    RB_OBJ_WRITE(self, &batch->source_name, name);
    batch->weight = NUM2UINT(weight);
    if (batch->weight == 0) batch->weight = 1;
    pool_batch_fill(self, batch->payloads, payloads, false);
    if (!NIL_P(metadata)) pool_batch_fill(self, batch->metadata, metadata, true);
    return self;
}

VALUE guildhall_batch_continue(VALUE queue, VALUE runnable, VALUE outcomes, size_t done, size_t failed, size_t bytes)
{
    size_t size = (size_t)RARRAY_LEN(outcomes);
    VALUE self = pool_batch_allocate(queue, runnable, size, bytes, false);
    guildhall_batch *batch = guildhall_batch_of(self);
    for (size_t i = 0; i < size; i++) {
        VALUE object = RARRAY_AREF(outcomes, (long)i);
        if (i < done) atomic_store(&batch->slots[i], object);
        else batch->payloads[i] = object;
        RB_OBJ_WRITTEN(self, Qundef, object);
    }
    batch->measured_done = done;
    atomic_store(&batch->reading, true);
    atomic_store(&batch->done, done);
    atomic_store(&batch->failed, failed);
    atomic_store(&batch->cursor, done);
    return self;
}

static VALUE pool_batch_size(VALUE self) { return SIZET2NUM(guildhall_batch_of(self)->size); }
static VALUE pool_batch_done(VALUE self) { return SIZET2NUM(atomic_load(&guildhall_batch_of(self)->done)); }
static VALUE pool_batch_failed(VALUE self) { return SIZET2NUM(atomic_load(&guildhall_batch_of(self)->failed)); }
static VALUE pool_batch_complete_p(VALUE self) { return guildhall_batch_complete(guildhall_batch_of(self)) ? Qtrue : Qfalse; }
static VALUE pool_batch_parallel_p(VALUE self) { return atomic_load(&guildhall_batch_of(self)->parallel) ? Qtrue : Qfalse; }

/* The outcome at the index; Qundef means none and becomes the given object. */
static VALUE pool_batch_at(VALUE self, VALUE index, VALUE none)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    long at = NUM2LONG(index);
    if (at < 0) at += (long)batch->size;
    if (at < 0 || (size_t)at >= batch->size) return none;
    VALUE outcome = guildhall_batch_read(batch, (size_t)at);
    RB_GC_GUARD(self);
    return guildhall_outcome_p(outcome) ? outcome : none;
}

/* All outcomes; nil while one is missing. */
static VALUE pool_batch_outcomes(VALUE self)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    if (!guildhall_batch_complete(batch)) return Qnil;
    for (size_t i = 0; i < batch->size; i++) {
        guildhall_batch_read(batch, i);
        rb_thread_check_ints();
    }
    return rb_obj_freeze(rb_ary_new_from_values((long)batch->size, (const VALUE *)batch->slots));
}

static size_t pool_batch_checked_index(const guildhall_batch *batch, VALUE index)
{
    size_t at = NUM2SIZET(index);
    if (at >= batch->size) rb_raise(guildhall_argument_error(), "there is no payload %zu: the batch has %zu", at, batch->size);
    return at;
}

/* wait(index or nil, outcomes, seconds or nil): until that payload has one, or there are more than that; during a trial one more. */
static VALUE pool_batch_wait(VALUE self, VALUE index, VALUE beyond, VALUE timeout)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    size_t at = NIL_P(index) ? GUILDHALL_NO_INDEX : pool_batch_checked_index(batch, index);
    bool trial = guildhall_help_on_trial(batch);
    size_t count = trial ? atomic_load(&batch->done) : NUM2SIZET(beyond);
    int there = guildhall_batch_wait(batch, trial ? GUILDHALL_NO_INDEX : at, count, guildhall_deadline(timeout));
    guildhall_batch_measure(batch);
    RB_GC_GUARD(self);
    return there ? Qtrue : Qfalse;
}

/* help?(index or nil, whether it has waited in vain): whether this caller should run payloads. */
static VALUE pool_batch_help_p(VALUE self, VALUE index, VALUE stalled)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    if (!NIL_P(index) && !guildhall_batch_available(batch, pool_batch_checked_index(batch, index))) return Qfalse;
    if (NIL_P(index) && !guildhall_batch_unclaimed(batch)) return Qfalse;
    if (!atomic_load(&batch->parallel)) return Qtrue;
    return !guildhall_help_on_trial(batch) && guildhall_help_wanted(batch, RTEST(stalled)) ? Qtrue : Qfalse;
}

/* help(index or nil): runs payloads; of a batch that workers do not have only this one. Whether the batch is complete now. */
static VALUE pool_batch_help(VALUE self, VALUE index)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    size_t at = NIL_P(index) ? 0 : pool_batch_checked_index(batch, index);
    if (NIL_P(index) || atomic_load(&batch->parallel)) guildhall_help_run_some(batch);
    else guildhall_run(batch, at, at + 1, 0, NULL, NULL);
    RB_GC_GUARD(self);
    return guildhall_batch_complete(batch) ? Qtrue : Qfalse;
}

static VALUE pool_batch_spreads_p(VALUE self) { return guildhall_batch_spreads(guildhall_batch_of(self)) ? Qtrue : Qfalse; }

/* Its reader stops reading, and leaves to workers what it kept to itself. */
static VALUE pool_batch_let_go(VALUE self)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    if (atomic_exchange(&batch->reader_only, false)) guildhall_fair_queue_return(batch->queue, batch);
    return Qnil;
}

/* decide(whether its caller reads it at once) → the number of the decision */
static VALUE pool_batch_decide(VALUE self, VALUE reading)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    atomic_store(&batch->reading, RTEST(reading));
    batch->decision = guildhall_decide(batch->queue, batch->runnable, batch->bytes, batch->size, atomic_load(&batch->reading));
    return UINT2NUM(batch->decision);
}

static VALUE pool_batch_set_decision(VALUE self, VALUE number)
{
    unsigned decision = NUM2UINT(number);
    if (decision >= GUILDHALL_DECISIONS) rb_raise(guildhall_argument_error(), "there is no decision %u", decision);
    guildhall_batch_of(self)->decision = decision;
    return number;
}

/* Why its task can run in the main Ractor only, or nil. */
static VALUE pool_batch_inline_reason(VALUE self) { return guildhall_batch_of(self)->runnable->code->inline_reason; }
static VALUE pool_batch_decision(VALUE self) { return UINT2NUM(guildhall_batch_of(self)->decision); }

/* cancel { |index| a Failure } gives that outcome to every payload that nobody has claimed. How many these were. */
static VALUE pool_batch_cancel(VALUE self)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    size_t cancelled = 0;
    for (size_t i = 0; i < batch->size; i++) {
        if (!guildhall_batch_available(batch, i)) continue;
        VALUE failure = rb_yield(SIZET2NUM(i)), mark = guildhall_batch_claim(batch, i);
        if (mark && guildhall_batch_publish(batch, i, mark, failure, true)) cancelled++;
    }
    guildhall_batch_notify(batch, 0, batch->size);
    RB_GC_GUARD(self);
    return SIZET2NUM(cancelled);
}

/* To be called by readers, each time that they look: a trap handler may have forked meanwhile. A child process has none of the
 * parent's workers, so readers run all unfinished payloads. The queue and what it counts are the parent's, too. */
static VALUE pool_batch_reset_after_fork(VALUE self)
{
    guildhall_batch *batch = guildhall_batch_of(self);
    if (batch->generation == guildhall_fork_generation()) return self;
    batch->generation = guildhall_fork_generation();
    atomic_store(&batch->holders, 1);
    atomic_store(&batch->parallel, false);
    atomic_store(&batch->reader_only, false);
    atomic_store(&batch->suspicious, false);
    atomic_store(&batch->abandoned, false);
    atomic_store(&batch->cursor, 0);
    size_t done = 0;
    for (size_t i = 0; i < batch->size; i++) {
        if (guildhall_outcome_p(guildhall_batch_slot(batch, i))) done++;
        else atomic_store(&batch->slots[i], GUILDHALL_SLOT_UNSET);
    }
    atomic_store(&batch->done, done);
    return self;
}

static VALUE pool_batch_watch(VALUE self)
{
    atomic_store(&guildhall_batch_of(self)->watched, true);
    return self;
}

void guildhall_init_pool_batch(VALUE guildhall, VALUE pool)
{
    guildhall_init_dispatched();
    guildhall_module = guildhall;
    VALUE batch = rb_define_class_under(pool, "Batch", rb_cObject);
    batch_class = batch;
    rb_gc_register_mark_object(batch);
    rb_undef_alloc_func(batch);
    rb_define_singleton_method(batch, "build", pool_batch_build, 10);
    rb_define_method(batch, "size", pool_batch_size, 0);
    rb_define_method(batch, "done", pool_batch_done, 0);
    rb_define_method(batch, "failed", pool_batch_failed, 0);
    rb_define_method(batch, "complete?", pool_batch_complete_p, 0);
    rb_define_method(batch, "parallel?", pool_batch_parallel_p, 0);
    rb_define_method(batch, "at", pool_batch_at, 2);
    rb_define_method(batch, "outcomes", pool_batch_outcomes, 0);
    rb_define_method(batch, "wait", pool_batch_wait, 3);
    rb_define_method(batch, "help?", pool_batch_help_p, 2);
    rb_define_method(batch, "help", pool_batch_help, 1);
    rb_define_method(batch, "spreads?", pool_batch_spreads_p, 0);
    rb_define_method(batch, "let_go", pool_batch_let_go, 0);
    rb_define_method(batch, "decide", pool_batch_decide, 1);
    rb_define_method(batch, "decision=", pool_batch_set_decision, 1);
    rb_define_method(batch, "decision", pool_batch_decision, 0);
    rb_define_method(batch, "inline_reason", pool_batch_inline_reason, 0);
    rb_define_method(batch, "cancel", pool_batch_cancel, 0);
    rb_define_method(batch, "reset_after_fork", pool_batch_reset_after_fork, 0);
    rb_define_method(batch, "watch", pool_batch_watch, 0);
}
