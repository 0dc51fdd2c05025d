/* Running payloads in the Ractor that calls: a worker with its slice, or a caller that reads payloads that have not run yet. */
#ifndef GUILDHALL_POOL_RUN_H
#define GUILDHALL_POOL_RUN_H

#include "batch.h"
#include "worker_slot.h"

/* Runs the payloads from `from` to `to` (without it) that are available, until the clock says `until` (0: no limit).
 * `worker` is NULL in a caller. What a payload raises becomes its Failure; what ends the thread goes on to do so, with
 * the payload released (caller) or left in the slot (worker). *skipped becomes the least index that a caller leaves to workers, if there
 * is any. Returns the index of the first payload not looked at. */
size_t guildhall_run(guildhall_batch *, size_t from, size_t to, int64_t until, guildhall_worker_slot *worker, size_t *skipped);
void guildhall_init_pool_run(void);

#endif
