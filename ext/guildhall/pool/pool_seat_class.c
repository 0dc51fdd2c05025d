/* Guildhall::Pool::Seat in Ruby: the worker's side (take, work, leave) and the coordinator's (watching, recovering). */
#include "pool_seat.h"
#include "pool_fair_queue.h"
#include "pool_run.h"
#include <ruby/ractor.h>
#include "init.h"

static void seat_mark(void *data)
{
    guildhall_seat *seat = data;
    rb_gc_mark(seat->queue_object);
    rb_gc_mark(atomic_load(&seat->batch));
}

static size_t seat_memsize(const void *data)
{
    return sizeof(guildhall_seat);
}

static const rb_data_type_t seat_type = {
    "Guildhall::Pool::Seat",
    {seat_mark, RUBY_DEFAULT_FREE, seat_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE};

guildhall_seat *guildhall_seat_of(VALUE object)
{
    return rb_check_typeddata(object, &seat_type);
}

static VALUE seat_build(VALUE class, VALUE queue)
{
    guildhall_fair_queue *of = guildhall_fair_queue_of(queue);
    guildhall_seat *seat;
    VALUE self = TypedData_Make_Struct(class, guildhall_seat, &seat_type, seat);
    seat->queue_object = queue;
    seat->queue = of;
    atomic_store(&seat->batch, Qnil);
    atomic_store(&seat->position, GUILDHALL_NO_POSITION);
    atomic_fetch_add(&of->seated, 1);
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

static bool unwanted(const guildhall_seat *seat)
{
    return atomic_load(&seat->abandoned) || atomic_load(&seat->retired);
}

static int take(void *context)
{
    guildhall_seat *seat = context;
    if (unwanted(seat) || guildhall_fair_queue_take(seat->queue, seat)) return 1;
    return seat->queue->closed;
}

static VALUE wait_for_slice(VALUE argument)
{
    guildhall_seat *seat = (guildhall_seat *)argument;
    guildhall_wait_as(&seat->queue->worker_patience, &seat->queue->workers, take, seat, 0);
    return Qnil;
}

/* Without a slice; what it may have been expected to take is left to another one. */
static VALUE look_no_more(VALUE argument)
{
    guildhall_seat *seat = (guildhall_seat *)argument;
    if (!NIL_P(atomic_load(&seat->batch))) return Qnil;
    atomic_fetch_sub(&seat->queue->idle, 1);
    if (atomic_load(&seat->queue->batches) > 0) guildhall_fair_queue_wake(seat->queue, 1);
    return Qnil;
}

static void learn_handover(guildhall_seat *seat)
{
    guildhall_batch *batch = guildhall_batch_of(atomic_load(&seat->batch));
    if (atomic_load_explicit(&batch->reached, memory_order_relaxed) || atomic_exchange(&batch->reached, true)) return;
    int64_t sample = atomic_load(&seat->slice_since) - batch->lined_up_at;
    guildhall_histogram_add(&seat->queue->waits, sample);
    if (!batch->alone) return;
    int64_t mean = atomic_load(&seat->queue->handover_ns);
    if (sample > 8 * mean) sample = 8 * mean;
    atomic_store(&seat->queue->handover_ns, mean + (sample - mean) / 8);
}

/* Blocks until there is a slice, which is then on the seat; false when the worker is to end. */
static VALUE seat_take(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    atomic_fetch_add(&seat->queue->idle, 1);
    if (take(seat)) look_no_more((VALUE)seat);
    else rb_ensure(wait_for_slice, (VALUE)seat, look_no_more, (VALUE)seat);
    if (NIL_P(atomic_load(&seat->batch))) return Qfalse;
    atomic_store(&seat->slice_since, guildhall_now());
    learn_handover(seat);
    if (seat->others_wanted) guildhall_fair_queue_wake(seat->queue, 1);
    guildhall_waitlist_wake_all(&seat->queue->space);
    return Qtrue;
}

/* For those who listen to every slice. One that nobody has fetched in time is overwritten. */
static void record_slice(guildhall_seat *seat)
{
    size_t number = atomic_load(&seat->recorded);
    size_t from = atomic_load(&seat->from), to = atomic_load(&seat->to);
    seat->records[number % GUILDHALL_SLICE_RECORDS] =
        (guildhall_slice_record){from, to - from, guildhall_now() - atomic_load(&seat->slice_since)};
    atomic_store(&seat->recorded, number + 1);
    guildhall_fair_queue_call(seat->queue, GUILDHALL_CALL_LOOK);
}

/* The slice is done, or others have been told of it. */
static void put_slice_down(guildhall_seat *seat)
{
    VALUE object = atomic_exchange(&seat->batch, Qnil);
    if (!NIL_P(object)) atomic_fetch_sub(&guildhall_batch_of(object)->workers, 1);
}

/* Runs the slice; what it was stopped before goes back in line. */
static VALUE seat_work(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    VALUE object = atomic_load(&seat->batch);
    guildhall_batch *batch = guildhall_batch_of(object);
    size_t to = atomic_load(&seat->to), next = guildhall_run(batch, atomic_load(&seat->from), to, 0, seat);
    if (next < to) guildhall_batch_rewind(batch, next);
    put_slice_down(seat);
    if (atomic_load_explicit(&seat->queue->slices_wanted, memory_order_relaxed)) record_slice(seat);
    RB_GC_GUARD(object);
    return Qnil;
}

static void count_out(guildhall_seat *seat)
{
    if (!atomic_exchange(&seat->uncounted, true)) atomic_fetch_sub(&seat->queue->seated, 1);
}

/* The worker's last words, whatever ends it. */
static VALUE seat_leave(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    if (atomic_exchange(&seat->left, true)) return Qnil;
    count_out(seat);
    guildhall_fair_queue_call(seat->queue, GUILDHALL_CALL_WORKER_LEFT);
    return Qnil;
}

/* The worker's first words. False when nobody waits for it any more. */
static VALUE seat_claim(VALUE self)
{
    return atomic_exchange(&guildhall_seat_of(self)->claimed, true) ? Qfalse : Qtrue;
}

/* Unless its worker is there: it need not come. Whether that was so. */
static VALUE seat_vacate(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    if (atomic_exchange(&seat->claimed, true)) return Qfalse;
    atomic_store(&seat->left, true);
    count_out(seat);
    return Qtrue;
}

/* Coordinator: [batch, index, whether it was its last chance] of the payload
 * being run; nil when there is none. */
static VALUE seat_victim(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    VALUE object = atomic_load(&seat->batch);
    size_t position = atomic_load_explicit(&seat->position, memory_order_acquire);
    if (NIL_P(object) || position == GUILDHALL_NO_POSITION) return Qnil;
    guildhall_batch *batch = guildhall_batch_of(object);
    bool last = !batch->retry || atomic_load(&seat->mark) == GUILDHALL_SLOT_RUNNING_AGAIN;
    return rb_ary_new_from_args(3, object, SIZET2NUM(position), last ? Qtrue : Qfalse);
}

/* Coordinator: [index, seconds past its deadline (negative: seconds left), when it was begun] of the payload being run;
 * nil without one. */
static VALUE seat_overdue(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    VALUE object = atomic_load(&seat->batch);
    size_t position = atomic_load_explicit(&seat->position, memory_order_acquire);
    if (NIL_P(object)) return Qnil;
    int64_t deadline = guildhall_batch_of(object)->deadline_ns;
    if (deadline == 0) return Qnil;
    int64_t since = position == GUILDHALL_NO_POSITION ? guildhall_now() : atomic_load(&seat->payload_since);
    return rb_ary_new_from_args(3, SIZET2NUM(position), DBL2NUM((double)(guildhall_now() - since - deadline) / 1e9),
                                LL2NUM(since));
}

/* Coordinator, after the worker is gone: the payload it died with gets this outcome (nil: runs once more), and what
 * else was unfinished of its slice goes back in line. */
static VALUE seat_recover(VALUE self, VALUE failure)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    VALUE object = atomic_load(&seat->batch);
    if (NIL_P(object)) return Qfalse;
    guildhall_batch *batch = guildhall_batch_of(object);
    size_t position = atomic_load(&seat->position), from = atomic_load(&seat->from);
    if (position != GUILDHALL_NO_POSITION) {
        VALUE mark = atomic_load(&seat->mark);
        if (NIL_P(failure)) guildhall_batch_release(batch, position, mark, GUILDHALL_SLOT_AGAIN);
        else if (guildhall_batch_publish(batch, position, mark, failure, true)) guildhall_batch_notify(batch, position, position + 1);
    }
    guildhall_batch_rewind(batch, from);
    put_slice_down(seat);
    RB_GC_GUARD(object);
    return Qtrue;
}

/* Coordinator: the payload that was begun then gets this outcome unless it has just got one; then the worker is given up,
 * and the rest of its slice goes back in line. Whether it was. Meanwhile the worker may have begun another one, at the same
 * index of another batch. */
static VALUE seat_abandon(VALUE self, VALUE index, VALUE since, VALUE failure)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    size_t position = NUM2SIZET(index);
    VALUE object = atomic_load(&seat->batch);
    if (NIL_P(object) || atomic_load(&seat->position) != position) return Qfalse;
    if (atomic_load(&seat->payload_since) != NUM2LL(since)) return Qfalse;
    guildhall_batch *batch = guildhall_batch_of(object);
    if (!guildhall_batch_publish(batch, position, atomic_load(&seat->mark), failure, true)) return Qfalse;
    atomic_store(&seat->abandoned, true);
    count_out(seat);
    guildhall_batch_notify(batch, position, position + 1);
    guildhall_batch_rewind(batch, position);
    RB_GC_GUARD(object);
    return Qtrue;
}

/* Coordinator: [[index of the first payload, payloads, seconds], …] of the slices since the last call. */
static VALUE seat_new_slices(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    size_t upto = atomic_load(&seat->recorded), at = atomic_load(&seat->reported);
    VALUE slices = rb_ary_new();
    if (upto - at > GUILDHALL_SLICE_RECORDS) at = upto - GUILDHALL_SLICE_RECORDS;
    for (; at < upto; at++) {
        guildhall_slice_record record = seat->records[at % GUILDHALL_SLICE_RECORDS];
        rb_ary_push(slices, rb_ary_new_from_args(3, SIZET2NUM(record.from), SIZET2NUM(record.count),
                                                 DBL2NUM((double)record.nanoseconds / 1e9)));
    }
    atomic_store(&seat->reported, upto);
    return slices;
}

static VALUE seat_retire(VALUE self)
{
    atomic_store(&guildhall_seat_of(self)->retired, true);
    return self;
}

static VALUE seat_queue(VALUE self)
{
    return guildhall_seat_of(self)->queue_object;
}

static VALUE seat_left_p(VALUE self)
{
    return atomic_load(&guildhall_seat_of(self)->left) ? Qtrue : Qfalse;
}

static VALUE seat_busy_p(VALUE self)
{
    return NIL_P(atomic_load(&guildhall_seat_of(self)->batch)) ? Qfalse : Qtrue;
}

/* [slices, payloads, failures, seconds busy] */
static VALUE seat_counts(VALUE self)
{
    guildhall_seat *seat = guildhall_seat_of(self);
    return rb_ary_new_from_args(4, ULL2NUM(atomic_load(&seat->slices)), ULL2NUM(atomic_load(&seat->payloads)),
                                ULL2NUM(atomic_load(&seat->failures)), DBL2NUM((double)atomic_load(&seat->busy_ns) / 1e9));
}

void guildhall_init_pool_seat(VALUE pool)
{
    VALUE seat = rb_define_class_under(pool, "Seat", rb_cObject);
    rb_undef_alloc_func(seat);
    rb_define_singleton_method(seat, "build", seat_build, 1);
    rb_define_method(seat, "take", seat_take, 0);
    rb_define_method(seat, "work", seat_work, 0);
    rb_define_method(seat, "leave", seat_leave, 0);
    rb_define_method(seat, "claim", seat_claim, 0);
    rb_define_method(seat, "vacate", seat_vacate, 0);
    rb_define_method(seat, "victim", seat_victim, 0);
    rb_define_method(seat, "overdue", seat_overdue, 0);
    rb_define_method(seat, "recover", seat_recover, 1);
    rb_define_method(seat, "abandon", seat_abandon, 3);
    rb_define_method(seat, "new_slices", seat_new_slices, 0);
    rb_define_method(seat, "retire", seat_retire, 0);
    rb_define_method(seat, "queue", seat_queue, 0);
    rb_define_method(seat, "left?", seat_left_p, 0);
    rb_define_method(seat, "busy?", seat_busy_p, 0);
    rb_define_method(seat, "counts", seat_counts, 0);
}
