/* How a thread of any Ractor waits until something that another Ractor does becomes true: without polling, without
 * stopping the other Ractors of the process, and interruptibly. Builds on waitlist.h, whose wake_one and wake_all are to be
 * called with the GVL, because rousing a Ractor may call Ruby.
 */
#ifndef GUILDHALL_WAITING_WAITER_H
#define GUILDHALL_WAITING_WAITER_H

#include "waitlist.h"
#include <guildhall/platform.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <stdbool.h>
#include <stdint.h>

/* Blocks the calling thread (under a fiber scheduler: the fiber), of any Ractor, until attempt(context) succeeds or the
 * deadline passes. Returns 1 when the attempt has succeeded, 0 at the deadline. Raises what interrupts the thread; then
 * the attempt has not succeeded. attempt runs with the GVL and must not raise, allocate or block.
 * deadline: as guildhall_now counts, 0 for none. */
int guildhall_wait(guildhall_waitlist *list, guildhall_attempt attempt, void *context, int64_t deadline);

/* As guildhall_wait, for lists that do not live long enough to learn how long spinning pays: many may share what they know. */
int guildhall_wait_as(guildhall_patience *patience, guildhall_waitlist *list, guildhall_attempt attempt, void *context,
                      int64_t deadline);

/* A new key for thread-specific values. False where Ruby refuses it: it makes none, first, while other Ractors live. */
bool guildhall_thread_key(rb_internal_thread_specific_key_t *);

/* Guildhall::ArgumentError. */
VALUE guildhall_argument_error(void);

/* A timeout in seconds (nil: none) as a deadline. Raises Guildhall::ArgumentError for what is no number, and for one below 0. */
int64_t guildhall_deadline(VALUE timeout);

#endif
