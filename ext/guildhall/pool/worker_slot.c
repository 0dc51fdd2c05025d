/* Guildhall::Pool::WorkerSlot in Ruby: the worker's side (take, work, announce_exit) and the supervisor's (watching, recovering). */
#include "fair_queue.h"
#include <ruby/ractor.h>
#include <guildhall/sharing.h>
#include "init.h"

static void pool_worker_slot_mark(void *data)
{
    const guildhall_worker_slot *worker = data;
    rb_gc_mark(worker->queue_object);
}

static size_t pool_worker_slot_memsize(const void *data) { return sizeof(guildhall_worker_slot); }

static const rb_data_type_t slot_type = {
    "Guildhall::Pool::WorkerSlot",
    {pool_worker_slot_mark, RUBY_DEFAULT_FREE, pool_worker_slot_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | GUILDHALL_SHARED_TYPE};

static guildhall_worker_slot *pool_worker_slot_of(VALUE object) { return rb_check_typeddata(object, &slot_type); }

static VALUE pool_worker_slot_build(VALUE class, VALUE queue)
{
    guildhall_fair_queue *of = guildhall_fair_queue_of(queue);
    guildhall_worker_slot *worker;
    VALUE self = TypedData_Make_Struct(class, guildhall_worker_slot, &slot_type, worker);
    worker->queue_object = queue;
    guildhall_refers(self, queue);
    worker->queue = of;
    atomic_store(&worker->position, GUILDHALL_NO_INDEX);
    atomic_fetch_add(&of->worker_count, 1);
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

/* Whether the queue is closed is asked first: what was put in line before that is still there to be taken. */
static int pool_worker_slot_try_take(void *context)
{
    guildhall_worker_slot *worker = context;
    bool closed = atomic_load(&worker->queue->closed);
    if (atomic_load(&worker->retired) || guildhall_fair_queue_take(worker->queue, worker)) return 1;
    return worker->room_made || closed;
}

static void pool_worker_slot_tell_of_room(guildhall_worker_slot *worker)
{
    if (!worker->room_made) return;
    worker->room_made = false;
    guildhall_waitlist_wake_all(&worker->queue->space);
}

/* Whether it is to look again: nobody else may be awake to tell that there is room. */
static bool pool_worker_slot_made_room_only(const guildhall_worker_slot *worker)
{
    return worker->room_made && !atomic_load(&worker->batch);
}

static VALUE pool_worker_slot_wait_for_slice(VALUE argument)
{
    guildhall_worker_slot *worker = (guildhall_worker_slot *)argument;
    do {
        pool_worker_slot_tell_of_room(worker);
        guildhall_wait_as(&worker->queue->worker_patience, &worker->queue->workers, pool_worker_slot_try_take, worker, 0);
    } while (pool_worker_slot_made_room_only(worker));
    return Qnil;
}

/* The worker ends without a slice: another one takes what this one may have been woken for. */
static VALUE pool_worker_slot_stop_looking(VALUE argument)
{
    guildhall_worker_slot *worker = (guildhall_worker_slot *)argument;
    if (atomic_load(&worker->batch)) return Qnil;
    atomic_fetch_sub(&worker->queue->idle_workers, 1);
    if (atomic_load(&worker->queue->batches) > 0) guildhall_fair_queue_wake(worker->queue, 1);
    return Qnil;
}

static void pool_worker_slot_learn_handover(guildhall_worker_slot *worker)
{
    guildhall_batch *batch = atomic_load(&worker->batch);
    if (atomic_load_explicit(&batch->reached, memory_order_relaxed) || atomic_exchange(&batch->reached, true)) return;
    int64_t sample = atomic_load(&worker->slice_since) - batch->lined_up_at;
    guildhall_histogram_add(&worker->queue->waits, sample);
    if (!batch->alone) return;
    int64_t mean = atomic_load(&worker->queue->handover_ns);
    if (sample > 2 * mean) sample = 2 * mean; /* other load on the machine does not count */
    atomic_store(&worker->queue->handover_ns, mean + (sample - mean) / 8);
}

/* Blocks until there is a slice, which is then in the slot; false when the worker is to end. */
static VALUE pool_worker_slot_take(VALUE self)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    atomic_fetch_add(&worker->queue->idle_workers, 1);
    if (pool_worker_slot_try_take(worker) && !pool_worker_slot_made_room_only(worker)) pool_worker_slot_stop_looking((VALUE)worker);
    else rb_ensure(pool_worker_slot_wait_for_slice, (VALUE)worker, pool_worker_slot_stop_looking, (VALUE)worker);
    if (!atomic_load(&worker->batch)) return Qfalse;
    atomic_store(&worker->slice_since, guildhall_now());
    pool_worker_slot_learn_handover(worker);
    if (worker->others_wanted) guildhall_fair_queue_wake(worker->queue, 1);
    pool_worker_slot_tell_of_room(worker);
    return Qtrue;
}

/* Runs the slice; where it is stopped early, the rest goes back in line. Where somebody subscribes to slices, [index of the first payload,
 * payloads, seconds]; else nil. */
static VALUE pool_worker_slot_work(VALUE self)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    guildhall_batch *batch = atomic_load(&worker->batch);
    int64_t until = batch->slice ? 0 : guildhall_now() + GUILDHALL_SPAN_NS; /* payloads may be dearer than they were */
    size_t from = atomic_load(&worker->from), to = atomic_load(&worker->to), next = guildhall_run(batch, from, to, until, worker, NULL);
    if (next < to) guildhall_batch_rewind(batch, next);
    guildhall_fair_queue_leave_slice(worker);
    if (!atomic_load_explicit(&worker->queue->slices_wanted, memory_order_relaxed)) return Qnil;
    double seconds = (double)(guildhall_now() - atomic_load(&worker->slice_since)) / 1e9;
    return rb_ary_new_from_args(3, SIZET2NUM(from), SIZET2NUM(to - from), DBL2NUM(seconds));
}

static void pool_worker_slot_count_out(guildhall_worker_slot *worker)
{
    if (atomic_exchange(&worker->uncounted, true)) return;
    if (atomic_fetch_sub(&worker->queue->worker_count, 1) == 1) guildhall_waitlist_wake_all(&worker->queue->stopping);
}

/* The last that a worker does, whatever ends it. */
static VALUE pool_worker_slot_announce_exit(VALUE self)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    if (atomic_exchange(&worker->exited, true)) return Qnil;
    if (atomic_load(&worker->uncounted)) guildhall_fair_queue_leave_slice(worker); /* it was given up: nobody recovers it */
    pool_worker_slot_count_out(worker);
    guildhall_fair_queue_summon(worker->queue);
    return Qnil;
}

/* The worker has started. False if the supervisor no longer waits for it. */
static VALUE pool_worker_slot_claim(VALUE self) { return atomic_exchange(&pool_worker_slot_of(self)->claimed, true) ? Qfalse : Qtrue; }

/* Tells a worker that has not started that it need not. Whether it had not. */
static VALUE pool_worker_slot_cancel_start(VALUE self)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    if (atomic_exchange(&worker->claimed, true)) return Qfalse;
    atomic_store(&worker->exited, true);
    pool_worker_slot_count_out(worker);
    return Qtrue;
}

/* Supervisor: [index, seconds past its deadline (negative: left), when it was begun] of the payload being run; or nil. */
static VALUE pool_worker_slot_overdue(VALUE self)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    guildhall_batch *batch = guildhall_fair_queue_batch_of(worker);
    size_t position = atomic_load_explicit(&worker->position, memory_order_acquire);
    if (!batch) return Qnil;
    int64_t deadline = batch->deadline_ns;
    guildhall_batch_let_go(batch);
    if (deadline == 0) return Qnil;
    int64_t since = position == GUILDHALL_NO_INDEX ? guildhall_now() : atomic_load(&worker->payload_since);
    return rb_ary_new_from_args(3, SIZET2NUM(position), DBL2NUM((double)(guildhall_now() - since - deadline) / 1e9),
                                LL2NUM(since));
}

/* Supervisor, after the worker is gone: the payload it died with runs once more, unless that was its last chance, and what else
 * was unfinished of its slice goes back in line. That payload's index, or nil. */
static VALUE pool_worker_slot_recover(VALUE self, VALUE last_chance)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    guildhall_batch *batch = atomic_load(&worker->batch); /* nobody else changes it any more */
    if (!batch) return Qnil;
    size_t position = atomic_load(&worker->position), from = atomic_load(&worker->from);
    if (position != GUILDHALL_NO_INDEX) {
        VALUE mark = atomic_load(&worker->mark);
        if (!RTEST(last_chance) && batch->retry && mark != GUILDHALL_SLOT_RUNNING_AGAIN) {
            guildhall_batch_leave_to_workers(batch, &batch->suspicious);
            guildhall_batch_release(batch, position, mark, GUILDHALL_SLOT_AGAIN);
        } else if (guildhall_batch_publish(batch, position, mark, guildhall_task_lost("fatal", position), true)) {
            guildhall_batch_notify(batch, position, position + 1);
        }
    }
    guildhall_batch_rewind(batch, from);
    guildhall_fair_queue_leave_slice(worker);
    return position == GUILDHALL_NO_INDEX ? Qnil : SIZET2NUM(position);
}

/* Supervisor: the payload that was begun then gets this outcome unless it has just got one; then the worker is given up,
 * and the rest of its slice goes back in line. Whether it was. Meanwhile the worker may have begun another one, at the same
 * index of another batch. */
static VALUE pool_worker_slot_abandon(VALUE self, VALUE index, VALUE since, VALUE failure)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    size_t position = NUM2SIZET(index);
    int64_t begun_at = NUM2LL(since);
    guildhall_batch *batch = guildhall_fair_queue_batch_of(worker);
    if (!batch) return Qfalse;
    bool same = atomic_load(&worker->position) == position && atomic_load(&worker->payload_since) == begun_at;
    bool abandoned = same && guildhall_batch_publish(batch, position, atomic_load(&worker->mark), failure, true);
    if (abandoned) {
        atomic_store(&worker->retired, true);
        guildhall_batch_leave_to_workers(batch, &batch->abandoned);
        pool_worker_slot_count_out(worker);
        if (atomic_load(&worker->exited)) guildhall_fair_queue_leave_slice(worker); /* it may not have seen that */
        guildhall_batch_notify(batch, position, position + 1);
        guildhall_batch_rewind(batch, position);
    }
    guildhall_batch_let_go(batch);
    return abandoned ? Qtrue : Qfalse;
}

static VALUE pool_worker_slot_retire(VALUE self)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    atomic_store(&worker->retired, true);
    guildhall_waitlist_wake_all(&worker->queue->workers);
    return self;
}

static VALUE pool_worker_slot_exited_p(VALUE self) { return atomic_load(&pool_worker_slot_of(self)->exited) ? Qtrue : Qfalse; }
static VALUE pool_worker_slot_busy_p(VALUE self) { return atomic_load(&pool_worker_slot_of(self)->batch) ? Qtrue : Qfalse; }

/* [slices, payloads, failures, seconds busy] */
static VALUE pool_worker_slot_counts(VALUE self)
{
    guildhall_worker_slot *worker = pool_worker_slot_of(self);
    return rb_ary_new_from_args(4, ULL2NUM(atomic_load(&worker->slices)), ULL2NUM(atomic_load(&worker->payloads)),
                                ULL2NUM(atomic_load(&worker->failures)), DBL2NUM((double)atomic_load(&worker->busy_ns) / 1e9));
}

void guildhall_init_pool_worker_slot(VALUE pool)
{
    VALUE worker = rb_define_class_under(pool, "WorkerSlot", rb_cObject);
    rb_undef_alloc_func(worker);
    rb_define_singleton_method(worker, "build", pool_worker_slot_build, 1);
    rb_define_method(worker, "take", pool_worker_slot_take, 0);
    rb_define_method(worker, "work", pool_worker_slot_work, 0);
    rb_define_method(worker, "announce_exit", pool_worker_slot_announce_exit, 0);
    rb_define_method(worker, "claim", pool_worker_slot_claim, 0);
    rb_define_method(worker, "cancel_start", pool_worker_slot_cancel_start, 0);
    rb_define_method(worker, "overdue", pool_worker_slot_overdue, 0);
    rb_define_method(worker, "recover", pool_worker_slot_recover, 1);
    rb_define_method(worker, "abandon", pool_worker_slot_abandon, 3);
    rb_define_method(worker, "retire", pool_worker_slot_retire, 0);
    rb_define_method(worker, "exited?", pool_worker_slot_exited_p, 0);
    rb_define_method(worker, "busy?", pool_worker_slot_busy_p, 0);
    rb_define_method(worker, "counts", pool_worker_slot_counts, 0);
}
