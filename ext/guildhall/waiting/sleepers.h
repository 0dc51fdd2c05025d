/* One wait of one thread. How it sleeps, a guildhall_sleeper says (waitlist.h):
 *
 * pinned  inside rb_nogvl, on the waiter's state word: the quickest, but it pins a native thread. Threads of the main Ractor
 *         always have one of their own; of the other Ractors at most RUBY_MAX_CPU - 2 may be pinned at once, or the M:N
 *         scheduler has no native thread left to run a runnable Ractor on.
 * port    receive on a Ractor::Port (4.0).
 * forever rb_thread_sleep_forever (3.4).
 * timed   until a descriptor is readable: for waits with a deadline beyond the pinned ones, because neither port
 *         nor forever can end at a deadline.
 * steps   rb_thread_wait_for, a step at a time: where the process has no descriptor left, and where alarms do not keep the time,
 *         because Ruby's M:N scheduler loses wake-ups of threads that wait for a descriptor with a limit.
 * fiber   as timed, through the fiber scheduler.
 *
 * Each sleep is a loop of steps, and looks for interrupts before each step: handle_interrupt may have put one off until a call
 * blocks, and that one would not end the sleep.
 */
#ifndef GUILDHALL_WAITING_SLEEPERS_H
#define GUILDHALL_WAITING_SLEEPERS_H

#include <ruby.h>
#include "waitlist.h"

typedef struct guildhall_parked {
    guildhall_waiter base;
    void (*step)(struct guildhall_parked *self);   /* sleeps; may return at any time, and raise */
    void (*finish)(struct guildhall_parked *self); /* after the wait; NULL: nothing to do. Must not raise */
    VALUE thread;
    VALUE resource; /* the port, or the IO of the descriptor; kept alive from here */
    int readable, bell; /* the descriptors of an alarm, and of what rings it */
    int raised; /* the tag of what interrupted the sleep */
    int64_t deadline;
} guildhall_parked;

/* Chooses how the calling thread sleeps when it comes to that. May raise; then there is nothing to finish. */
void guildhall_choose_sleeper(guildhall_parked *self);
/* How many native threads Ruby runs all Ractors but the main one on, at most. */
int guildhall_ractor_threads(void);
void guildhall_init_sleepers(void);
/* In a child after fork. */
void guildhall_sleepers_forked(void);

#endif
