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
/* Whether what was raised ends the thread. Cannot be rescued. */
bool guildhall_task_ends_thread(VALUE error);
/* Whether it is no failure of the task's: signals and Timeout reach a caller although other interrupts are held back while
 * a payload runs. */
bool guildhall_task_meant_for_caller(VALUE error);
/* What was raised, as a Failure. Qundef where making it was interrupted: *state is to be passed to rb_jump_tag. */
VALUE guildhall_task_failure(size_t index, VALUE stage, int *state);

#endif
