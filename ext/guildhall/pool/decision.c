/* Is this batch worth handing over to workers? Where its cost is not known it is, because a wrong guess costs one slice. */
#include "fair_queue.h"

/* How much work is worth another thread: two hand-overs, and what a batch costs its caller besides. */
static const double hand_overs = 2, least_ns = 6e4;
static const int64_t trial_ns = 50000000; /* so long does a caller wait for workers that are busy with other batches */

static double pool_decision_hand_over_ns(guildhall_fair_queue *queue)
{
    double ns = hand_overs * (double)atomic_load_explicit(&queue->handover_ns, memory_order_relaxed);
    return ns > least_ns ? ns : least_ns;
}

bool guildhall_worth_spreading(guildhall_fair_queue *queue, double work_ns) { return work_ns > pool_decision_hand_over_ns(queue); }

/* When callers contend for the GVL, workers help all of them, so skip trials: keep a batch inline only if workers are at least twice as
 * slow. Skip them also for a batch that is not read at once, because nobody measures it. */
static bool pool_decision_spreads(guildhall_fair_queue *queue, const guildhall_cost *cost, bool reading)
{
    bool crowded = atomic_load_explicit(&queue->yielding, memory_order_relaxed) > 0;
    if (!crowded) return reading ? guildhall_cost_spreads(cost) : cost->ways.best;
    return cost->ways.best || cost->ways.cost[GUILDHALL_SPREAD] < 2 * cost->ways.cost[GUILDHALL_ALONE];
}

guildhall_decision guildhall_decide(guildhall_fair_queue *queue, const guildhall_runnable *task, size_t bytes, size_t count, bool reading)
{
    if (count > 0 && guildhall_code_untried(task->code)) return GUILDHALL_PARALLEL_UNKNOWN;
    if (count <= (reading ? 1 : 0)) return GUILDHALL_INLINE_SMALL;
    double cost = guildhall_cost_read(guildhall_cost_find(&queue->costs, task->code->number, bytes, 0));
    if (cost > 0 && !guildhall_worth_spreading(queue, cost * (double)count)) return GUILDHALL_INLINE_SMALL;
    if (cost <= 0) return GUILDHALL_PARALLEL_UNKNOWN;
    bool faster = pool_decision_spreads(queue, guildhall_cost_find(&queue->costs, task->code->number, bytes, count), reading);
    return faster ? GUILDHALL_PARALLEL_WORTHWHILE : GUILDHALL_INLINE_SLOWER;
}

size_t guildhall_parallelism_for(guildhall_fair_queue *queue, double work_ns, bool reading)
{
    size_t workers = atomic_load(&queue->worker_count), most = reading && workers < queue->processors ? workers + 1 : workers;
    double threads = 1 + work_ns / pool_decision_hand_over_ns(queue);
    return work_ns <= 0 || threads > (double)most ? most : (size_t)threads;
}

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
