/* When a caller that reads a batch runs payloads of it, and how it gives way to other threads. In the main Ractor, with the GVL. */
#ifndef GUILDHALL_POOL_HELP_H
#define GUILDHALL_POOL_HELP_H

#include "batch.h"

/* Whether a batch's caller should still wait for a worker to run the first payload: none has run its code yet. */
bool guildhall_help_on_trial(const guildhall_batch *);
/* Whether a caller is to run payloads that are in line for workers. `stalled`: it has waited for some, in vain. */
bool guildhall_help_wanted(guildhall_batch *, bool stalled);
/* Runs payloads for some milliseconds at most. May raise what interrupts the thread. */
void guildhall_help_run_some(guildhall_batch *);
/* Releases the GVL for a moment, if that was not done lately. May raise what interrupts the thread. */
void guildhall_give_way(struct guildhall_fair_queue *);

#endif
