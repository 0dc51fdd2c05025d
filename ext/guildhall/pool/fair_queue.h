/* The work that waits for workers: batches, in line behind others of their source; sources take turns, a slice each.
 * Workers take slices themselves. All of it is guarded by one lock that is held for some ten instructions, and never
 * while Ruby could run, so that no thread waits long for it. */
#ifndef GUILDHALL_POOL_FAIR_QUEUE_H
#define GUILDHALL_POOL_FAIR_QUEUE_H

#include <pthread.h>
#include "batch.h"
#include "sources.h"

/* How durations are distributed: a counter for each quarter of a power of two of nanoseconds, added to from any Ractor. */
typedef struct {
    _Atomic uint64_t counts[160];
} guildhall_histogram;

typedef struct guildhall_fair_queue {
    unsigned generation;           /* of the process that made it */
    pthread_mutex_t lock;
    guildhall_sources sources;
    size_t capacity;               /* payloads that may wait; beyond it the pool is saturated */
    size_t processors;
    _Atomic bool closed;           /* read without the lock */
    bool dissolved;                /* no worker will take anything any more; under the lock */
    _Atomic size_t payloads, batches;
    _Atomic size_t worker_count, idle_workers;   /* workers; those of them that look for work */
    _Atomic size_t target_worker_count;          /* workers that there should be */
    _Atomic int64_t handover_ns;
    _Atomic int64_t yielded_at;    /* when a caller last gave up the GVL */
    _Atomic size_t yielding;       /* callers that have, and wait for their next turn or for outcomes */
    guildhall_patience worker_patience, reader_patience;
    guildhall_waitlist workers;
    guildhall_waitlist space;      /* callers that wait for room */
    guildhall_waitlist attention;  /* the supervisor */
    guildhall_waitlist stopping;   /* callers that wait until nothing is in flight, or until no worker is left */
    _Atomic bool summoned;         /* the supervisor is */
    _Atomic size_t inflight;       /* parallel batches that are not complete */
    int64_t shortest_deadline_ns;  /* of those, for one payload; 0: none has one. Under the lock */
    _Atomic bool slices_wanted;    /* somebody subscribes to slices: workers tell of each */
    _Atomic uint64_t decisions[GUILDHALL_DECISIONS]; /* how often each was made */
    guildhall_cost_model costs;    /* written in the main Ractor, but for payloads' costs */
    _Atomic uint64_t inlined_payloads, worker_payloads, late_results;
    guildhall_histogram waits, runs; /* of batches until their first slice; of slices */
} guildhall_fair_queue;

/* What a worker is doing now, and what it has done. The worker writes; the supervisor and callers of Pool#stats read, from other
 * Ractors. A slot outlives its worker until the supervisor has recovered the slice that was left in it. */
typedef struct guildhall_worker_slot {
    VALUE queue_object;
    guildhall_fair_queue *queue;
    _Atomic(guildhall_batch *) batch; /* the slice's, held; NULL between slices. Under the queue's lock, but for its worker */
    _Atomic size_t from, to;          /* the slice */
    _Atomic size_t position;          /* the payload being run; GUILDHALL_NO_INDEX: none */
    _Atomic VALUE mark;               /* that payload's mark in its slot */
    _Atomic int64_t payload_since;    /* when it was begun, and so its name; kept only where the batch has a deadline */
    _Atomic int64_t slice_since;
    _Atomic bool retired;             /* given up, or one too many: leave instead of taking another slice */
    _Atomic bool claimed;             /* by its worker; or by the thread that could not start one */
    _Atomic bool exited;              /* the worker is gone */
    _Atomic bool uncounted;           /* it is no more among the queue's workers */
    bool others_wanted;               /* whether, when the slice was taken, another batch lacked a worker; only its worker reads it */
    bool room_made;                   /* whether its last look at the line took a batch out; only its worker reads it */
    _Atomic uint64_t slices, payloads, failures, busy_ns;
} guildhall_worker_slot;

guildhall_fair_queue *guildhall_fair_queue_of(VALUE object);
/* Whether the process was forked since: workers, and what is in line for them, are the parent's. Whoever waited for the queue when a
 * trap handler forked goes on in the child, and must not wait for it there. */
static inline bool guildhall_fair_queue_forked(const guildhall_fair_queue *queue)
{
    return queue->generation != guildhall_fork_generation();
}
/* False in a child process, where it is not taken: a thread of the parent may have held it at the fork. */
bool guildhall_fair_queue_lock(guildhall_fair_queue *);
void guildhall_fair_queue_unlock(guildhall_fair_queue *);
/* Whether there are workers, or will be in a moment. Those that are to leave after their slice do not count: it may be endless. */
bool guildhall_fair_queue_has_workers(const guildhall_fair_queue *);
/* Whether there is room for this number of payloads. A batch alone may be larger than the capacity. */
bool guildhall_fair_queue_has_room(const guildhall_fair_queue *, size_t payloads);
/* With the GVL. False: no room, closed, of the parent process, or the batch is complete. True also where workers have it already. */
bool guildhall_fair_queue_push(guildhall_fair_queue *, guildhall_batch *);
/* The shortest deadline of the batches in flight, in nanoseconds; 0: none has one. */
int64_t guildhall_fair_queue_shortest_deadline(guildhall_fair_queue *);
/* Queues a batch again after its cursor was put back, unless it is still in the queue. */
void guildhall_fair_queue_return(guildhall_fair_queue *, guildhall_batch *);
/* All workers are to leave, and none will come: no batch is in line from now on, so that those that nobody reads can be freed. They stay
 * counted as waiting. */
void guildhall_fair_queue_dissolve(guildhall_fair_queue *);
/* The next slice, for this worker, which holds its batch from then on. False when nothing waits. Does not block. Where that has taken a
 * batch out of the line, the worker is to wake those that wait for `space`. */
bool guildhall_fair_queue_take(guildhall_fair_queue *, guildhall_worker_slot *);
/* The batch of this worker's slice, held for the caller, who is another thread; NULL: none, or the parent's. */
guildhall_batch *guildhall_fair_queue_batch_of(guildhall_worker_slot *);
/* The slice is done, or was recovered. */
void guildhall_fair_queue_leave_slice(guildhall_worker_slot *);
/* With the GVL. Makes sure that this number of workers look for work, or all idle ones where there are fewer. */
void guildhall_fair_queue_wake(guildhall_fair_queue *, size_t workers);
/* How many workers a batch is meant for, beside its caller where that one reads it at once. */
size_t guildhall_fair_queue_workers_for(const guildhall_batch *);
/* Summons the supervisor: it looks at once. With the GVL. */
void guildhall_fair_queue_summon(guildhall_fair_queue *);
void guildhall_histogram_add(guildhall_histogram *, int64_t nanoseconds);
/* The duration that this share of all samples stays below, in nanoseconds, 12 % too long at most; 0: no samples. */
double guildhall_histogram_quantile(const guildhall_histogram *, double share);

/* ---- where payloads run (decision.c). In the main Ractor, with the GVL */

/* Decides where a batch runs: `count` payloads of about `bytes` bytes. `reading`: the caller waits for it, and can run payloads too.
 * Code that no worker has run yet always goes to a worker first: that is its trial. */
guildhall_decision guildhall_decide(guildhall_fair_queue *, const guildhall_runnable *, size_t bytes, size_t count, bool reading);
/* Whether this much work is worth a hand-over to workers. */
bool guildhall_worth_spreading(guildhall_fair_queue *, double work_ns);
/* How many threads the work is enough for, the caller and the workers together; 0: its cost is not known. */
size_t guildhall_parallelism_for(guildhall_fair_queue *, double work_ns, bool reading);
/* Whether a batch's caller should still wait for a worker to run the first payload: none has run its code yet. */
bool guildhall_help_on_trial(const guildhall_batch *);
/* Whether a caller is to run payloads that are in line for workers. `stalled`: it has waited for some, in vain. */
bool guildhall_help_wanted(guildhall_batch *, bool stalled);

/* ---- the loop that the payloads of batches go through (run.c) */

/* How long a caller runs payloads before other threads get their turn. */
#define GUILDHALL_SPAN_NS 5000000
#define GUILDHALL_SHORT_SPAN_NS 500000 /* where others are known to wait */

/* How many payloads of that cost to run between two looks at the clock, which are to be `every_ns` apart. */
static inline size_t guildhall_payloads_between_looks(double every_ns, double cost_ns)
{
    const double most = 64; /* what was cheap may become dear */
    double payloads = every_ns / (cost_ns + 1);
    return payloads < 1 ? 1 : (size_t)(payloads > most ? most : payloads);
}

/* Runs payloads in the Ractor that calls: a worker with its slice, or a caller (`worker` is NULL) that reads payloads that have not run
 * yet. Runs those from `from` to `to` (without it) that are available, until the clock says `until` (0: no limit). What a payload raises
 * becomes its Failure; what ends the thread goes on to do so, with the payload released (caller) or left in the slot (worker). *skipped
 * becomes the least index that a caller leaves to workers, if there is any. Returns the index of the first payload not looked at. */
size_t guildhall_run(guildhall_batch *, size_t from, size_t to, int64_t until, guildhall_worker_slot *worker, size_t *skipped);
/* In a caller: runs payloads for some milliseconds at most. May raise what interrupts the thread. */
void guildhall_help_run_some(guildhall_batch *);
/* Releases the GVL for a moment, if that was not done lately. May raise what interrupts the thread. */
void guildhall_give_way(guildhall_fair_queue *);

#endif
