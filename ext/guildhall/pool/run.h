/* The loop that the payloads of batches go through, in workers and in callers. */
#ifndef GUILDHALL_POOL_RUN_H
#define GUILDHALL_POOL_RUN_H

#include "fair_queue.h"

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
