/* Runs a scenario of a few threads in every order that differs from running each to its end by at most `budget` whims of
 * the scheduler or of a store buffer: a thread preempted, a store held back until the thread's next fence. Such bounded
 * exploration finds what random runs do not, and finds it every time. */
#ifndef EXPLORER_H
#define EXPLORER_H

#include <stddef.h>

typedef struct {
    const char *name;
    int threads;
    void (*prepare)(void);        /* before each run */
    void (*run)(int thread);      /* one thread */
    const char *(*verdict)(void); /* after each run in which all threads ended; NULL: right */
} explorer_scenario;

/* NULL when every order was right, else what went wrong. *runs: how many orders there were. */
const char *explorer_explore(const explorer_scenario *scenario, int budget, long *runs);

/* Sleeps while *word == value, until explorer_wake(word) or explorer_interrupt(thread). True: interrupted. */
int explorer_sleep(_Atomic int *word, int value);
void explorer_wake(_Atomic int *word);
void explorer_interrupt(int thread);

#endif
