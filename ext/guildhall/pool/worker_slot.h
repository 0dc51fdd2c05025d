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
    _Atomic VALUE batch;              /* the slice's batch; nil between slices */
    _Atomic size_t from, to;          /* the slice */
    _Atomic size_t position;          /* the payload being run; GUILDHALL_NO_POSITION: none */
    _Atomic VALUE mark;               /* that payload's mark in its slot */
    _Atomic int64_t payload_since;    /* when it was begun, and so its name; kept only where the batch has a deadline */
    _Atomic int64_t slice_since;
    _Atomic bool abandoned;           /* by the supervisor: stop at the next payload */
    _Atomic bool retired;             /* there are too many workers: leave instead of taking another slice */
    _Atomic bool claimed;             /* by its worker; or by the thread that could not start one */
    _Atomic bool exited;                /* the worker is gone */
    _Atomic bool uncounted;           /* it is no more among the queue's workers */
    bool others_wanted;               /* when the slice was taken; the worker's own */
    _Atomic uint64_t slices, payloads, failures, busy_ns;
    guildhall_slice_record records[GUILDHALL_SLICE_RECORDS]; /* written by the worker, read by the supervisor */
    _Atomic size_t recorded, reported;
} guildhall_worker_slot;

guildhall_worker_slot *guildhall_worker_slot_of(VALUE object);

#endif
