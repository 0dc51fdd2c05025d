/* A worker's slot: what it is doing now, seen from outside, and what it has done. The worker writes; the supervisor
 * and callers of Pool#stats read, from other Ractors. A slot outlives its worker until the supervisor has
 * looked after the slice that was left in it. */
#ifndef GUILDHALL_POOL_WORKER_SLOT_H
#define GUILDHALL_POOL_WORKER_SLOT_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "batch.h"

#define GUILDHALL_NO_POSITION SIZE_MAX

enum { GUILDHALL_SLICE_RECORDS = 256 }; /* kept for the supervisor; it may be late */

typedef struct {
    size_t from, count;
    int64_t nanoseconds;
} guildhall_slice_record;

typedef struct guildhall_worker_slot {
    VALUE queue_object;
    struct guildhall_fair_queue *queue;
    _Atomic(guildhall_batch *) batch; /* the slice's, held; NULL between slices. Under the queue's lock, but for its worker */
    _Atomic size_t from, to;          /* the slice */
    _Atomic size_t position;          /* the payload being run; GUILDHALL_NO_POSITION: none */
    _Atomic VALUE mark;               /* that payload's mark in its slot */
    _Atomic int64_t payload_since;    /* when it was begun, and so its name; kept only where the batch has a deadline */
    _Atomic int64_t slice_since;
    _Atomic bool retired;             /* given up, or one too many: leave instead of taking another slice */
    _Atomic bool claimed;             /* by its worker; or by the thread that could not start one */
    _Atomic bool exited;                /* the worker is gone */
    _Atomic bool uncounted;           /* it is no more among the queue's workers */
    bool others_wanted;               /* when the slice was taken; the worker's own */
    _Atomic uint64_t slices, payloads, failures, busy_ns;
    guildhall_slice_record records[GUILDHALL_SLICE_RECORDS]; /* written by the worker, read by the supervisor */
    _Atomic size_t recorded, reported;
} guildhall_worker_slot;

/* Running payloads in the Ractor that calls: a worker with its slice, or a caller that reads payloads that have not run yet. Runs
 * those from `from` to `to` (without it) that are available, until the clock says `until` (0: no limit). `worker` is NULL in a
 * caller. What a payload raises becomes its Failure; what ends the thread goes on to do so, with the payload released (caller) or
 * left in the slot (worker). *skipped becomes the least index that a caller leaves to workers, if there is any. Returns the index
 * of the first payload not looked at. */
size_t guildhall_run(guildhall_batch *, size_t from, size_t to, int64_t until, guildhall_worker_slot *worker, size_t *skipped);

#endif
