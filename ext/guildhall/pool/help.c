/* See help.h. */
#include "help.h"
#include "fair_queue.h"
#include "run.h"

static const int64_t trial_ns = 50000000; /* so long does a caller wait for workers that are busy with other batches */

bool guildhall_help_on_trial(const guildhall_batch *batch)
{
    if (!atomic_load(&batch->parallel) || !guildhall_code_untried(batch->runnable->code)) return false;
    bool begun = atomic_load(&batch->reached) || guildhall_now() - batch->lined_up_at < trial_ns;
    return begun && guildhall_fair_queue_has_workers(batch->queue);
}

bool guildhall_help_wanted(guildhall_batch *batch, bool stalled)
{
    guildhall_fair_queue *queue = batch->queue;
    size_t idle = atomic_load(&queue->idle_workers), worker_count = atomic_load(&queue->worker_count);
    if (atomic_load(&batch->reader_only) || !guildhall_fair_queue_has_workers(queue)) return true;
    if (batch->decision == GUILDHALL_PARALLEL_FORCED || atomic_load(&batch->suspicious) || atomic_load(&batch->abandoned)) return false;
    /* One thread more than there are processors keeps the others waiting, all of them whenever garbage is collected. */
    if (idle < worker_count && worker_count - idle >= queue->processors) return idle == 0 && stalled;
    if (idle == 0) return true;
    /* A caller that runs payloads holds the GVL, so other callers cannot dispatch theirs: it stops helping, and wakes a worker instead. */
    if (atomic_load(&batch->reading) && atomic_load(&queue->yielding) > 0) {
        atomic_store(&batch->reading, false);
        guildhall_fair_queue_wake(queue, 1);
    }
    if (stalled) guildhall_fair_queue_wake(queue, worker_count); /* those that have the batch may be busy with a dearer payload */
    return atomic_load(&batch->reading);
}

static VALUE pool_help_yield_turn(VALUE nothing)
{
    rb_thread_schedule();
    return nothing;
}

static int64_t pool_help_turn_ns(const guildhall_fair_queue *queue)
{
    return atomic_load_explicit(&queue->yielding, memory_order_relaxed) > 0 ? GUILDHALL_SHORT_SPAN_NS : GUILDHALL_SPAN_NS;
}

/* Does not wait for the end of Ruby's time slice of 100 ms. */
void guildhall_give_way(guildhall_fair_queue *queue)
{
    int64_t turn = pool_help_turn_ns(queue), now = turn == GUILDHALL_SHORT_SPAN_NS ? guildhall_now() : guildhall_coarse_now();
    if (now - atomic_load_explicit(&queue->yielded_at, memory_order_relaxed) < turn) return;
    atomic_fetch_add(&queue->yielding, 1);
    int state = 0;
    rb_protect(pool_help_yield_turn, Qnil, &state);
    atomic_fetch_sub(&queue->yielding, 1);
    atomic_store_explicit(&queue->yielded_at, guildhall_now(), memory_order_relaxed);
    if (state) rb_jump_tag(state);
}

static void pool_help_call_missing_worker(const guildhall_batch *batch)
{
    guildhall_fair_queue *queue = batch->queue;
    size_t idle = atomic_load(&queue->idle_workers), all = atomic_load(&queue->worker_count), busy = all > idle ? all - idle : 0;
    if (busy < guildhall_fair_queue_workers_for(batch)) guildhall_fair_queue_wake(queue, 1);
}

void guildhall_help_run_some(guildhall_batch *batch)
{
    bool parallel = atomic_load(&batch->parallel), settled = parallel || !guildhall_decision_may_change(batch->decision);
    int64_t until = guildhall_now() + (settled ? pool_help_turn_ns(batch->queue) : GUILDHALL_SHORT_SPAN_NS);
    size_t from, count, next = 0, skipped = GUILDHALL_NO_INDEX;
    do {
        count = parallel ? guildhall_batch_slice_size(batch) : batch->size;
        count = guildhall_batch_take(batch, count, &from);
        if (count) next = guildhall_run(batch, from, from + count, until, NULL, &skipped);
        if (count && next < from + count) guildhall_batch_rewind(batch, next);
    } while (count && parallel && guildhall_now() < until);
    if (skipped != GUILDHALL_NO_INDEX) guildhall_batch_rewind(batch, skipped);
    guildhall_batch_measure(batch);
    if (parallel && guildhall_batch_any_unclaimed(batch)) pool_help_call_missing_worker(batch);
    guildhall_give_way(batch->queue);
}
