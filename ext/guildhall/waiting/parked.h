/* One wait of one thread. How it sleeps, a guildhall_sleeper says (waitlist.h):
 *
 * pinned  inside rb_nogvl, on the waiter's state word: the quickest, but it pins a native thread. Threads of the main Ractor
 *         always have one of their own; of the other Ractors at most RUBY_MAX_CPU - 2 may be pinned at once, or the M:N
 *         scheduler has no native thread left to run a runnable Ractor on.
 * port    receive on a Ractor::Port (4.0).
 * forever rb_thread_sleep_forever (3.4).
 * timed   until a descriptor is readable (alarm.h): for waits with a deadline beyond the pinned ones, because neither port
 *         nor forever can end at a deadline.
 * steps   rb_thread_wait_for, a step at a time: instead of timed where that way is not open.
 * fiber   as timed, through the fiber scheduler.
 *
 * Each sleep is a loop of steps, with a look for interrupts before each: one that came while handle_interrupt allowed it only
 * where a call blocks has been put off until now, and would not end the sleep.
 */
#ifndef GUILDHALL_WAITING_PARKED_H
#define GUILDHALL_WAITING_PARKED_H

#include <ruby.h>
#include "alarm.h"
#include "waiter.h"

typedef struct guildhall_parked {
    guildhall_waiter base;
    void (*step)(struct guildhall_parked *self);   /* sleeps; may return at any time, and raise */
    void (*finish)(struct guildhall_parked *self); /* after the wait; NULL: nothing to do. Must not raise */
    VALUE thread;
    VALUE resource; /* the port, or the IO of the descriptor; kept alive from here */
    guildhall_alarm alarm;
    int raised; /* the tag of what interrupted the sleep */
    int64_t deadline;
} guildhall_parked;

/* Each makes the thread sleep in its own way when it comes to that. Those that return an int: 0 where that way is not open
 * just now. May raise, as long as there is nothing to finish. */
int guildhall_sleep_pinned(guildhall_parked *self);
int guildhall_sleep_on_port(guildhall_parked *self);
void guildhall_sleep_forever(guildhall_parked *self);
int guildhall_sleep_timed(guildhall_parked *self);
void guildhall_sleep_in_steps(guildhall_parked *self);
void guildhall_sleep_as_fiber(guildhall_parked *self);

void guildhall_init_pinned(void);
void guildhall_init_port(void);
void guildhall_init_sleep_forever(void);

/* In a child after fork. */
void guildhall_pinned_forked(void);

/* Ends a sleep that Ruby knows of; `thread` is its handle. */
void guildhall_rouse_thread(guildhall_waiter *unused, uintptr_t thread);

static inline void guildhall_sleep_with(guildhall_parked *self, const guildhall_sleeper *sleeper, void (*step)(guildhall_parked *), uintptr_t handle)
{
    self->base.sleeper = sleeper;
    self->base.handle = handle;
    self->step = step;
}

/* Every sleeper's: until the waiter is claimed or its deadline has passed; what interrupts it is raised later. */
int guildhall_parked_sleep(guildhall_waiter *waiter);

#endif
