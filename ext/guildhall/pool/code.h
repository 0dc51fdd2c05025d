/* What a pool knows of one code, whatever object it came with: whether a worker has run it, and whether it must not. One code is
 * shared by all tasks made of it: lambdas of one literal, instances of one class, pipelines of the same stages. */
#ifndef GUILDHALL_POOL_CODE_H
#define GUILDHALL_POOL_CODE_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>

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

void guildhall_init_pool_code(VALUE pool);

#endif
