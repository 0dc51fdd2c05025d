/* Guildhall::Pool::FairQueue in Ruby. */
#include "fair_queue.h"
#include <ruby/ractor.h>
#include <stdlib.h>
#include "init.h"

static const int64_t first_handover_ns = 100000; /* a guess, until one was measured */
/* How long a worker spins for the next batch before it sleeps: about as long as a caller that does little with results takes
 * to dispatch the next one. Waking a worker takes longer. */
static const int spins_between_batches = 16000;

static void pool_fair_queue_free(void *data)
{
    guildhall_fair_queue *queue = data;
    /* Held only in a child: a thread of the parent was changing them at the fork. */
    if (pthread_mutex_trylock(&queue->lock) == 0) {
        guildhall_sources_free(&queue->sources);
        pthread_mutex_unlock(&queue->lock);
        pthread_mutex_destroy(&queue->lock);
    }
    guildhall_waitlist_destroy(&queue->workers);
    guildhall_waitlist_destroy(&queue->space);
    guildhall_waitlist_destroy(&queue->attention);
    guildhall_waitlist_destroy(&queue->stopping);
    ruby_xfree(queue);
}

static size_t pool_fair_queue_memsize(const void *data) { return sizeof(guildhall_fair_queue); }

static const rb_data_type_t queue_type = {
    "Guildhall::Pool::FairQueue",
    {NULL, pool_fair_queue_free, pool_fair_queue_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_fair_queue *guildhall_fair_queue_of(VALUE object) { return rb_check_typeddata(object, &queue_type); }

/* FairQueue.build(capacity in payloads, processors) */
static VALUE pool_fair_queue_build(VALUE class, VALUE capacity, VALUE processors)
{
    size_t room = NUM2SIZET(capacity), cores = NUM2SIZET(processors);
    guildhall_fair_queue *queue;
    VALUE self = TypedData_Make_Struct(class, guildhall_fair_queue, &queue_type, queue);
    queue->generation = guildhall_fork_generation();
    queue->capacity = room;
    queue->processors = cores;
    pthread_mutex_init(&queue->lock, NULL);
    guildhall_waitlist_init(&queue->workers);
    guildhall_waitlist_init(&queue->space);
    guildhall_waitlist_init(&queue->attention);
    guildhall_waitlist_init(&queue->stopping);
    atomic_store(&queue->handover_ns, first_handover_ns);
    queue->worker_patience = (guildhall_patience){.spins = spins_between_batches, .most = spins_between_batches};
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

/* push(batch) → false when there is no room, nil when there never will be: the queue is closed,
 * or of the process before a fork, or the batch was made for the one before a rest, which counts it. */
static VALUE pool_fair_queue_push(VALUE self, VALUE object)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    guildhall_batch *batch = guildhall_batch_of(object);
    if (atomic_load(&queue->closed) || batch->queue != queue || guildhall_fair_queue_forked(queue)) return Qnil;
    return guildhall_fair_queue_push(queue, batch) ? Qtrue : Qfalse;
}

/* No more work is taken in; workers end when they have done what is queued. */
static VALUE pool_fair_queue_close(VALUE self)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    bool locked = guildhall_fair_queue_lock(queue);
    atomic_store(&queue->closed, true);
    if (locked) guildhall_fair_queue_unlock(queue);
    guildhall_waitlist_wake_all(&queue->workers);
    guildhall_waitlist_wake_all(&queue->space);
    guildhall_fair_queue_summon(queue);
    return self;
}

static VALUE pool_fair_queue_dissolve(VALUE self)
{
    guildhall_fair_queue_dissolve(guildhall_fair_queue_of(self));
    return self;
}

static int pool_fair_queue_supervisor_summoned(void *context) { return atomic_load(&((guildhall_fair_queue *)context)->summoned); }

/* attend(seconds or nil): blocks until the supervisor is summoned. False at the deadline. */
static VALUE pool_fair_queue_attend(VALUE self, VALUE timeout)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    guildhall_wait(&queue->attention, pool_fair_queue_supervisor_summoned, queue, guildhall_deadline(timeout));
    return atomic_exchange(&queue->summoned, false) ? Qtrue : Qfalse;
}

static VALUE pool_fair_queue_summon(VALUE self)
{
    guildhall_fair_queue_summon(guildhall_fair_queue_of(self));
    return self;
}

typedef struct {
    guildhall_fair_queue *queue;
    size_t payloads;
} room;

static int pool_fair_queue_has_room(void *context)
{
    const room *wanted = context;
    const guildhall_fair_queue *queue = wanted->queue;
    return guildhall_fair_queue_has_room(queue, wanted->payloads) || atomic_load(&queue->closed) || guildhall_fair_queue_forked(queue);
}

/* wait_for_room(payloads, seconds or nil): blocks until there seems to be room. False at the deadline. */
static VALUE pool_fair_queue_wait_for_room(VALUE self, VALUE payloads, VALUE timeout)
{
    room wanted = {guildhall_fair_queue_of(self), NUM2SIZET(payloads)};
    return guildhall_wait(&wanted.queue->space, pool_fair_queue_has_room, &wanted, guildhall_deadline(timeout)) ? Qtrue : Qfalse;
}

typedef struct {
    const guildhall_fair_queue *queue;
    const _Atomic size_t *count;
} ending;

static int pool_fair_queue_none_left(void *context)
{
    const ending *wanted = context;
    return atomic_load(wanted->count) == 0 || guildhall_fair_queue_forked(wanted->queue);
}

static VALUE pool_fair_queue_wait_for_none(guildhall_fair_queue *queue, const _Atomic size_t *count, VALUE timeout)
{
    ending wanted = {queue, count};
    return guildhall_wait(&queue->stopping, pool_fair_queue_none_left, &wanted, guildhall_deadline(timeout)) ? Qtrue : Qfalse;
}

/* wait_until_drained(seconds or nil): blocks until no batch is in flight. False at the deadline. */
static VALUE pool_fair_queue_wait_until_drained(VALUE self, VALUE timeout)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    return pool_fair_queue_wait_for_none(queue, &queue->inflight, timeout);
}

/* The same until all workers have exited, but for those that were given up. */
static VALUE pool_fair_queue_wait_until_workerless(VALUE self, VALUE timeout)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    return pool_fair_queue_wait_for_none(queue, &queue->worker_count, timeout);
}

static VALUE pool_fair_queue_payloads(VALUE self)
{
    const guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    return SIZET2NUM(guildhall_fair_queue_forked(queue) ? 0 : atomic_load(&queue->payloads));
}

static VALUE pool_fair_queue_batches(VALUE self) { return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->batches)); }
static VALUE pool_fair_queue_idle(VALUE self) { return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->idle_workers)); }
static VALUE pool_fair_queue_worker_count(VALUE self) { return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->worker_count)); }

/* While there are no workers, readers wait for them, unless this is 0. */
static VALUE pool_fair_queue_set_target_worker_count(VALUE self, VALUE count)
{
    atomic_store(&guildhall_fair_queue_of(self)->target_worker_count, NUM2SIZET(count));
    return count;
}

static VALUE pool_fair_queue_handover(VALUE self) { return DBL2NUM(atomic_load(&guildhall_fair_queue_of(self)->handover_ns) / 1e9); }

static VALUE pool_fair_queue_forked(VALUE self) { return guildhall_fair_queue_forked(guildhall_fair_queue_of(self)) ? Qtrue : Qfalse; }

static VALUE pool_fair_queue_seconds(double ns) { return ns > 0 ? DBL2NUM(ns / 1e9) : Qnil; }

/* Seconds that a payload of the batches in flight may take, at least; nil: as long as it likes. */
static VALUE pool_fair_queue_shortest_deadline(VALUE self)
{
    return pool_fair_queue_seconds((double)guildhall_fair_queue_shortest_deadline(guildhall_fair_queue_of(self)));
}

static VALUE pool_fair_queue_want_slices(VALUE self, VALUE wanted)
{
    atomic_store(&guildhall_fair_queue_of(self)->slices_wanted, RTEST(wanted));
    return wanted;
}

/* [payloads run by callers, by workers, results that came too late] */
static VALUE pool_fair_queue_counts(VALUE self)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    return rb_ary_new_from_args(3, ULL2NUM(atomic_load(&queue->inlined_payloads)),
                                ULL2NUM(atomic_load(&queue->worker_payloads)), ULL2NUM(atomic_load(&queue->late_results)));
}

/* How often each decision was made, in the order of Decision::ALL. */
static VALUE pool_fair_queue_decisions(VALUE self)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    VALUE counts = rb_ary_new_capa(GUILDHALL_DECISIONS);
    for (int i = 0; i < GUILDHALL_DECISIONS; i++) rb_ary_push(counts, ULL2NUM(atomic_load(&queue->decisions[i])));
    return counts;
}

static VALUE pool_fair_queue_decided(VALUE self, VALUE batch)
{
    atomic_fetch_add_explicit(&guildhall_fair_queue_of(self)->decisions[guildhall_batch_of(batch)->decision], 1, memory_order_relaxed);
    return batch;
}

/* What is known of the code that was run: [[code, bytes a payload, payloads a batch (both rounded; 0: one payload's cost), seconds a
 * payload, seconds a payload of such batches by the caller alone, spread, whether they are spread now], …] */
static VALUE pool_fair_queue_costs(VALUE self)
{
    VALUE rows = rb_ary_new();
    const guildhall_cost *first = guildhall_fair_queue_of(self)->costs.entries[0];
    for (const guildhall_cost *cost = first; cost < first + GUILDHALL_COST_SETS * GUILDHALL_COST_SET_SIZE; cost++) {
        if (!cost->key) continue;
        rb_ary_push(rows, rb_ary_new_from_args(7, ULL2NUM(cost->key >> 16), SIZET2NUM(guildhall_cost_middle(cost->key >> 8 & 0xff)),
                                               SIZET2NUM(guildhall_cost_middle(cost->key & 0xff)),
                                               pool_fair_queue_seconds(guildhall_cost_read(cost)),
                                               pool_fair_queue_seconds(cost->ways.cost[GUILDHALL_ALONE]),
                                               pool_fair_queue_seconds(cost->ways.cost[GUILDHALL_SPREAD]),
                                               guildhall_cost_spreads(cost) ? Qtrue : Qfalse));
    }
    return rows;
}

/* quantile(whether of slices, share): seconds that this share of the batches stayed in line, or of the slices took, at most. */
static VALUE pool_fair_queue_quantile(VALUE self, VALUE of_slices, VALUE share)
{
    const guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    return DBL2NUM(guildhall_histogram_quantile(RTEST(of_slices) ? &queue->runs : &queue->waits, NUM2DBL(share)) / 1e9);
}

/* How many sources were looked at, so far, to find those of batches that were queued. */
static VALUE pool_fair_queue_sources_compared(VALUE self)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    if (!guildhall_fair_queue_lock(queue)) return INT2FIX(0);
    uint64_t compared = queue->sources.compared;
    guildhall_fair_queue_unlock(queue);
    return ULL2NUM(compared);
}

/* [[source, payloads], …] of the sources that have work in line; batches without a source count as one. */
static VALUE pool_fair_queue_depths(VALUE self)
{
    enum { MAX_SOURCES = 512 };
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    VALUE names[MAX_SOURCES]; /* kept alive from this stack, which this Ractor's collections look at */
    size_t payloads[MAX_SOURCES], count = 0;
    if (!guildhall_fair_queue_lock(queue)) return rb_ary_new();
    const guildhall_source *source = queue->sources.last;
    if (source) do {
        names[count] = source->first->source_name;
        payloads[count++] = source->payloads;
        source = source->next;
    } while (source != queue->sources.last && count < MAX_SOURCES);
    guildhall_fair_queue_unlock(queue);
    VALUE depths = rb_ary_new_capa((long)count);
    for (size_t i = 0; i < count; i++) rb_ary_push(depths, rb_assoc_new(names[i], SIZET2NUM(payloads[i])));
    return depths;
}

/* Pool.fork_generation: another number in a child process. */
static VALUE pool_fair_queue_fork_generation(VALUE self) { return UINT2NUM(guildhall_fork_generation()); }

void guildhall_init_pool_fair_queue(VALUE pool)
{
    rb_define_singleton_method(pool, "fork_generation", pool_fair_queue_fork_generation, 0);
    VALUE queue = rb_define_class_under(pool, "FairQueue", rb_cObject);
    rb_undef_alloc_func(queue);
    rb_define_singleton_method(queue, "build", pool_fair_queue_build, 2);
    rb_define_method(queue, "push", pool_fair_queue_push, 1);
    rb_define_method(queue, "close", pool_fair_queue_close, 0);
    rb_define_method(queue, "dissolve", pool_fair_queue_dissolve, 0);
    rb_define_method(queue, "attend", pool_fair_queue_attend, 1);
    rb_define_method(queue, "summon", pool_fair_queue_summon, 0);
    rb_define_method(queue, "wait_for_room", pool_fair_queue_wait_for_room, 2);
    rb_define_method(queue, "wait_until_drained", pool_fair_queue_wait_until_drained, 1);
    rb_define_method(queue, "wait_until_workerless", pool_fair_queue_wait_until_workerless, 1);
    rb_define_method(queue, "payloads", pool_fair_queue_payloads, 0);
    rb_define_method(queue, "batches", pool_fair_queue_batches, 0);
    rb_define_method(queue, "idle", pool_fair_queue_idle, 0);
    rb_define_method(queue, "worker_count", pool_fair_queue_worker_count, 0);
    rb_define_method(queue, "target_worker_count=", pool_fair_queue_set_target_worker_count, 1);
    rb_define_method(queue, "handover", pool_fair_queue_handover, 0);
    rb_define_method(queue, "forked?", pool_fair_queue_forked, 0);
    rb_define_method(queue, "shortest_deadline", pool_fair_queue_shortest_deadline, 0);
    rb_define_method(queue, "want_slices", pool_fair_queue_want_slices, 1);
    rb_define_method(queue, "counts", pool_fair_queue_counts, 0);
    rb_define_method(queue, "decisions", pool_fair_queue_decisions, 0);
    rb_define_method(queue, "decided", pool_fair_queue_decided, 1);
    rb_define_method(queue, "costs", pool_fair_queue_costs, 0);
    rb_define_method(queue, "quantile", pool_fair_queue_quantile, 2);
    rb_define_method(queue, "depths", pool_fair_queue_depths, 0);
    rb_define_method(queue, "sources_compared", pool_fair_queue_sources_compared, 0);
}
