/* The loop that the payloads of batches go through. One rb_protect serves all payloads up to the next one that raises. */
#include "pool_run.h"
#include "pool_fair_queue.h"
#include "pool_task.h"
#include <time.h>

enum { MOST_BETWEEN_LOOKS = 64 };         /* payloads */
static const double look_after_ns = 2.5e5; /* how often to look at the clock and to wake readers */

static const size_t malloc_noticed = 16 * 1024; /* bytes decoded */

static ID id_raw_payload;

typedef struct {
    guildhall_batch *batch;
    guildhall_seat *seat;
    size_t next, to, notified, looked, skipped;
    int64_t until;
    VALUE mark;         /* of the payload being run; 0: none */
    VALUE stage;        /* nil, or that of the native decoder while it runs */
    size_t outcomes, failures, stride;
    bool stopped;
} run;

/* Tells what was done so far to those who wait for it; looks whether it is time to stop. */
static void look_up(run *r)
{
    guildhall_batch_notify(r->batch, r->notified, r->next);
    r->notified = r->next;
    r->looked = r->next;
    if (r->until && guildhall_now() >= r->until) r->stopped = true;
}

static void publish(run *r, VALUE outcome, bool failure)
{
    VALUE mark = r->mark;
    r->mark = 0;
    r->stage = Qnil;
    if (r->seat) atomic_store_explicit(&r->seat->position, GUILDHALL_NO_POSITION, memory_order_relaxed);
    if (guildhall_batch_publish(r->batch, r->next, mark, outcome, failure)) {
        r->outcomes++;
        r->failures += failure;
    }
    else {
        /* Its worker was given up, and nobody would notice if it got stuck again. */
        if (r->seat) r->stopped = true;
        atomic_fetch_add_explicit(&r->batch->queue->late_results, 1, memory_order_relaxed);
    }
    r->next++;
}

static VALUE bytes_of(const run *r, VALUE payload)
{
    VALUE bytes = r->batch->envelopes ? rb_funcallv(payload, id_raw_payload, 0, NULL) : payload;
    return RB_TYPE_P(bytes, T_STRING) && !OBJ_FROZEN(bytes) ? rb_str_new_frozen(bytes) : bytes;
}

static VALUE metadata_of(const run *r, VALUE payload)
{
    if (r->batch->envelopes) return payload;
    return r->batch->metadata ? r->batch->metadata[r->next] : Qnil;
}

/* What a worker has died of must not be tried in a caller's thread: another worker does, if there will be one. */
static void leave_to_workers(run *r)
{
    if (!guildhall_fair_queue_staffed(r->batch->queue) && (r->mark = guildhall_batch_claim(r->batch, r->next))) {
        publish(r, guildhall_task_deadly(r->next), true);
        return;
    }
    if (r->skipped == GUILDHALL_ALL) r->skipped = r->next;
    r->next++;
}

static void run_one(run *r)
{
    if (!r->seat && guildhall_batch_slot(r->batch, r->next) == GUILDHALL_SLOT_AGAIN) {
        leave_to_workers(r);
        return;
    }
    r->mark = guildhall_batch_claim(r->batch, r->next);
    if (!r->mark) {
        r->next++;
        return;
    }
    if (r->seat) {
        atomic_store_explicit(&r->seat->mark, r->mark, memory_order_relaxed);
        if (r->batch->deadline_ns) atomic_store(&r->seat->payload_since, guildhall_now());
        atomic_store_explicit(&r->seat->position, r->next, memory_order_release);
    }
    VALUE payload = r->batch->payloads[r->next];
    bool failed = false;
    VALUE outcome = guildhall_task_call(r->batch->profile, bytes_of(r, payload), metadata_of(r, payload), r->next, &r->stage, &failed);
    publish(r, outcome, failed);
}

/* The clock to look at after every payload, because one may take a thousand times as long as was expected: it stands still
 * for some milliseconds, but costs next to nothing. */
static bool overtime(const run *r)
{
    struct timespec now;
    if (!r->until) return false;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec >= r->until;
}

static VALUE run_on(VALUE argument)
{
    run *r = (run *)argument;
    while (r->next < r->to && !r->stopped) {
        run_one(r);
        if (overtime(r)) r->stopped = true;
        rb_thread_check_ints(); /* also where others wait to collect garbage, which nobody can while this one runs */
        if (r->next - r->looked >= r->stride) look_up(r);
    }
    return Qnil;
}

static void release(run *r)
{
    VALUE before = r->mark == GUILDHALL_SLOT_RUNNING ? GUILDHALL_SLOT_UNSET : GUILDHALL_SLOT_AGAIN;
    if (r->mark) guildhall_batch_release(r->batch, r->next, r->mark, before);
    guildhall_batch_rewind(r->batch, r->skipped < r->next ? r->skipped : r->next);
    guildhall_batch_notify(r->batch, r->notified, r->next);
}

static VALUE settle_deadly(VALUE argument)
{
    run *r = (run *)argument;
    publish(r, guildhall_task_deadly(r->next), true);
    return Qnil;
}

/* What came out of rb_protect becomes the payload's Failure, or goes on to where it was meant for. A task that ends its
 * reader's thread would end the next reader's, too; a worker's last payload is the coordinator's. */
static void land(run *r, int state)
{
    int trouble = 0;
    bool deadly = r->mark && !r->seat && guildhall_task_ends_thread() && !guildhall_batch_native(r->batch);
    VALUE failure = r->mark ? guildhall_task_failure(r->next, r->stage, !r->seat, &state) : Qundef;
    if (failure == Qundef) {
        if (deadly) rb_protect(settle_deadly, (VALUE)r, &trouble);
        if (!r->seat) release(r);
        rb_jump_tag(state);
    }
    publish(r, failure, true);
}

static void account(const run *r, int64_t began)
{
    int64_t spent = guildhall_now() - began;
    guildhall_batch *batch = r->batch;
    if (r->outcomes && r->failures < r->outcomes) {
        guildhall_estimate *cost = &batch->profile->cost[guildhall_byte_class(batch->bytes)];
        guildhall_estimate_add(cost, (double)spent / (double)r->outcomes);
    }
    if (!r->seat) {
        atomic_fetch_add_explicit(&batch->inlined_ns, spent, memory_order_relaxed);
        atomic_fetch_add_explicit(&batch->queue->inlined_payloads, r->outcomes, memory_order_relaxed);
        return;
    }
    atomic_fetch_add_explicit(&r->seat->payloads, r->outcomes, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->seat->failures, r->failures, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->seat->busy_ns, (uint64_t)spent, memory_order_relaxed);
    atomic_fetch_add_explicit(&batch->queue->worker_payloads, r->outcomes, memory_order_relaxed);
    guildhall_histogram_add(&batch->queue->runs, spent);
}

static size_t payloads_between_looks(const guildhall_batch *batch)
{
    double stride = look_after_ns / guildhall_profile_cost(batch->profile, batch->bytes);
    return stride < 1 ? 1 : stride > MOST_BETWEEN_LOOKS ? MOST_BETWEEN_LOOKS : (size_t)stride;
}

size_t guildhall_run(guildhall_batch *batch, size_t from, size_t to, int64_t until, guildhall_seat *seat)
{
    run r = {.batch = batch, .seat = seat, .next = from, .to = to, .notified = from, .looked = from, .skipped = GUILDHALL_ALL, .until = until,
             .stage = Qnil, .stride = payloads_between_looks(batch)};
    int64_t began = guildhall_now();
    int64_t nobody = 0;
    atomic_compare_exchange_strong(&batch->started_at, &nobody, began);
    while (r.next < r.to && !r.stopped) {
        int state = 0;
        rb_protect(run_on, (VALUE)&r, &state);
        if (state) land(&r, state);
    }
    guildhall_batch_notify(batch, r.notified, r.next);
    if (r.skipped != GUILDHALL_ALL) guildhall_batch_rewind(batch, r.skipped);
    account(&r, began);
    /* Native decoders allocate with malloc; this is where the GC looks at how much that was. */
    if (batch->profile->decoder && r.outcomes * batch->bytes >= malloc_noticed) ruby_xfree(ruby_xmalloc(1));
    return r.next;
}

void guildhall_init_pool_run(void)
{
    id_raw_payload = rb_intern("raw_payload");
}
