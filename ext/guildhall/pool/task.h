/* A task and one payload: the call, from C, so that there is no Ruby block to escape and no Ruby frame a payload; and what
 * becomes of what it raises. */
#ifndef GUILDHALL_POOL_TASK_H
#define GUILDHALL_POOL_TASK_H

#include <ruby.h>
#include <stdbool.h>
#include "runnable.h"

/* The outcome of frozen bytes, or of another shareable payload: what the task returns, made shareable, or a Failure (*failed) where
 * the task's code is refused. Raises what the task raises, and NotShareableError; then *stage is that of the native decoder, or nil. */
VALUE guildhall_task_call(const guildhall_runnable *, VALUE bytes, VALUE metadata, size_t index, bool on_worker, VALUE *stage, bool *failed);
/* On a worker whose results are transfers (`runnable->transfers`): decodes the bytes into one. Qundef: the task has to be called. Raises as the
 * codec does, with *stage as above. */
VALUE guildhall_task_transfer(const guildhall_runnable *, const uint8_t *bytes, size_t length, VALUE *stage);
/* What was raised with *state, as a Failure; on a worker it may be the reason to refuse the task's code. Qundef where it goes on to
 * where it was meant for, by rb_jump_tag(*state): it ends the thread, or it is a signal or Timeout, which reach a caller although
 * other interrupts are held back while a payload runs, or making the Failure was interrupted. */
VALUE guildhall_task_failure(const guildhall_runnable *, size_t index, VALUE stage, bool in_caller, int *state);
/* Whether what was raised ends the thread. */
bool guildhall_task_ends_thread(void);
/* The Failure of a payload that raised nothing. "fatal": its worker, or its reader's thread, has ended; "workerless": no worker is left
 * for it, and a caller must not run it. May raise. */
VALUE guildhall_task_lost(const char *reason, size_t index);

#endif
