/* Where a batch is run, and why. */
#ifndef GUILDHALL_POOL_DECISION_H
#define GUILDHALL_POOL_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runnable.h"

/* In the order of Guildhall::Pool::Decision::ALL. */
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

struct guildhall_fair_queue;

/* Decides where a batch runs: `count` payloads of about `bytes` bytes. `reading`: the caller waits for it, and can run payloads too.
 * Code that no worker has run yet always goes to a worker first: that is its trial. */
guildhall_decision guildhall_decide(struct guildhall_fair_queue *, const guildhall_runnable *, size_t bytes, size_t count, bool reading);
/* Whether this much work is worth a hand-over to workers. */
bool guildhall_worth_spreading(struct guildhall_fair_queue *, double work_ns);
/* How many threads the work is enough for, the caller and the workers together; 0: its cost is not known. */
size_t guildhall_parallelism_for(struct guildhall_fair_queue *, double work_ns, bool reading);

/* Whether it was made by what is known of the code, not by a setting or by the state of the pool. */
static inline bool guildhall_decision_may_change(guildhall_decision decision)
{
    return decision == GUILDHALL_INLINE_SMALL || decision == GUILDHALL_INLINE_SLOWER ||
           (decision >= GUILDHALL_PARALLEL_UNKNOWN && decision <= GUILDHALL_PARALLEL_OVERDUE);
}

#endif
