/* What a pool knows about the code that it has run: what one payload costs, and whether batches of about one size are
 * faster in the caller alone or spread over workers. A table of fixed size; the entry that was used least lately is given
 * up. Numbers are estimates: workers write them without a lock, and a lost update makes an estimate a little older. */
#ifndef GUILDHALL_POOL_COST_MODEL_H
#define GUILDHALL_POOL_COST_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ways that are compared. */
enum { GUILDHALL_ALONE, GUILDHALL_SPREAD };

enum { GUILDHALL_COST_SETS = 128, GUILDHALL_COST_SET_SIZE = 4 };

/* Which of two ways is faster: found out while the work is done, by an epoch one way and one the other in turn, because what a machine can
 * do changes from one second to the next. Times in nanoseconds. */
typedef struct {
    bool best, current;        /* false: the first way, true: the second one */
    double cost[2];            /* of a unit of work, each way, lately; 0: not known */
    double chosen_cost;        /* of the best way when it was chosen, or a trial was broken off; 0: neither, or not known then */
    double elapsed;            /* in all epochs */
    double trial_began, next_trial;
    double first;              /* cost in the first epoch of a pair; 0: none */
    double evidence;           /* sum of logarithms: above 0, the second way is faster */
    unsigned pairs;
    bool trying;
} guildhall_comparison;

/* An epoch of the current way has ended, which took `time`, and `cost` for a unit of work. */
void guildhall_comparison_add(guildhall_comparison *, double cost, double time);
/* The trial, if there is one, cannot go on: the best way is used, and the other one is not tried for that long. */
void guildhall_comparison_break(guildhall_comparison *, double pause);

typedef struct {
    uint64_t key;              /* code, size of payloads, size of batches; 0: free */
    uint64_t used;             /* when it was last looked up */
    _Atomic float payload_ns;  /* one payload, run by one thread; 0: not known */
    _Atomic uint32_t samples;
    guildhall_comparison ways;            /* of batches: by the caller alone, and spread over workers; in ns a payload */
    float epoch_ns, epoch_payloads;       /* the current epoch, run in the current way, so far */
    uint8_t warm;                         /* epochs since it was first seen, up to those that count */
    uint8_t unmeasured;                   /* batches since the last measurement that could not be measured */
} guildhall_cost;

typedef struct {
    uint64_t clock;
    guildhall_cost entries[GUILDHALL_COST_SETS][GUILDHALL_COST_SET_SIZE];
} guildhall_cost_model;

/* In the main Ractor: the entry for batches of `count` payloads of about `bytes` bytes each; `count` 0: for a single payload. */
guildhall_cost *guildhall_cost_find(guildhall_cost_model *, uint32_t code, size_t bytes, size_t count);
/* What one payload costs; 0: not known. */
double guildhall_cost_read(const guildhall_cost *);
/* From any Ractor. */
void guildhall_cost_add(guildhall_cost *, double payload_ns);
/* In the main Ractor: adds a measurement: `payloads` of a batch took `ns`, by the caller alone or spread over workers; `complete`: the
 * batch has ended. */
void guildhall_cost_measured(guildhall_cost *of_batches, bool spread, bool complete, int64_t ns, size_t payloads);
/* In the main Ractor: a batch has run that says nothing: others ran beside it, or it failed. */
void guildhall_cost_unmeasured(guildhall_cost *of_batches);
/* Whether such batches are to be spread now: without a measurement they are. */
static inline bool guildhall_cost_spreads(const guildhall_cost *of_batches) { return of_batches->ways.current == GUILDHALL_SPREAD; }
/* Nanoseconds until the next comparison: an epoch, or one payload where that takes longer. */
double guildhall_cost_epoch(double payload_ns);
/* About the number of bytes or payloads that the class in a key stands for. */
size_t guildhall_cost_middle(unsigned class);

#endif
