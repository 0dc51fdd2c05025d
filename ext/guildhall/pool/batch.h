/* A batch: payloads, and one slot a payload for its outcome. Workers and callers claim payloads, run them, and publish
 * what came out; a slot changes hands by compare-and-swap only, so that every payload has exactly one outcome however
 * many claim, abandon or repeat it. docs/native_code.md has the states of a slot, and what each flag means. */
#ifndef GUILDHALL_POOL_BATCH_H
#define GUILDHALL_POOL_BATCH_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <guildhall/records.h>
#include <guildhall/sharing.h>
#include "cost_model.h"
#include "runnable.h"
#include "waiting/waiter.h"

/* Special constants that Ruby does not use: no object is ever equal to one of them. */
enum {
    GUILDHALL_SLOT_UNSET = 0x124,
    GUILDHALL_SLOT_RUNNING = 0x224,
    GUILDHALL_SLOT_AGAIN = 0x324,
    GUILDHALL_SLOT_RUNNING_AGAIN = 0x424
};

#define GUILDHALL_NO_INDEX SIZE_MAX

/* Where a batch is run, and why. In the order of Guildhall::Pool::Decision::ALL. */
typedef enum {
    GUILDHALL_INLINE_SMALL,        /* handing it over would take longer */
    GUILDHALL_INLINE_SLOWER,       /* workers were slower, as measured */
    GUILDHALL_INLINE_SATURATED,
    GUILDHALL_INLINE_QUEUE_CLOSED, /* the pool shuts down or rests; or the process was just forked */
    GUILDHALL_INLINE_FORCED,       /* parallel: false */
    GUILDHALL_INLINE_MODE,         /* GUILDHALL_INLINE, Pool.inline */
    GUILDHALL_INLINE_NO_WORKERS,
    GUILDHALL_INLINE_BREAKER_OPEN,
    GUILDHALL_INLINE_MAIN_ONLY,    /* the task says so */
    GUILDHALL_PARALLEL_UNKNOWN,    /* no worker has run its code yet, or it is not known what that costs */
    GUILDHALL_PARALLEL_WORTHWHILE,
    GUILDHALL_PARALLEL_OVERDUE,    /* begun inline, and took longer than expected */
    GUILDHALL_PARALLEL_FORCED,     /* parallel: true */
    GUILDHALL_DECISIONS
} guildhall_decision;

/* Whether it was made by what is known of the code, not by a setting or by the state of the pool. */
static inline bool guildhall_decision_may_change(guildhall_decision decision)
{
    return decision == GUILDHALL_INLINE_SMALL || decision == GUILDHALL_INLINE_SLOWER ||
           (decision >= GUILDHALL_PARALLEL_UNKNOWN && decision <= GUILDHALL_PARALLEL_OVERDUE);
}

struct guildhall_source;
struct guildhall_fair_queue;

typedef struct guildhall_batch {
    VALUE self;                 /* the Batch: it keeps alive what is below, and is kept alive while anyone else holds this one */
    _Atomic size_t holders;     /* the Batch, the line that it stands in, each worker with a slice of it */
    unsigned dispatched;        /* the process (its generation) that has it in its list of dispatched batches; 0: none */
    struct guildhall_batch *earlier, *later; /* in that list (batch.c) */
    unsigned generation;        /* of the process that dispatched it */
    VALUE runnable_object;
    guildhall_runnable *runnable;
    VALUE *payloads;
    VALUE *metadata;            /* NULL: none */
    _Atomic VALUE *slots;
    size_t size;
    size_t bytes;               /* the payloads' mean size, estimated */
    bool records;               /* payloads are objects with `raw_payload`, and are their own metadata */
    const guildhall_records *in_place; /* where the records' bytes lie; NULL: `raw_payload` has to be called */
    _Atomic bool reading;       /* its caller reads it at once, and runs slices too */
    guildhall_decision decision;
    size_t parallelism;               /* threads that it makes work for */
    bool retry;                 /* run once more what a worker died with */
    int64_t deadline_ns;        /* for one payload on a worker; 0: none */
    size_t slice;               /* payloads a claim, fixed by the caller; 0: as it pays */

    _Atomic size_t cursor;      /* the next payload to claim; the slots have the last word */
    _Atomic size_t done, failed;
    guildhall_waitlist readers;
    _Atomic size_t wanted;      /* the index that a reader waits for, or several, or none */
    _Atomic uint32_t item_readers;
    _Atomic bool watched;       /* a reader wants to be notified of its completion */
    _Atomic bool suspicious;    /* a worker died of one of these, or two readers did: callers leave them to workers */
    _Atomic bool abandoned;     /* a worker was, at the deadline: callers, who have none, leave all of it to workers */

    _Atomic bool parallel;      /* given to workers; else the reader of a payload runs it */
    _Atomic bool reader_only;          /* its reader has found that workers do not make it faster: they take no more of it */
    bool alone;                 /* no other batch was in flight when it was queued, so its time may be compared */
    _Atomic bool reached;       /* a worker has it */
    _Atomic size_t workers;     /* that run a slice of it now */
    int64_t lined_up_at;
    guildhall_cost *cost;       /* of one payload: see guildhall_batch_known_cost */
    uint64_t cost_key;
    _Atomic int64_t run_ns;     /* time that all threads spent running `run_payloads` payloads */
    _Atomic size_t run_payloads;
    int64_t measured_at;        /* when its reader measured last; `measured_done` payloads were done then */
    size_t measured_done;
    size_t read;                /* outcomes below this index are opened; what a reader spends on that is measured */

    VALUE queue_object;
    struct guildhall_fair_queue *queue;
    /* Owned by the queue, under its lock. */
    struct guildhall_batch *next;
    struct guildhall_source *source; /* NULL: not in line */
    uint64_t source_key;
    VALUE source_name;
    unsigned weight;                 /* slices a turn of its source */
} guildhall_batch;

/* A line or a worker that uses the struct counts as a holder, beside the Batch. The last holder frees it. */
void guildhall_batch_hold(guildhall_batch *);
void guildhall_batch_let_go(guildhall_batch *);
/* The list of batches that workers may have: see the end of batch.c. */
void guildhall_dispatched_add(guildhall_batch *);
void guildhall_dispatched_remove(guildhall_batch *);
void guildhall_init_dispatched(void);
guildhall_batch *guildhall_batch_of(VALUE object);
/* What may be given to a worker: frozen Strings go as they are, others are copied, because what belongs to the caller is
 * never frozen. Where each Ractor has a collector of its own, plain Strings are not shared: workers read their bytes. Raises
 * NotShareableError naming the path to what cannot be shared. */
VALUE guildhall_dispatchable(VALUE payload, long index);
/* A payload's bytes where they lie, for as long as the batch is held; NULL: it has none that may be read there. Without the GVL. */
const uint8_t *guildhall_batch_bytes(const guildhall_batch *, size_t index, size_t *length);
/* Of a few of them. */
size_t guildhall_mean_bytes(VALUE payloads, bool records);
/* A batch of what is in the Array, which begins with `done` outcomes instead of payloads. */
VALUE guildhall_batch_continue(VALUE queue, VALUE runnable, VALUE outcomes, size_t done, size_t failed, size_t bytes);
/* Whether what is left of a batch that its reader runs alone is to be spread over workers. */
bool guildhall_batch_spreads(guildhall_batch *);
/* In the main Ractor, with the GVL: callers leave what is left to workers, because of `suspicious` or `abandoned`. Rewind comes after it. */
void guildhall_batch_leave_to_workers(guildhall_batch *, _Atomic bool *flag);
/* Records what was done since the last call, for the comparison of running inline and on workers. */
void guildhall_batch_measure(guildhall_batch *);

/* To be called after the Batch has come to refer to an object. Where each Ractor has a collector of its own, workers are other Ractors than
 * the Batch's, which looks at it in each of its collections instead. */
static inline void guildhall_batch_refers(const guildhall_batch *batch, VALUE object)
{
    if (!GUILDHALL_COLLECTOR_PER_RACTOR) RB_OBJ_WRITTEN(batch->self, Qundef, object);
}

static inline bool guildhall_outcome_p(VALUE slot)
{
    return slot != GUILDHALL_SLOT_UNSET && slot != GUILDHALL_SLOT_RUNNING && slot != GUILDHALL_SLOT_AGAIN &&
           slot != GUILDHALL_SLOT_RUNNING_AGAIN;
}

static inline VALUE guildhall_batch_slot(const guildhall_batch *batch, size_t index)
{
    return atomic_load_explicit(&batch->slots[index], memory_order_acquire);
}

/* Whether the payload waits for somebody to run it. */
static inline bool guildhall_batch_available(const guildhall_batch *batch, size_t index)
{
    VALUE slot = guildhall_batch_slot(batch, index);
    return slot == GUILDHALL_SLOT_UNSET || slot == GUILDHALL_SLOT_AGAIN;
}

static inline bool guildhall_batch_complete(const guildhall_batch *batch)
{
    return atomic_load_explicit(&batch->done, memory_order_acquire) == batch->size;
}

/* How many payloads nobody has taken off the cursor. */
static inline size_t guildhall_batch_unclaimed(const guildhall_batch *batch)
{
    size_t cursor = atomic_load_explicit(&batch->cursor, memory_order_relaxed);
    return cursor < batch->size ? batch->size - cursor : 0;
}

/* Takes up to `count` payloads off the cursor. Returns how many, 0 when none are left; *from is the first. */
size_t guildhall_batch_take(guildhall_batch *, size_t count, size_t *from);
/* Puts the cursor back, and the batch in line, so that what is unset from `index` on is found again. */
void guildhall_batch_rewind(guildhall_batch *, size_t index);
/* Claims one payload. Returns the mark the slot now has, to be given back on publish or release; 0: not available. */
VALUE guildhall_batch_claim(guildhall_batch *, size_t index);
/* With the GVL. Whether the outcome became the payload's outcome. Nobody is woken: see notify. */
bool guildhall_batch_publish(guildhall_batch *, size_t index, VALUE mark, VALUE outcome, bool failure);
/* What is in the slot; a transfer that a worker has left becomes an object. With the GVL of the Ractor that the batch belongs to. */
VALUE guildhall_batch_read(guildhall_batch *, size_t index);
/* Gives back a claimed payload that was not run to its end; rewind comes after it. */
void guildhall_batch_release(guildhall_batch *, size_t index, VALUE mark, VALUE to);
/* With the GVL. Wakes all threads that wait for an outcome between from and to, or for completion. */
void guildhall_batch_notify(guildhall_batch *, size_t from, size_t to);
/* Blocks until the payload (GUILDHALL_NO_INDEX: more than `beyond` of them) has an outcome. 0 at the deadline. */
int guildhall_batch_wait(guildhall_batch *, size_t index, size_t beyond, int64_t deadline);
/* What is known of one payload's cost; NULL: the table has given that entry to other code since. */
static inline guildhall_cost *guildhall_batch_known_cost(const guildhall_batch *batch)
{
    return batch->cost->key == batch->cost_key ? batch->cost : NULL;
}

/* Nanoseconds a payload: as measured in this batch, else in earlier ones; 0: not known. */
double guildhall_batch_cost(const guildhall_batch *);
/* How many payloads to claim at once, so that a slice is worth taking and leaves some for others. */
size_t guildhall_batch_slice_size(const guildhall_batch *);

#endif
