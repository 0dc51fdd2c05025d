/* Is this batch worth handing over to workers? Where its cost is not known it is, because a wrong guess costs one slice. */
#include "decision.h"
#include "fair_queue.h"

/* How much work is worth another thread: two hand-overs, and what a batch costs its caller besides. */
static const double hand_overs = 2, least_ns = 6e4;

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
