/* The line of batches of each source, and the turns that sources take. */
#include "fair_queue.h"

enum { SOURCES_AHEAD = 4, HISTOGRAM_BUCKETS = sizeof(guildhall_histogram) / sizeof(uint64_t) };

bool guildhall_fair_queue_lock(guildhall_fair_queue *queue)
{
    if (guildhall_fair_queue_forked(queue)) return false;
    pthread_mutex_lock(&queue->lock);
    return true;
}

void guildhall_fair_queue_unlock(guildhall_fair_queue *queue) { pthread_mutex_unlock(&queue->lock); }

/* A batch that is its own source is the only one: nobody looks for that source. False: no memory. */
static bool pool_fair_queue_enqueue(guildhall_fair_queue *queue, guildhall_batch *batch)
{
    guildhall_source **place = NIL_P(batch->source_name) ? NULL : guildhall_sources_place_of(&queue->sources, batch->source_key);
    guildhall_source *source = place ? *place : NULL;
    if (!source) {
        source = guildhall_sources_join(&queue->sources, batch->source_key, place);
        if (!source) return false;
        source->weight = source->turns = batch->weight;
    }
    guildhall_batch_hold(batch);
    batch->source = source;
    batch->next = NULL;
    if (source->last) source->last->next = batch;
    else source->first = batch;
    source->last = batch;
    source->payloads += batch->size;
    atomic_fetch_add(&queue->payloads, batch->size);
    atomic_fetch_add(&queue->batches, 1);
    return true;
}

/* Takes the source's first batch out: nothing of it is left to claim. */
static void pool_fair_queue_dequeue_first(guildhall_fair_queue *queue, guildhall_source *source)
{
    guildhall_batch *batch = source->first;
    source->first = batch->next;
    if (!source->first) source->last = NULL;
    batch->next = NULL;
    batch->source = NULL;
    source->payloads -= batch->size;
    atomic_fetch_sub(&queue->payloads, batch->size);
    atomic_fetch_sub(&queue->batches, 1);
    guildhall_batch_let_go(batch);
}

void guildhall_fair_queue_wake(guildhall_fair_queue *queue, size_t workers)
{
    atomic_thread_fence(memory_order_seq_cst); /* a worker that is not on the list yet will look at the line again */
    size_t asleep = guildhall_waitlist_count(&queue->workers), idle = atomic_load(&queue->idle_workers);
    size_t awake = idle > asleep ? idle - asleep : 0; /* about to look once more, at least before they sleep */
    for (size_t i = awake; i < workers && i < awake + asleep; i++) guildhall_waitlist_wake_one(&queue->workers);
}

/* More workers than there are slices, or work, would only be in the way. */
size_t guildhall_fair_queue_workers_for(const guildhall_batch *batch)
{
    size_t slice = guildhall_batch_slice_size(batch), slices = (batch->size + slice - 1) / slice;
    size_t threads = atomic_load(&batch->reading) && batch->parallelism > 1 ? batch->parallelism - 1 : batch->parallelism;
    return slices < threads ? slices : threads;
}

bool guildhall_fair_queue_has_workers(const guildhall_fair_queue *queue)
{
    return atomic_load(&queue->target_worker_count) > 0 && (atomic_load(&queue->worker_count) > 0 || !atomic_load(&queue->closed));
}

bool guildhall_fair_queue_has_room(const guildhall_fair_queue *queue, size_t payloads)
{
    size_t waiting = atomic_load(&queue->payloads);
    return waiting == 0 || waiting + payloads <= queue->capacity;
}

bool guildhall_fair_queue_push(guildhall_fair_queue *queue, guildhall_batch *batch)
{
    if (atomic_load(&batch->parallel)) return true; /* several of its readers came to spread it */
    if (guildhall_batch_complete(batch)) return false; /* it would never be taken off those in flight */
    batch->lined_up_at = batch->measured_at = guildhall_now();
    batch->measured_done = atomic_load(&batch->done);
    double work = batch->decision == GUILDHALL_PARALLEL_FORCED ? 0 : guildhall_batch_cost(batch) * (double)batch->size;
    batch->parallelism = guildhall_parallelism_for(queue, work, atomic_load(&batch->reading));
    guildhall_dispatched_add(batch);
    if (!guildhall_fair_queue_lock(queue)) return false;
    bool room = !atomic_load(&queue->closed) && guildhall_fair_queue_has_room(queue, batch->size);
    if (room) {
        /* One may still be on its way back from the batch before. */
        bool ready = atomic_load(&queue->idle_workers) * 2 >= atomic_load(&queue->worker_count) && atomic_load(&queue->yielding) == 0;
        batch->alone = atomic_fetch_add(&queue->inflight, 1) == 0 && ready;
        atomic_store(&batch->parallel, true);
        room = pool_fair_queue_enqueue(queue, batch);
        if (!room) {
            atomic_store(&batch->parallel, false);
            atomic_fetch_sub(&queue->inflight, 1);
        }
        bool shortest = queue->shortest_deadline_ns == 0 || batch->deadline_ns < queue->shortest_deadline_ns;
        if (room && batch->deadline_ns && shortest) queue->shortest_deadline_ns = batch->deadline_ns;
    }
    guildhall_fair_queue_unlock(queue);
    if (!room) return false;
    if (batch->deadline_ns) guildhall_fair_queue_summon(queue);
    guildhall_fair_queue_wake(queue, guildhall_fair_queue_workers_for(batch));
    return true;
}

/* Forgets it when nothing is in flight. Under the lock, which a push holds: not one that comes just now. */
int64_t guildhall_fair_queue_shortest_deadline(guildhall_fair_queue *queue)
{
    if (!guildhall_fair_queue_lock(queue)) return 0;
    if (atomic_load(&queue->inflight) == 0) queue->shortest_deadline_ns = 0;
    int64_t shortest = queue->shortest_deadline_ns;
    guildhall_fair_queue_unlock(queue);
    return shortest;
}

void guildhall_fair_queue_return(guildhall_fair_queue *queue, guildhall_batch *batch)
{
    if (!guildhall_fair_queue_lock(queue)) return;
    bool absent = !queue->dissolved && !batch->source && guildhall_batch_unclaimed(batch);
    if (absent && !pool_fair_queue_enqueue(queue, batch)) atomic_store(&batch->reader_only, true); /* no memory: workers cannot find it */
    guildhall_fair_queue_unlock(queue);
    guildhall_fair_queue_wake(queue, 1);
}

void guildhall_fair_queue_dissolve(guildhall_fair_queue *queue)
{
    if (!guildhall_fair_queue_lock(queue)) return;
    size_t waiting = atomic_load(&queue->payloads);
    queue->dissolved = true;
    while (queue->sources.last) {
        guildhall_source *source = queue->sources.last->next;
        while (source->first) pool_fair_queue_dequeue_first(queue, source);
        guildhall_sources_leave(&queue->sources);
    }
    atomic_store(&queue->payloads, waiting);
    guildhall_fair_queue_unlock(queue);
}

static void pool_fair_queue_assign(guildhall_worker_slot *worker, guildhall_batch *batch, size_t from, size_t count)
{
    atomic_store(&worker->from, from);
    atomic_store(&worker->to, from + count);
    atomic_store(&worker->position, GUILDHALL_NO_INDEX);
    guildhall_batch_hold(batch);
    atomic_store(&worker->batch, batch);
    atomic_fetch_add(&batch->workers, 1);
    atomic_fetch_sub(&worker->queue->idle_workers, 1);
    atomic_fetch_add_explicit(&worker->slices, 1, memory_order_relaxed);
}

/* Whether a batch whose turn is soon lacks a worker: the thread that queued it may have counted on one that was awake, but took another
 * batch. */
static bool pool_fair_queue_needs_worker(const guildhall_fair_queue *queue)
{
    const guildhall_source *source = queue->sources.last;
    for (int looks = 0; source && looks < SOURCES_AHEAD; looks++) {
        source = source->next;
        const guildhall_batch *batch = source->first;
        if (atomic_load(&batch->workers) < guildhall_fair_queue_workers_for(batch)) return true;
        if (source == queue->sources.last) break;
    }
    return false;
}

bool guildhall_fair_queue_take(guildhall_fair_queue *queue, guildhall_worker_slot *worker)
{
    bool taken = false;
    if (atomic_load(&queue->batches) == 0 || !guildhall_fair_queue_lock(queue)) return false;
    while (!taken && queue->sources.last) {
        guildhall_source *source = queue->sources.last->next;
        guildhall_batch *batch = source->first;
        size_t from, slice = atomic_load(&batch->reader_only) ? 0 : guildhall_batch_slice_size(batch);
        size_t count = slice ? guildhall_batch_take(batch, slice, &from) : 0;
        taken = count > 0;
        if (taken) pool_fair_queue_assign(worker, batch, from, count);
        if (atomic_load(&batch->reader_only) || !guildhall_batch_unclaimed(batch)) {
            pool_fair_queue_dequeue_first(queue, source);
            worker->room_made = true;
        }
        if (!source->first) {
            guildhall_sources_leave(&queue->sources);
        } else if (taken && --source->turns == 0) { /* the next source's turn */
            source->turns = source->weight;
            queue->sources.last = source;
        }
    }
    worker->others_wanted = taken && pool_fair_queue_needs_worker(queue);
    guildhall_fair_queue_unlock(queue);
    return taken;
}

guildhall_batch *guildhall_fair_queue_batch_of(guildhall_worker_slot *worker)
{
    if (!guildhall_fair_queue_lock(worker->queue)) return NULL;
    guildhall_batch *batch = atomic_load(&worker->batch);
    if (batch) guildhall_batch_hold(batch);
    guildhall_fair_queue_unlock(worker->queue);
    return batch;
}

void guildhall_fair_queue_leave_slice(guildhall_worker_slot *worker)
{
    if (!guildhall_fair_queue_lock(worker->queue)) return;
    guildhall_batch *batch = atomic_exchange(&worker->batch, NULL);
    guildhall_fair_queue_unlock(worker->queue);
    if (!batch) return;
    atomic_fetch_sub(&batch->workers, 1);
    guildhall_batch_let_go(batch);
}

void guildhall_fair_queue_summon(guildhall_fair_queue *queue)
{
    atomic_store(&queue->summoned, true);
    guildhall_waitlist_wake_all(&queue->attention);
}

/* ---- how durations are distributed */

static unsigned pool_fair_queue_bucket_of(uint64_t value)
{
    if (value < 4) return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    unsigned bucket = (power - 1) * 4 + ((value >> (power - 2)) & 3);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* Half-way between the bucket's limits. */
static double pool_fair_queue_middle_of(unsigned bucket)
{
    if (bucket < 4) return bucket;
    unsigned power = bucket / 4 + 1;
    return (double)(4 + bucket % 4) * (double)(1ULL << (power - 2)) * 1.125;
}

void guildhall_histogram_add(guildhall_histogram *histogram, int64_t nanoseconds)
{
    unsigned bucket = pool_fair_queue_bucket_of(nanoseconds > 0 ? (uint64_t)nanoseconds : 0);
    atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
}

double guildhall_histogram_quantile(const guildhall_histogram *histogram, double share)
{
    uint64_t total = 0, seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) total += atomic_load(&histogram->counts[i]);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS && total; i++) {
        seen += atomic_load(&histogram->counts[i]);
        if ((double)seen >= share * (double)total) return pool_fair_queue_middle_of(i);
    }
    return 0;
}
