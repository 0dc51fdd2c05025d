/* A task as the pool calls it. */
#ifndef GUILDHALL_POOL_RUNNABLE_H
#define GUILDHALL_POOL_RUNNABLE_H

#include <ruby.h>
#include <stdbool.h>
#include "code.h"
#include "guildhall/decoder.h"

typedef struct guildhall_runnable {
    VALUE task;                          /* shareable, answers `call` */
    VALUE code_object;                   /* owns the code */
    guildhall_code *code;                /* what is known of the task's code, shared with its other tasks */
    VALUE rest;                          /* what follows the native decoder; nil: nothing */
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

#endif
