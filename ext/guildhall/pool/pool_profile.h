/* What a pool knows of one task: how it is called, and what it costs. Learned by whoever runs it, in any Ractor, and
 * read at every dispatch; all numbers are relaxed atomics, because a lost update only makes a guess a little older. */
#ifndef GUILDHALL_POOL_PROFILE_H
#define GUILDHALL_POOL_PROFILE_H

#include <ruby.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "guildhall/decoder.h"

enum {
    GUILDHALL_BYTE_CLASSES = 24,   /* powers of two of a payload's mean size in bytes */
    GUILDHALL_COUNT_CLASSES = 18,  /* powers of two of a batch's number of payloads */
    GUILDHALL_LEVELS = 6,          /* of how many hands work on a batch: 1 (inline), 2, 4, 8, 16, all */
    GUILDHALL_TRIAL_SAMPLES = 5
};

/* About the median of what was measured, the newest samples weighing most: each moves it a little, however far off. */
typedef struct {
    _Atomic float nanoseconds;
    _Atomic uint32_t samples;
} guildhall_estimate;

/* Another level than the best one, for a few batches in a row. */
typedef struct {
    _Atomic uint32_t planned, begins; /* at these decisions; 0: nothing is planned yet */
    _Atomic uint32_t interval;     /* decisions until the next one: the longer, the more often the best one has won */
    _Atomic uint32_t level, best;  /* what is tried, against what */
    _Atomic float expected;        /* what the best one cost when this was planned */
    _Atomic uint32_t taken;
    _Atomic float samples[GUILDHALL_TRIAL_SAMPLES];
} guildhall_trial;

/* Batches of about one size of payloads of about one size, in nanoseconds a payload from dispatch to the last result. */
typedef struct {
    guildhall_estimate levels[GUILDHALL_LEVELS];
    guildhall_estimate forced;     /* by workers alone, because somebody wants it so: says nothing about what pays */
    _Atomic uint32_t decisions;
    guildhall_trial trial;
} guildhall_cell;

typedef struct guildhall_profile {
    VALUE task;                          /* shareable, answers `call` */
    VALUE rest;                          /* what follows the native decoder; nil: nothing */
    VALUE codec;                         /* owns the native decoder; nil: none */
    VALUE preparer;                      /* gets a batch's payloads before anybody else; nil: none */
    VALUE decode_stage;                  /* the stage's name in Failures of the native decoder; nil outside pipelines */
    const guildhall_decoder *decoder;    /* NULL: every payload is given to the task */
    bool takes_metadata;                 /* the task does, or what follows the decoder */
    guildhall_estimate cost[GUILDHALL_BYTE_CLASSES];   /* running one payload, wherever */
    guildhall_cell cells[GUILDHALL_BYTE_CLASSES][GUILDHALL_COUNT_CLASSES];
} guildhall_profile;

/* What a dispatch has to know about the pool. */
typedef struct {
    size_t hands;          /* those that there are for one batch: workers, and a caller who helps */
    int64_t handover_ns;   /* from a dispatch to a worker's first payload */
    bool caller;           /* one of the hands, and there from the start */
    bool crowded;          /* callers wait for each other: what runs elsewhere is a gain for all */
} guildhall_crew;

typedef struct {
    unsigned level;        /* 0: inline */
    bool settled;          /* not the first batches after a change, for which what they use has yet to wake up */
} guildhall_choice;

guildhall_profile *guildhall_profile_of(VALUE object);
unsigned guildhall_byte_class(size_t bytes);
unsigned guildhall_count_class(size_t count);
void guildhall_estimate_add(guildhall_estimate *, double nanoseconds);
double guildhall_estimate_read(const guildhall_estimate *);

/* What one payload costs, in nanoseconds: measured, or guessed from its size while nothing was measured. */
double guildhall_profile_cost(const guildhall_profile *, size_t bytes);
/* Whether so many payloads are known to take less than a caller's span. */
bool guildhall_profile_brief(const guildhall_profile *, size_t count, size_t bytes);
/* With how many hands a batch is fastest; now and then another level, only to find out. */
guildhall_choice guildhall_profile_choose(const guildhall_profile *, size_t count, size_t bytes, const guildhall_crew *);
/* That choice is carried out. */
void guildhall_profile_chosen(guildhall_profile *, size_t count, size_t bytes, const guildhall_crew *);
#define GUILDHALL_FORCED GUILDHALL_LEVELS /* instead of a level: workers alone, whatever pays */
/* The highest level that so many hands make sense of, and the hands of a level where there are so many. */
unsigned guildhall_level_of(size_t hands);
size_t guildhall_hands_of(unsigned level, size_t hands);
/* How a batch of a settled choice went, from its dispatch to its last result. */
void guildhall_profile_learn(guildhall_profile *, size_t count, size_t bytes, unsigned level, int64_t nanoseconds);

#endif
