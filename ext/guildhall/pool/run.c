/* The loop that the payloads of batches go through. One rb_protect serves all payloads up to the next one that raises. */
#include "fair_queue.h"
#include <ruby/encoding.h>
#include "values/frozen.h"

static const double look_after_ns = 2.5e5; /* how often to look at the clock and to wake readers */

static const size_t malloc_noticed = 16 * 1024; /* bytes decoded */

typedef struct {
    guildhall_batch *batch;
    guildhall_worker_slot *worker;
    size_t next, to, notified, looked, skipped;
    int64_t until;
    VALUE mark;         /* of the payload being run; 0: none */
    VALUE stage;        /* nil, or that of the native decoder while it runs */
    size_t outcomes, failures;
    size_t stride;      /* payloads between two looks at the clock. Readers are woken as rarely; one that waits looks by itself after
                         * `Future::PAUSES.longest` */
    int state;          /* the tag of what was raised */
    bool ends;          /* and whether it ends the thread */
    bool stopped;
} run;

/* Publishes what was done so far to those who wait for it; checks whether it is time to stop. */
static void pool_run_check_clock(run *r)
{
    guildhall_batch_notify(r->batch, r->notified, r->next);
    r->notified = r->next;
    r->looked = r->next;
    if (r->until && guildhall_now() >= r->until) r->stopped = true;
}

static void pool_run_publish(run *r, VALUE outcome, bool failure)
{
    VALUE mark = r->mark;
    r->mark = 0;
    r->stage = Qnil;
    if (r->worker) atomic_store_explicit(&r->worker->position, GUILDHALL_NO_INDEX, memory_order_relaxed);
    if (guildhall_batch_publish(r->batch, r->next, mark, outcome, failure)) {
        r->outcomes++;
        r->failures += failure;
    } else {
        /* Its worker was given up: the supervisor would not notice if it got stuck again. */
        if (r->worker) r->stopped = true;
        atomic_fetch_add_explicit(&r->batch->queue->late_results, 1, memory_order_relaxed);
    }
    r->next++;
}

static VALUE pool_run_copy_bytes(const uint8_t *bytes, size_t length, int encoding)
{
    return guildhall_share(rb_enc_str_new((const char *)bytes, (long)length, rb_enc_from_index(encoding)));
}

/* What the task gets. Where each Ractor has a collector of its own, a String that is not shareable belongs to the caller, so the worker
 * makes one of its own with the same bytes. */
static VALUE pool_run_input_of(const run *r, VALUE payload)
{
    size_t length = 0;
    if (r->batch->in_place) {
        const uint8_t *bytes = r->batch->in_place->bytes(payload, &length);
        return bytes ? pool_run_copy_bytes(bytes, length, guildhall_binary_index) : Qnil;
    }
    if (r->batch->records) {
        VALUE bytes = rb_funcallv(payload, rb_intern("raw_payload"), 0, NULL);
        return RB_TYPE_P(bytes, T_STRING) && !OBJ_FROZEN(bytes) ? rb_str_new_frozen(bytes) : bytes;
    }
    if (!GUILDHALL_COLLECTOR_PER_RACTOR || !r->worker || guildhall_shared(payload)) return payload;
    const uint8_t *bytes = guildhall_batch_bytes(r->batch, r->next, &length);
    return pool_run_copy_bytes(bytes, length, RB_ENCODING_GET_INLINED(payload));
}

/* Codecs bring texts of other encodings to UTF-8 first. */
static bool pool_run_codec_takes_as_is(VALUE payload)
{
    if (!RB_TYPE_P(payload, T_STRING)) return true;
    int encoding = RB_ENCODING_GET_INLINED(payload);
    return encoding == guildhall_utf8_index || encoding == guildhall_ascii_index || encoding == guildhall_binary_index;
}

static VALUE pool_run_outcome_of(run *r, bool *failed)
{
    const guildhall_runnable *runnable = r->batch->runnable;
    VALUE payload = r->batch->payloads[r->next];
    if (r->worker && runnable->transfers) {
        size_t length = 0;
        const uint8_t *bytes = pool_run_codec_takes_as_is(payload) ? guildhall_batch_bytes(r->batch, r->next, &length) : NULL;
        VALUE transfer = bytes ? guildhall_task_transfer(runnable, bytes, length, &r->stage) : Qundef;
        if (transfer != Qundef) return transfer;
    }
    VALUE input = pool_run_input_of(r, payload), metadata = r->batch->metadata ? r->batch->metadata[r->next] : Qnil;
    if (r->batch->records) metadata = payload;
    return guildhall_task_call(runnable, input, metadata, r->next, r->worker != NULL, &r->stage, failed);
}

/* A payload that a worker or two readers have died of, and the rest of a batch in which a worker got stuck, must not run in a caller's
 * thread: it would end it, or occupy it for ever. */
static bool pool_run_workers_only(const run *r)
{
    if (r->worker || !guildhall_batch_available(r->batch, r->next)) return false;
    if (atomic_load(&r->batch->abandoned)) return true;
    return guildhall_batch_slot(r->batch, r->next) == GUILDHALL_SLOT_AGAIN && atomic_load(&r->batch->suspicious);
}

/* Another worker runs it, or the payload fails if there will be none. */
static void pool_run_leave_to_workers(run *r)
{
    bool in_line = atomic_load(&r->batch->parallel) && !atomic_load(&r->batch->reader_only);
    bool workers = in_line && guildhall_fair_queue_has_workers(r->batch->queue);
    if (!workers && (r->mark = guildhall_batch_claim(r->batch, r->next))) {
        pool_run_publish(r, guildhall_task_lost(r->mark == GUILDHALL_SLOT_RUNNING_AGAIN ? "fatal" : "workerless", r->next), true);
        return;
    }
    if (r->skipped == GUILDHALL_NO_INDEX) r->skipped = r->next;
    r->next++;
}

static void pool_run_one(run *r)
{
    if (pool_run_workers_only(r)) {
        pool_run_leave_to_workers(r);
        return;
    }
    r->mark = guildhall_batch_claim(r->batch, r->next);
    if (!r->mark) {
        r->next++;
        return;
    }
    if (r->worker) {
        atomic_store_explicit(&r->worker->mark, r->mark, memory_order_relaxed);
        if (r->batch->deadline_ns) atomic_store(&r->worker->payload_since, guildhall_now());
        atomic_store_explicit(&r->worker->position, r->next, memory_order_release);
    }
    bool failed = false;
    VALUE outcome = pool_run_outcome_of(r, &failed);
    pool_run_publish(r, outcome, failed);
}

static VALUE pool_run_payloads(VALUE argument)
{
    run *r = (run *)argument;
    while (r->next < r->to && !r->stopped) {
        pool_run_one(r);
        /* Asked after every payload, because one may take a thousand times as long as was expected. */
        if (r->until && guildhall_coarse_now() >= r->until) r->stopped = true;
        rb_thread_check_ints(); /* also while others wait to collect garbage, which they cannot while this one runs */
        if (r->next - r->looked >= r->stride) pool_run_check_clock(r);
    }
    return Qnil;
}

/* A caller's thread was interrupted, so others run what it had claimed. Where the thread ends, the task may have ended
 * it: such a payload gets one more chance in a caller. */
static VALUE pool_run_release(VALUE argument)
{
    run *r = (run *)argument;
    if (r->worker) return Qnil;
    bool again = r->mark == GUILDHALL_SLOT_RUNNING_AGAIN;
    bool native = r->batch->runnable->decoder && NIL_P(r->batch->runnable->following), ends = r->ends && !native;
    if (r->mark) guildhall_batch_release(r->batch, r->next, r->mark, again || ends ? GUILDHALL_SLOT_AGAIN : GUILDHALL_SLOT_UNSET);
    if (r->mark && again && ends) guildhall_batch_leave_to_workers(r->batch, &r->batch->suspicious);
    guildhall_batch_rewind(r->batch, r->skipped < r->next ? r->skipped : r->next);
    guildhall_batch_notify(r->batch, r->notified, r->next);
    return Qnil;
}

static VALUE pool_run_jump_on(VALUE argument)
{
    rb_jump_tag(((const run *)argument)->state);
    return Qnil;
}

/* What was raised becomes the payload's Failure, or goes on to where it was meant for. A worker's last payload
 * is the supervisor's. */
static void pool_run_handle_exception(run *r)
{
    r->ends = guildhall_task_ends_thread();
    VALUE failure = r->mark ? guildhall_task_failure(r->batch->runnable, r->next, r->stage, !r->worker, &r->state) : Qundef;
    /* rb_ensure keeps $!, which waking others may clear. */
    if (failure == Qundef) rb_ensure(pool_run_jump_on, (VALUE)r, pool_run_release, (VALUE)r);
    pool_run_publish(r, failure, true);
}

static void pool_run_record_stats(const run *r, int64_t began)
{
    int64_t spent = guildhall_now() - began;
    guildhall_batch *batch = r->batch;
    if (r->outcomes && r->failures < r->outcomes) {
        atomic_fetch_add_explicit(&batch->run_ns, spent, memory_order_relaxed);
        atomic_fetch_add_explicit(&batch->run_payloads, r->outcomes, memory_order_relaxed);
        guildhall_cost *known = guildhall_batch_known_cost(batch);
        if (known) guildhall_cost_add(known, (double)spent / (double)r->outcomes);
    }
    if (!r->worker) {
        atomic_fetch_add_explicit(&batch->queue->inlined_payloads, r->outcomes, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&r->worker->payloads, r->outcomes, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->worker->failures, r->failures, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->worker->busy_ns, (uint64_t)spent, memory_order_relaxed);
    atomic_fetch_add_explicit(&batch->queue->worker_payloads, r->outcomes, memory_order_relaxed);
    guildhall_histogram_add(&batch->queue->runs, spent);
}

size_t guildhall_run(guildhall_batch *batch, size_t from, size_t to, int64_t until, guildhall_worker_slot *worker, size_t *skipped)
{
    run r = {.batch = batch, .worker = worker, .next = from, .to = to, .notified = from, .looked = from, .until = until,
             .skipped = skipped ? *skipped : GUILDHALL_NO_INDEX, .stage = Qnil,
             .stride = guildhall_payloads_between_looks(look_after_ns, guildhall_batch_cost(batch))};
    int64_t began = guildhall_now();
    while (r.next < r.to && !r.stopped) {
        rb_protect(pool_run_payloads, (VALUE)&r, &r.state);
        if (r.state) pool_run_handle_exception(&r);
    }
    guildhall_batch_notify(batch, r.notified, r.next);
    if (skipped) *skipped = r.skipped;
    pool_run_record_stats(&r, began);
    /* Native decoders allocate with malloc: make the collector look at how much that was. */
    if (batch->runnable->decoder && r.outcomes * batch->bytes >= malloc_noticed) ruby_xfree(ruby_xmalloc(1));
    return r.next;
}

/* ---- callers that run payloads, and give way to other threads */

static VALUE pool_run_yield_turn(VALUE nothing)
{
    rb_thread_schedule();
    return nothing;
}

static int64_t pool_run_turn_ns(const guildhall_fair_queue *queue)
{
    return atomic_load_explicit(&queue->yielding, memory_order_relaxed) > 0 ? GUILDHALL_SHORT_SPAN_NS : GUILDHALL_SPAN_NS;
}

/* Does not wait for the end of Ruby's time slice of 100 ms. */
void guildhall_give_way(guildhall_fair_queue *queue)
{
    int64_t turn = pool_run_turn_ns(queue), now = turn == GUILDHALL_SHORT_SPAN_NS ? guildhall_now() : guildhall_coarse_now();
    if (now - atomic_load_explicit(&queue->yielded_at, memory_order_relaxed) < turn) return;
    atomic_fetch_add(&queue->yielding, 1);
    int state = 0;
    rb_protect(pool_run_yield_turn, Qnil, &state);
    atomic_fetch_sub(&queue->yielding, 1);
    atomic_store_explicit(&queue->yielded_at, guildhall_now(), memory_order_relaxed);
    if (state) rb_jump_tag(state);
}

void guildhall_help_run_some(guildhall_batch *batch)
{
    guildhall_fair_queue *queue = batch->queue;
    bool parallel = atomic_load(&batch->parallel), settled = parallel || !guildhall_decision_may_change(batch->decision);
    int64_t until = guildhall_now() + (settled ? pool_run_turn_ns(queue) : GUILDHALL_SHORT_SPAN_NS);
    size_t from, count, next = 0, skipped = GUILDHALL_NO_INDEX;
    do {
        count = parallel ? guildhall_batch_slice_size(batch) : batch->size;
        count = guildhall_batch_take(batch, count, &from);
        if (count) next = guildhall_run(batch, from, from + count, until, NULL, &skipped);
        if (count && next < from + count) guildhall_batch_rewind(batch, next);
    } while (count && parallel && guildhall_now() < until);
    if (skipped != GUILDHALL_NO_INDEX) guildhall_batch_rewind(batch, skipped);
    guildhall_batch_measure(batch);
    if (parallel && guildhall_batch_unclaimed(batch)) {
        size_t idle = atomic_load(&queue->idle_workers), all = atomic_load(&queue->worker_count), busy = all > idle ? all - idle : 0;
        if (busy < guildhall_fair_queue_workers_for(batch)) guildhall_fair_queue_wake(queue, 1);
    }
    guildhall_give_way(queue);
}
