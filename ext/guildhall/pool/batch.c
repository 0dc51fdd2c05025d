/* The slots of a batch: claiming, publishing, waiting. */
#include "fair_queue.h"
#include <stdlib.h>
#include "transfer.h"

#define NOBODY (SIZE_MAX - 1)
#define ANY (SIZE_MAX - 2)

static const double longest_slice_ns = 1e5;  /* what a small batch may have to wait for */
static const double shortest_slice_ns = 2e4; /* some hundred times what taking it costs */
static const double exploration_share = 16;  /* an epoch of the way that may be slower takes at most a 16th of the time left */
static const int64_t nap_ns = 1000000;       /* a reader that has to sleep sleeps for about that long */

void guildhall_batch_hold(guildhall_batch *batch) { atomic_fetch_add_explicit(&batch->holders, 1, memory_order_relaxed); }

void guildhall_batch_let_go(guildhall_batch *batch)
{
    if (atomic_fetch_sub_explicit(&batch->holders, 1, memory_order_acq_rel) > 1) return;
    for (size_t i = 0; i < batch->size; i++) guildhall_transfer_drop(guildhall_batch_slot(batch, i));
    guildhall_waitlist_destroy(&batch->readers);
    free(batch);
}

const uint8_t *guildhall_batch_bytes(const guildhall_batch *batch, size_t index, size_t *length)
{
    VALUE payload = batch->payloads[index];
    if (batch->records) return batch->in_place ? batch->in_place->bytes(payload, length) : NULL;
    if (RB_SPECIAL_CONST_P(payload) || RB_BUILTIN_TYPE(payload) != T_STRING) return NULL;
    *length = (size_t)RSTRING_LEN(payload);
    return (const uint8_t *)RSTRING_PTR(payload);
}

size_t guildhall_batch_take(guildhall_batch *batch, size_t count, size_t *from)
{
    if (!guildhall_batch_unclaimed(batch)) return 0; /* keeps the cursor from running away */
    *from = atomic_fetch_add(&batch->cursor, count);
    if (*from >= batch->size) return 0;
    return batch->size - *from < count ? batch->size - *from : count;
}

void guildhall_batch_rewind(guildhall_batch *batch, size_t index)
{
    size_t cursor = atomic_load(&batch->cursor);
    while (index < cursor && !atomic_compare_exchange_weak(&batch->cursor, &cursor, index)) continue;
    /* The batch leaves the line once all of it is claimed. */
    if (atomic_load(&batch->parallel)) guildhall_fair_queue_return(batch->queue, batch);
}

VALUE guildhall_batch_claim(guildhall_batch *batch, size_t index)
{
    VALUE seen = guildhall_batch_slot(batch, index);
    VALUE mark = seen == GUILDHALL_SLOT_UNSET ? GUILDHALL_SLOT_RUNNING : GUILDHALL_SLOT_RUNNING_AGAIN;
    if (seen != GUILDHALL_SLOT_UNSET && seen != GUILDHALL_SLOT_AGAIN) return 0;
    return atomic_compare_exchange_strong(&batch->slots[index], &seen, mark) ? mark : 0;
}

bool guildhall_batch_publish(guildhall_batch *batch, size_t index, VALUE mark, VALUE outcome, bool failure)
{
    VALUE expected = mark;
    if (!atomic_compare_exchange_strong(&batch->slots[index], &expected, outcome)) {
        guildhall_transfers_gone(guildhall_transfer_size(outcome));
        guildhall_transfer_drop(outcome);
        return false;
    }
    guildhall_batch_refers(batch, outcome);
    if (failure) atomic_fetch_add_explicit(&batch->failed, 1, memory_order_relaxed);
    bool complete = atomic_fetch_add(&batch->done, 1) + 1 == batch->size;
    if (!complete || !atomic_load(&batch->parallel)) return true;
    if (atomic_fetch_sub(&batch->queue->inflight, 1) == 1) guildhall_waitlist_wake_all(&batch->queue->stopping);
    if (atomic_load(&batch->watched)) guildhall_fair_queue_summon(batch->queue);
    return true;
}

VALUE guildhall_batch_read(guildhall_batch *batch, size_t index)
{
    VALUE slot = guildhall_batch_slot(batch, index);
    if (RB_LIKELY(!guildhall_transfer_p(slot))) return slot;
    size_t length = 0;
    const uint8_t *bytes = guildhall_batch_bytes(batch, index, &length);
    VALUE object = guildhall_transfer_open(slot, batch->payloads[index], bytes, length);
    atomic_store(&batch->slots[index], object);
    guildhall_batch_refers(batch, object);
    return object;
}

void guildhall_batch_release(guildhall_batch *batch, size_t index, VALUE mark, VALUE to)
{
    VALUE expected = mark;
    atomic_compare_exchange_strong(&batch->slots[index], &expected, to);
}

void guildhall_batch_notify(guildhall_batch *batch, size_t from, size_t to)
{
    atomic_thread_fence(memory_order_seq_cst); /* pairs with the one in guildhall_batch_wait */
    if (guildhall_waitlist_count(&batch->readers) == 0) return;
    size_t wanted = atomic_load(&batch->wanted);
    if (guildhall_batch_complete(batch) || wanted == ANY || (wanted >= from && wanted < to)) {
        guildhall_waitlist_wake_all(&batch->readers);
    }
}

typedef struct {
    guildhall_batch *batch;
    size_t index, beyond; /* as guildhall_batch_wait has them */
    int64_t deadline;
    bool to_the_end;      /* waits for completion, which wakes all */
} reading;

static int pool_batch_readable(void *context)
{
    const reading *reader = context;
    if (reader->index == GUILDHALL_NO_INDEX) return atomic_load(&reader->batch->done) > reader->beyond;
    return guildhall_outcome_p(guildhall_batch_slot(reader->batch, reader->index));
}

static VALUE pool_batch_wait_until_readable(VALUE argument)
{
    reading *reader = (reading *)argument;
    guildhall_batch *batch = reader->batch;
    return guildhall_wait_as(&batch->queue->reader_patience, &batch->readers, pool_batch_readable, reader, reader->deadline);
}

/* Futures are read in one Ractor: no two of its threads are in these functions at once. */
static VALUE pool_batch_stop_waiting(VALUE argument)
{
    const reading *reader = (const reading *)argument;
    guildhall_batch *batch = reader->batch;
    atomic_fetch_sub(&batch->queue->yielding, 1);
    if (!reader->to_the_end && atomic_fetch_sub(&batch->item_readers, 1) == 1) atomic_store(&batch->wanted, NOBODY);
    return Qnil;
}

static int pool_batch_wait_for_outcome(reading *reader)
{
    guildhall_batch *batch = reader->batch;
    if (pool_batch_readable(reader)) return 1;
    if (!reader->to_the_end) {
        bool first = atomic_fetch_add(&batch->item_readers, 1) == 0;
        atomic_store(&batch->wanted, first && reader->index != GUILDHALL_NO_INDEX ? reader->index : ANY);
        atomic_thread_fence(memory_order_seq_cst); /* then guildhall_wait looks at the slot */
    }
    atomic_fetch_add(&batch->queue->yielding, 1);
    return (int)rb_ensure(pool_batch_wait_until_readable, (VALUE)reader, pool_batch_stop_waiting, (VALUE)reader);
}

/* A sleep and a wake-up cost two threads as much as some small payloads, so the reader also waits for those that follow soon. Payloads
 * are claimed in order. */
static void pool_batch_wait_for_more(const reading *reader)
{
    guildhall_batch *batch = reader->batch;
    double cost = guildhall_batch_cost(batch), left = (double)(batch->size - 1 - reader->index);
    double more = cost > 0 ? (double)nap_ns * (double)(batch->parallelism ? batch->parallelism : 1) / cost : 0;
    int64_t until = guildhall_now() + 2 * nap_ns;
    size_t further = (size_t)(more < left ? more : left);
    reading later = {batch, reader->index + further, 0, reader->deadline && reader->deadline < until ? reader->deadline : until, false};
    if (further) pool_batch_wait_for_outcome(&later);
}

int guildhall_batch_wait(guildhall_batch *batch, size_t index, size_t beyond, int64_t deadline)
{
    reading reader = {batch, index, beyond, deadline, index == GUILDHALL_NO_INDEX && beyond + 1 == batch->size};
    if (pool_batch_readable(&reader)) return 1;
    if (index != GUILDHALL_NO_INDEX) pool_batch_wait_for_more(&reader);
    return pool_batch_wait_for_outcome(&reader);
}

double guildhall_batch_cost(const guildhall_batch *batch)
{
    size_t payloads = atomic_load_explicit(&batch->run_payloads, memory_order_relaxed);
    const guildhall_cost *known = guildhall_batch_known_cost(batch);
    if (payloads == 0) return known ? guildhall_cost_read(known) : 0;
    return (double)atomic_load_explicit(&batch->run_ns, memory_order_relaxed) / (double)payloads;
}

size_t guildhall_batch_slice_size(const guildhall_batch *batch)
{
    if (batch->slice) return batch->slice;
    double cost = guildhall_batch_cost(batch), left = (double)guildhall_batch_unclaimed(batch);
    if (cost <= 0 || left < 1) return 1;
    /* Two rounds, so that all threads end at about the same time; one where other batches wait, so that this one needs fewer turns. */
    double rounds = atomic_load_explicit(&batch->queue->batches, memory_order_relaxed) > 1 ? 1 : 2;
    double share = left / (rounds * (double)(batch->parallelism ? batch->parallelism : 1));
    double shortest = shortest_slice_ns / cost, longest = longest_slice_ns / cost;
    double slice = share < shortest ? shortest : share > longest ? longest : share;
    return slice < 1 ? 1 : slice > left ? (size_t)left : (size_t)slice;
}

static guildhall_cost *pool_batch_cost_of_batches(const guildhall_batch *batch)
{
    return guildhall_cost_find(&batch->queue->costs, batch->runnable->code->number, batch->bytes, batch->size);
}

bool guildhall_batch_spreads(guildhall_batch *batch)
{
    if (atomic_load(&batch->parallel) || !guildhall_decision_may_change(batch->decision)) return false;
    return guildhall_worth_spreading(batch->queue, (double)guildhall_batch_unclaimed(batch) * guildhall_batch_cost(batch)) &&
           guildhall_cost_spreads(pool_batch_cost_of_batches(batch));
}

void guildhall_batch_leave_to_workers(guildhall_batch *batch, _Atomic bool *flag)
{
    atomic_store(flag, true);
    atomic_store(&batch->reader_only, false);
}

/* Its reader goes on alone, or no longer. Trying that out must not take more than a share of the time that is left. */
static void pool_batch_change_way(guildhall_batch *batch, const guildhall_cost *cost)
{
    bool reader_only = !guildhall_cost_spreads(cost);
    double left = (double)guildhall_batch_unclaimed(batch) * cost->ways.cost[GUILDHALL_SPREAD];
    double epoch = guildhall_cost_epoch(guildhall_batch_cost(batch));
    if (reader_only && left < exploration_share * epoch) return;
    if (atomic_exchange(&batch->reader_only, reader_only) && !reader_only) guildhall_fair_queue_return(batch->queue, batch);
}

/* Opens transfers before the clock is read: the time that a reader needs for them belongs to the cost of using workers. */
static void pool_batch_read_ahead(guildhall_batch *batch)
{
    while (batch->read < batch->size && guildhall_outcome_p(guildhall_batch_slot(batch, batch->read))) {
        guildhall_batch_read(batch, batch->read);
        batch->read++;
        rb_thread_check_ints();
    }
}

void guildhall_batch_measure(guildhall_batch *batch)
{
    size_t done = atomic_load(&batch->done), payloads = done > batch->measured_done ? done - batch->measured_done : 0;
    bool parallel = atomic_load(&batch->parallel), reader_only = atomic_load(&batch->reader_only);
    if (!guildhall_decision_may_change(batch->decision) || payloads == 0 || !atomic_load(&batch->reading)) return;
    pool_batch_read_ahead(batch); /* other threads may run: the supervisor's, say */
    if (atomic_load(&batch->suspicious) || atomic_load(&batch->abandoned)) return;
    int64_t now = guildhall_now(), ns = now - batch->measured_at;
    guildhall_cost *cost = pool_batch_cost_of_batches(batch);
    bool failing = atomic_load(&batch->failed) > done / 2;
    /* Where callers contend for the GVL, this would measure their waiting. */
    if (failing || (parallel && !batch->alone) || atomic_load(&batch->queue->yielding) > 0) {
        if (guildhall_batch_complete(batch)) guildhall_cost_unmeasured(cost);
        return;
    }
    batch->measured_at = now;
    batch->measured_done = done;
    guildhall_cost_measured(cost, parallel && !reader_only, guildhall_batch_complete(batch), ns, payloads);
    if (parallel) pool_batch_change_way(batch, cost);
}

/* ---- The list of batches that were given to workers. It marks the Batches that are held by more than their Batch object, and so keeps
 * payloads and outcomes alive.
 *
 * A Batch belongs to the Ractor that dispatches it, which is the main one. Where each Ractor has a collector of its own, neither the
 * line nor a worker can keep it alive: what a shareable object has once referred to stays until the next global collection there. So
 * workers hold the struct, and this list, which is the dispatching Ractor's, marks the Batches of those that are held. */

enum { COPIED_ON_STACK = 256 };

/* Held for some ten instructions. Where one collector stops all, any thread frees batches. */
static pthread_mutex_t dispatched_lock = PTHREAD_MUTEX_INITIALIZER;
static guildhall_batch *last_dispatched;

static void pool_batch_forget_dispatched(void)
{
    pthread_mutex_init(&dispatched_lock, NULL);
    last_dispatched = NULL; /* the parent's workers do not exist here */
}

void guildhall_dispatched_add(guildhall_batch *batch)
{
    if (GUILDHALL_COLLECTOR_PER_RACTOR) guildhall_transfers_report();
    if (batch->dispatched == guildhall_fork_generation()) return;
    pthread_mutex_lock(&dispatched_lock);
    batch->dispatched = guildhall_fork_generation();
    batch->earlier = last_dispatched;
    batch->later = NULL;
    if (last_dispatched) last_dispatched->later = batch;
    last_dispatched = batch;
    pthread_mutex_unlock(&dispatched_lock);
}

void guildhall_dispatched_remove(guildhall_batch *batch)
{
    if (batch->dispatched != guildhall_fork_generation()) return;
    pthread_mutex_lock(&dispatched_lock);
    if (batch->earlier) batch->earlier->later = batch->later;
    if (batch->later) batch->later->earlier = batch->earlier;
    else last_dispatched = batch->earlier;
    pthread_mutex_unlock(&dispatched_lock);
    batch->dispatched = 0;
}

/* Copies the Batches that are held, `room` at most. Returns how many there are. */
static size_t pool_batch_copy_held(VALUE *to, size_t room)
{
    size_t count = 0;
    pthread_mutex_lock(&dispatched_lock);
    for (const guildhall_batch *batch = last_dispatched; batch; batch = batch->earlier) {
        if (atomic_load(&batch->holders) < 2) continue;
        if (count < room) to[count] = batch->self;
        count++;
    }
    pthread_mutex_unlock(&dispatched_lock);
    return count;
}

/* Visits nothing under the lock: the visitor of a walk over all objects may collect garbage. */
static void pool_batch_mark_dispatched(void *nothing)
{
    VALUE some[COPIED_ON_STACK], *all = some;
    size_t room = COPIED_ON_STACK, count;
    while ((count = pool_batch_copy_held(all, room)) > room) {
        if (all != some) free(all);
        all = malloc((room = 2 * count) * sizeof(VALUE)); /* not Ruby's: this may be a collection */
        if (!all) rb_bug("guildhall: no memory to mark %zu batches", count);
    }
    for (size_t i = 0; i < count; i++) rb_gc_mark(all[i]);
    if (all != some) free(all);
}

/* Without write barriers: looked at in every collection. */
static const rb_data_type_t dispatched_type = {
    "Guildhall dispatched batches", {pool_batch_mark_dispatched, NULL, NULL}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

void guildhall_init_dispatched(void)
{
    pthread_atfork(NULL, NULL, pool_batch_forget_dispatched);
    rb_gc_register_mark_object(TypedData_Wrap_Struct(0, &dispatched_type, &last_dispatched)); /* no program sees it */
}
