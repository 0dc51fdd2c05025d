/* Guildhall::Pool::FairQueue in Ruby. */
#include "pool_fair_queue.h"
#include "pool_generation.h"
#include <ruby/ractor.h>
#include "init.h"

static const int64_t first_handover_ns = 100000; /* a guess, until one was measured */
/* A worker looks out for the next batch for as long as a caller takes to make one of the last one's results, if it does
 * little with them; being woken takes it longer than that. */
static const int spins_between_batches = 16000;

static void mark_line(const guildhall_source *source)
{
    rb_gc_mark(source->name);
    for (const guildhall_batch *batch = source->first; batch; batch = batch->next) rb_gc_mark(batch->self);
}

static void queue_mark(void *data)
{
    guildhall_fair_queue *queue = data;
    if (queue->generation != guildhall_generation()) return; /* nobody takes anything from it any more */
    /* Nobody collects garbage while holding the lock; a walk over all objects may come at any time. */
    pthread_mutex_lock(&queue->lock);
    const guildhall_source *source = queue->last;
    if (source) do {
        mark_line(source);
        source = source->next;
    } while (source != queue->last);
    pthread_mutex_unlock(&queue->lock);
}

static void queue_free(void *data)
{
    guildhall_fair_queue *queue = data;
    guildhall_source *source = queue->last ? queue->last->next : NULL;
    while (source) {
        guildhall_source *next = source == queue->last ? NULL : source->next;
        free(source);
        source = next;
    }
    if (queue->generation == guildhall_generation()) {
        guildhall_waitlist_destroy(&queue->workers);
        guildhall_waitlist_destroy(&queue->space);
        guildhall_waitlist_destroy(&queue->attention);
        pthread_mutex_destroy(&queue->lock);
    }
    ruby_xfree(queue);
}

static size_t queue_memsize(const void *data)
{
    return sizeof(guildhall_fair_queue);
}

static const rb_data_type_t queue_type = {
    "Guildhall::Pool::FairQueue",
    {queue_mark, queue_free, queue_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_fair_queue *guildhall_fair_queue_of(VALUE object)
{
    return rb_check_typeddata(object, &queue_type);
}

/* FairQueue.build(capacity in payloads, processors) */
static VALUE queue_build(VALUE class, VALUE capacity, VALUE processors)
{
    size_t room = NUM2SIZET(capacity), cores = NUM2SIZET(processors);
    guildhall_fair_queue *queue;
    VALUE self = TypedData_Make_Struct(class, guildhall_fair_queue, &queue_type, queue);
    queue->self = self;
    queue->generation = guildhall_generation();
    queue->capacity = room;
    queue->processors = cores;
    pthread_mutex_init(&queue->lock, NULL);
    guildhall_waitlist_init(&queue->workers);
    guildhall_waitlist_init(&queue->space);
    guildhall_waitlist_init(&queue->attention);
    atomic_store(&queue->handover_ns, first_handover_ns);
    queue->worker_patience = (guildhall_patience){spins_between_batches, 0, spins_between_batches};
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

guildhall_crew guildhall_fair_queue_crew(guildhall_fair_queue *queue, size_t workers, bool reading)
{
    size_t hands = reading && workers > 0 && workers < queue->processors ? workers + 1 : workers;
    return (guildhall_crew){hands, atomic_load(&queue->handover_ns), reading, atomic_load(&queue->yielding) > 0};
}

/* pays?(batch, workers, whether the caller is to read it at once): whether the batch would be faster on them. */
static VALUE queue_pays(VALUE self, VALUE object, VALUE workers, VALUE reading)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    guildhall_batch *batch = guildhall_batch_of(object);
    guildhall_crew crew = guildhall_fair_queue_crew(queue, NUM2SIZET(workers), RTEST(reading));
    guildhall_choice choice = guildhall_profile_choose(batch->profile, batch->size, batch->bytes, &crew);
    guildhall_profile_chosen(batch->profile, batch->size, batch->bytes, &crew);
    batch->level = choice.level;
    if (!choice.settled) atomic_store(&batch->learned, true);
    batch->hands = guildhall_hands_of(batch->level, crew.hands);
    batch->reading = RTEST(reading);
    return batch->level > 0 ? Qtrue : Qfalse;
}

/* What statistics call a source. Workers pass the queue on, so it must not lead to what is not shareable. */
static VALUE name_of(VALUE source)
{
    if (rb_ractor_shareable_p(source)) return source;
    return rb_ractor_make_shareable(rb_str_new_frozen(rb_obj_as_string(source)));
}

/* push(batch, source or nil, slices a turn, whether callers are to keep off it) → false when there is no room */
static VALUE queue_push(VALUE self, VALUE object, VALUE source, VALUE weight, VALUE workers_only)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    guildhall_batch *batch = guildhall_batch_of(object);
    batch->workers_only = RTEST(workers_only);
    if (batch->level == 0) { /* nobody asked what pays */
        batch->hands = atomic_load(&queue->seated);
        batch->level = GUILDHALL_FORCED;
    }
    uint64_t key = NIL_P(source) ? (uint64_t)(uintptr_t)batch : NUM2ULL(rb_hash(source)) << 1 | 1;
    return guildhall_fair_queue_push(queue, batch, key, name_of(source), NUM2UINT(weight)) ? Qtrue : Qfalse;
}

static VALUE queue_return(VALUE self, VALUE batch)
{
    guildhall_fair_queue_return(guildhall_fair_queue_of(self), guildhall_batch_of(batch));
    return self;
}

static VALUE queue_close(VALUE self)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_mutex_unlock(&queue->lock);
    guildhall_waitlist_wake_all(&queue->workers);
    guildhall_waitlist_wake_all(&queue->space);
    guildhall_fair_queue_call(queue, GUILDHALL_CALL_LOOK);
    return self;
}

static VALUE queue_wake_workers(VALUE self)
{
    guildhall_waitlist_wake_all(&guildhall_fair_queue_of(self)->workers);
    return self;
}

static int called(void *context)
{
    return atomic_load(&((guildhall_fair_queue *)context)->calls) != 0;
}

/* attend(seconds or nil) → what the coordinator is called for, as bits; 0 when the time was up */
static VALUE queue_attend(VALUE self, VALUE timeout)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    guildhall_wait(&queue->attention, called, queue, guildhall_deadline(timeout));
    return UINT2NUM(atomic_exchange(&queue->calls, 0));
}

static VALUE queue_call(VALUE self)
{
    guildhall_fair_queue_call(guildhall_fair_queue_of(self), GUILDHALL_CALL_LOOK);
    return self;
}

typedef struct {
    guildhall_fair_queue *queue;
    size_t payloads;
} room;

static int roomy(void *context)
{
    const room *wanted = context;
    return guildhall_fair_queue_has_room(wanted->queue, wanted->payloads) || wanted->queue->closed;
}

/* wait_for_room(payloads, seconds or nil): blocks until there seems to be room for so many. False at the deadline. */
static VALUE queue_wait_for_room(VALUE self, VALUE payloads, VALUE timeout)
{
    room wanted = {guildhall_fair_queue_of(self), NUM2SIZET(payloads)};
    return guildhall_wait(&wanted.queue->space, roomy, &wanted, guildhall_deadline(timeout)) ? Qtrue : Qfalse;
}

static VALUE queue_saturated(VALUE self)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    return atomic_load(&queue->payloads) >= queue->capacity ? Qtrue : Qfalse;
}

static VALUE queue_payloads(VALUE self)
{
    return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->payloads));
}

static VALUE queue_batches(VALUE self)
{
    return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->batches));
}

static VALUE queue_idle(VALUE self)
{
    return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->idle));
}

static VALUE queue_seated(VALUE self)
{
    return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->seated));
}

/* How many workers there should be: while there are none, readers wait for them, unless this is 0. */
static VALUE queue_set_staff(VALUE self, VALUE count)
{
    atomic_store(&guildhall_fair_queue_of(self)->staff, NUM2SIZET(count));
    return count;
}

static VALUE queue_inflight(VALUE self)
{
    return SIZET2NUM(atomic_load(&guildhall_fair_queue_of(self)->inflight));
}

static VALUE queue_handover(VALUE self)
{
    return DBL2NUM((double)atomic_load(&guildhall_fair_queue_of(self)->handover_ns) / 1e9);
}

/* Whether the process was forked since: its workers are elsewhere. */
static VALUE queue_inherited(VALUE self)
{
    return guildhall_fair_queue_of(self)->generation == guildhall_generation() ? Qfalse : Qtrue;
}

/* Whether the coordinator is to be called for every slice. */
static VALUE queue_want_slices(VALUE self, VALUE wanted)
{
    atomic_store(&guildhall_fair_queue_of(self)->slices_wanted, RTEST(wanted));
    return wanted;
}

/* [payloads run by callers, by workers, results that came too late] */
static VALUE queue_counts(VALUE self)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    return rb_ary_new_from_args(3, ULL2NUM(atomic_load(&queue->inlined_payloads)),
                                ULL2NUM(atomic_load(&queue->worker_payloads)), ULL2NUM(atomic_load(&queue->late_results)));
}

static VALUE quantile(const guildhall_histogram *histogram, VALUE share)
{
    return DBL2NUM(guildhall_histogram_quantile(histogram, NUM2DBL(share)) / 1e9);
}

/* Seconds that a share of the batches stayed in line, at most. */
static VALUE queue_wait_quantile(VALUE self, VALUE share)
{
    return quantile(&guildhall_fair_queue_of(self)->waits, share);
}

/* Seconds that a share of the slices took, at most. */
static VALUE queue_run_quantile(VALUE self, VALUE share)
{
    return quantile(&guildhall_fair_queue_of(self)->runs, share);
}

/* [[source, payloads], …] of the sources that have work in line; batches without a source count as one. */
static VALUE queue_depths(VALUE self)
{
    enum { MOST = 512 };
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    VALUE names[MOST];
    size_t payloads[MOST], count = 0;
    pthread_mutex_lock(&queue->lock);
    const guildhall_source *source = queue->last;
    if (source) do {
        names[count] = source->name;
        payloads[count++] = source->payloads;
        source = source->next;
    } while (source != queue->last && count < MOST);
    pthread_mutex_unlock(&queue->lock);
    VALUE depths = rb_ary_new_capa((long)count);
    for (size_t i = 0; i < count; i++) rb_ary_push(depths, rb_assoc_new(names[i], SIZET2NUM(payloads[i])));
    return depths;
}

void guildhall_init_pool_fair_queue(VALUE pool)
{
    VALUE queue = rb_define_class_under(pool, "FairQueue", rb_cObject);
    rb_undef_alloc_func(queue);
    rb_define_singleton_method(queue, "build", queue_build, 2);
    rb_define_method(queue, "pays?", queue_pays, 3);
    rb_define_method(queue, "push", queue_push, 4);
    rb_define_method(queue, "return", queue_return, 1);
    rb_define_method(queue, "close", queue_close, 0);
    rb_define_method(queue, "wake_workers", queue_wake_workers, 0);
    rb_define_method(queue, "attend", queue_attend, 1);
    rb_define_method(queue, "call", queue_call, 0);
    rb_define_method(queue, "wait_for_room", queue_wait_for_room, 2);
    rb_define_method(queue, "saturated?", queue_saturated, 0);
    rb_define_method(queue, "payloads", queue_payloads, 0);
    rb_define_method(queue, "batches", queue_batches, 0);
    rb_define_method(queue, "idle", queue_idle, 0);
    rb_define_method(queue, "seated", queue_seated, 0);
    rb_define_method(queue, "staff=", queue_set_staff, 1);
    rb_define_method(queue, "inflight", queue_inflight, 0);
    rb_define_method(queue, "handover", queue_handover, 0);
    rb_define_method(queue, "inherited?", queue_inherited, 0);
    rb_define_method(queue, "want_slices", queue_want_slices, 1);
    rb_define_method(queue, "counts", queue_counts, 0);
    rb_define_method(queue, "wait_quantile", queue_wait_quantile, 1);
    rb_define_method(queue, "run_quantile", queue_run_quantile, 1);
    rb_define_method(queue, "depths", queue_depths, 0);
}
