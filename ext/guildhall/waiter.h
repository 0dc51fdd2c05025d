/* Parking: how a thread of any Ractor waits until something that another Ractor does becomes true, without polling, and
 * without stopping the other Ractors of the process.
 *
 * A waitlist stands beside the lock-free structure that is waited on. The structure itself never takes a lock; only a
 * thread that found it empty (or full) takes the waitlist's mutex. The protocol:
 *
 *   waiter: append itself to the list, full fence, attempt again, park, leave the list, attempt again
 *   waker:  change the structure, full fence, look at the list's count, wake the first
 *
 * Of the two fences at least one comes after the other, so either the attempt sees the change or the waker sees the
 * waiter. A waker claims exactly one waiter; one that was claimed but leaves for another reason (its attempt succeeded, an
 * exception interrupted it) passes the wake on, so that none is lost.
 */
#ifndef GUILDHALL_WAITER_H
#define GUILDHALL_WAITER_H

#include <ruby.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct guildhall_waiter;

typedef struct guildhall_waitlist {
    _Atomic size_t count; /* how many are in the list; read without the mutex by wakers */
    pthread_mutex_t mutex;
    struct guildhall_waiter *first, *last;
} guildhall_waitlist;

/* Returns non-zero once what is waited for has been done (an item taken, say). Runs with the GVL and must not raise,
 * allocate or block. */
typedef int (*guildhall_attempt)(void *context);

void guildhall_waitlist_init(guildhall_waitlist *list);
void guildhall_waitlist_destroy(guildhall_waitlist *list);
size_t guildhall_waitlist_count(const guildhall_waitlist *list);

/* Call after the change that a waiter may be waiting for. Costs a fence and a load while nobody waits. With the GVL. */
void guildhall_waitlist_wake_one(guildhall_waitlist *list);
void guildhall_waitlist_wake_all(guildhall_waitlist *list);

/* Blocks the calling thread, of any Ractor, until attempt(context) succeeds or the deadline passes. Returns 1 when the
 * attempt has succeeded, 0 at the deadline. Raises what interrupts the thread; then the attempt has not succeeded.
 * deadline: as guildhall_now counts, 0 for none. */
int guildhall_wait(guildhall_waitlist *list, guildhall_attempt attempt, void *context, int64_t deadline);

/* Nanoseconds of the monotonic clock. */
int64_t guildhall_now(void);

/* A timeout in seconds (Integer, Float, Rational; nil: none) as a deadline. Raises TypeError for what is no number and
 * ArgumentError for one below 0. */
int64_t guildhall_deadline(VALUE timeout);

#endif
