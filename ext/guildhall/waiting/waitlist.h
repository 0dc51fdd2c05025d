/* Who waits: a list of sleeping threads beside a lock-free structure, and the protocol by which no wake-up is lost. No Ruby
 * in it; how a thread sleeps and how it is roused is the business of a guildhall_sleeper.
 *
 * The structure itself never takes a lock; only a thread that found it empty (or full) takes the list's mutex.
 *
 *   waiter: append itself to the list, full fence, attempt again, sleep, leave the list, attempt again
 *   waker:  change the structure, full fence, look at the list's count, claim the first and rouse it
 *
 * Of the two fences one comes after the other, so either the attempt sees the change or the waker sees the waiter. A waker
 * claims exactly one waiter; one that was claimed but leaves without a further attempt (its attempt had succeeded, an
 * exception interrupted it) passes the wake on.
 */
#ifndef GUILDHALL_WAITING_WAITLIST_H
#define GUILDHALL_WAITING_WAITLIST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A waiter's state, its futex word. WAITING → CLAIMED (by a waker that still touches it) → DONE (touches it no more).
 * INTERRUPTED may be added to any, to make a sleep on the word return. */
enum { GUILDHALL_WAITING = 1, GUILDHALL_CLAIMED = 2, GUILDHALL_DONE = 3, GUILDHALL_INTERRUPTED = 8 };

struct guildhall_waiter;

typedef struct guildhall_sleeper {
    /* Sleeps until the waiter's state is no longer WAITING, or the process was forked; may return earlier. Non-zero: give up waiting. */
    int (*sleep)(struct guildhall_waiter *waiter);
    /* Ends that sleep, on the waker's thread. Must neither raise nor take a list's mutex. */
    void (*rouse)(struct guildhall_waiter *waiter, uintptr_t handle);
    /* Whether rouse may look into the waiter, which then stays until rouse has returned. Else it may be gone, and rouse
     * has nothing but its address and its handle. */
    int stays;
} guildhall_sleeper;

typedef struct guildhall_waiter {
    struct guildhall_waiter *next, *previous;
    const guildhall_sleeper *sleeper;
    uintptr_t handle;  /* what rouse needs */
    _Atomic int state;
    int linked;        /* in the list; under its mutex */
    unsigned generation; /* of the process in which it was enlisted; see guildhall_waiter_forked */
} guildhall_waiter;

/* How long it has paid to spin before sleeping; a hint, see waiter.c. */
typedef struct {
    _Atomic int spins;
    _Atomic unsigned waits;       /* since the last one that spun for longer, to find out */
    _Atomic unsigned vain;        /* how many of those, one after the other, were in vain */
    int most; /* spins; 0: as usual */
} guildhall_patience;

typedef struct guildhall_waitlist {
    _Atomic size_t count; /* how many are in the list; wakers read it without the mutex */
    _Atomic unsigned generation; /* of the process that the waiters belong to; see guildhall_waitlist_setup */
    guildhall_patience patience;
    pthread_mutex_t mutex;
    guildhall_waiter *first, *last;
} guildhall_waitlist;

typedef enum { GUILDHALL_SUCCEEDED, GUILDHALL_TRY_AGAIN, GUILDHALL_GAVE_UP } guildhall_awaited;

/* Returns non-zero once what is waited for has been done (an item taken, say). Must not raise, allocate or block. */
typedef int (*guildhall_attempt)(void *context);

/* Once a process, before any list is used: after a fork the child's lists start empty, because the waiters they name are
 * threads of the parent. `forked` is called in the child. */
void guildhall_waitlist_setup(void (*forked)(void));
/* Counts forks: what was made before the last one belongs to a process that had other threads. Its locks may be held by
 * threads that are not here, and the workers it counts on do not exist. Written in a child alone, before it has other threads. */
extern unsigned guildhall_fork_count;
static inline unsigned guildhall_fork_generation(void) { return guildhall_fork_count; }
/* Held while something of the parent's is made again: threads of the child may come upon it at once. */
void guildhall_renewal_lock(void);
void guildhall_renewal_unlock(void);

void guildhall_waitlist_init(guildhall_waitlist *list);
void guildhall_waitlist_destroy(guildhall_waitlist *list);
size_t guildhall_waitlist_count(const guildhall_waitlist *list);

/* Call after the change that a waiter may be waiting for. Costs a fence and a load while no thread waits. */
void guildhall_waitlist_wake_one(guildhall_waitlist *list);
void guildhall_waitlist_wake_all(guildhall_waitlist *list);

/* One turn of waiting: attempts once, sleeps, leaves the list. After TRY_AGAIN the caller must attempt again; after GAVE_UP
 * nothing has been done and it must not. */
guildhall_awaited guildhall_waitlist_await(guildhall_waitlist *list, guildhall_waiter *waiter, guildhall_attempt attempt,
                                           void *context);

int guildhall_waiter_state(guildhall_waiter *waiter);
/* Whether the process was forked while the waiter slept: what interrupts a sleep (a trap handler, say) may fork, and go on sleeping
 * in the child. There nobody knows of the waiter: the child's list is empty, and a waker that had claimed it is a thread of the
 * parent. A sleep ends then, and the thread attempts and enlists again. */
int guildhall_waiter_forked(const guildhall_waiter *waiter);

#endif
