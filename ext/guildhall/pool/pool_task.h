/* A task and one payload: the call, from C, so that there is no Ruby block to escape and no Ruby frame a payload; and what
 * becomes of what it raises. */
#ifndef GUILDHALL_POOL_TASK_H
#define GUILDHALL_POOL_TASK_H

#include <ruby.h>
#include <stdbool.h>
#include "pool_profile.h"

/* The outcome of frozen bytes, or of another shareable payload: what the task returns, or a Failure (*failed) where that
 * is not shareable. Raises what the task raises; then *stage is that of the native decoder, or nil. */
VALUE guildhall_task_call(const guildhall_profile *, VALUE bytes, VALUE metadata, size_t index, VALUE *stage, bool *failed);
/* What was raised with *state, as a Failure. Qundef where it goes on to where it was meant for, by rb_jump_tag(*state): it
 * ends the thread, or it is a signal or Timeout, which reach a caller although other interrupts are held back while a
 * payload runs, or making the Failure was interrupted. */
VALUE guildhall_task_failure(size_t index, VALUE stage, bool in_caller, int *state);
/* Whether what was raised ends the thread. */
bool guildhall_task_ends_thread(void);
/* The Failure of a payload whose worker, or whose reader's thread, has ended. May raise. */
VALUE guildhall_task_deadly(size_t index);

#endif
