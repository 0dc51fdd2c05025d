/* Which of two ways to do the same work is faster: found out while it is done, by an epoch one way and one the other in turn,
 * because what a machine can do changes from one second to the next. */
#ifndef GUILDHALL_POOL_COMPARISON_H
#define GUILDHALL_POOL_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

/* What a comparison may cost, and when it is sure. Times in any one unit. */
typedef struct {
    double least_gain;         /* the second way has to be that much faster: it takes cores that others could use */
    double most_per_pair;      /* what one pair of epochs counts at most, as the logarithm of a ratio: one accident does not decide */
    unsigned most_pairs;       /* then their mean decides */
    double shortest_pause, longest_pause;   /* between two trials */
    double most_pause;         /* times all epochs before: early on, an accident may have decided */
} guildhall_comparison_terms;

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
void guildhall_comparison_add(guildhall_comparison *, const guildhall_comparison_terms *, double cost, double time);
/* The trial, if there is one, cannot go on: the best way is used, and the other one is not tried for that long. */
void guildhall_comparison_break(guildhall_comparison *, double pause);

#endif
