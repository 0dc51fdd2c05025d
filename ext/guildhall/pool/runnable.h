/* A task as the pool calls it, and what the pool knows of its code, whatever object that came with: one code is shared by all tasks made of
 * it: lambdas of one literal, instances of one class, pipelines of the same stages. */
#ifndef GUILDHALL_POOL_RUNNABLE_H
#define GUILDHALL_POOL_RUNNABLE_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "guildhall/decoder.h"

typedef enum {
    GUILDHALL_UNTRIED, /* no worker has run it yet */
    GUILDHALL_TRIED,   /* a worker has */
    GUILDHALL_REFUSED  /* a worker came upon what only the main Ractor may touch */
} guildhall_standing;

typedef struct {
    _Atomic int standing;
    _Atomic VALUE refusal; /* the Failure of the payload that found out; 0: none */
    VALUE name;            /* of the task, for messages */
    VALUE inline_reason;   /* why it can run in the main Ractor only, in its readers' threads; nil: workers can run it */
    uint32_t number;       /* of its own, for what is measured of it */
    bool copies;           /* results may be part of what a worker keeps: they are copied, not frozen in place */
} guildhall_code;

guildhall_code *guildhall_code_of(VALUE);

static inline guildhall_standing guildhall_code_standing(const guildhall_code *code)
{
    return (guildhall_standing)atomic_load_explicit(&code->standing, memory_order_acquire);
}

/* Whether the first payload is to run on a worker, where one may be used. */
static inline bool guildhall_code_untried(const guildhall_code *code) { return guildhall_code_standing(code) == GUILDHALL_UNTRIED; }

/* A worker has run a payload of it. */
static inline void guildhall_code_tried(guildhall_code *code)
{
    int untried = GUILDHALL_UNTRIED;
    if (atomic_load_explicit(&code->standing, memory_order_relaxed) == untried)
        atomic_compare_exchange_strong(&code->standing, &untried, GUILDHALL_TRIED);
}

typedef struct guildhall_runnable {
    VALUE task;                          /* shareable, answers `call` */
    VALUE code_object;                   /* owns the code */
    guildhall_code *code;                /* what is known of the task's code, shared with its other tasks */
    VALUE following;                     /* what follows the native decoder; nil: nothing */
    VALUE codec;                         /* owns the native decoder; nil: none */
    VALUE preparer;                      /* gets a batch's payloads before anybody else; nil: none */
    VALUE decode_stage;                  /* the stage's name in Failures of the native decoder; nil outside pipelines */
    const guildhall_decoder *decoder;    /* NULL: every payload is given to the task */
    const guildhall_decoder *transfers;  /* what workers decode with, for their readers to make objects of; NULL: they make them */
    bool native_values;                  /* what the task returns was made by guildhall alone, and so is frozen to its last part */
    VALUE receiver;                      /* self of the block that is the task; nil: it needs none */
    bool runs_blocks;                    /* the task is a block, or has some: each worker needs its own */
    bool takes_metadata;                 /* the task does, or what follows the decoder */
} guildhall_runnable;

guildhall_runnable *guildhall_runnable_of(VALUE object);

/* A task and one payload, called from C, so that there is no Ruby block to escape from and no Ruby frame a payload (task.c).
 *
 * The outcome of frozen bytes, or of another shareable payload: what the task returns, made shareable, or a Failure (*failed) where
 * the task's code is refused. Raises what the task raises, and NotShareableError; then *stage is that of the native decoder, or nil. */
VALUE guildhall_task_call(const guildhall_runnable *, VALUE bytes, VALUE metadata, size_t index, bool on_worker, VALUE *stage,
                          bool *failed);
/* On a worker whose results are transfers (`runnable->transfers`): decodes the bytes into one. Qundef: the task has to be called.
 * Raises as the codec does, with *stage as above. */
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
