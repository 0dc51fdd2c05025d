#include "atomics.h"
#include "explorer.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define THREADS 8
#define STACK 65536
#define DEPTH 4096
#define STORES 64

typedef enum { READY, LOCKING, SLEEPING, YIELDING, ENDED } status;

typedef struct {
    void *address;
    size_t size;
    unsigned long value;
} store;

typedef struct {
    ucontext_t beginning;
    jmp_buf place; /* where it was left; a jump costs no system call, as swapping contexts does */
    int begun;
    char *stack;
    status status;
    void *object; /* the mutex or word it waits for */
    int interrupted;
    store stores[STORES];
    int held; /* stores held back */
} coroutine;

/* One place where there was a choice. */
typedef struct {
    int taken, choices;
} decision;

static coroutine threads[THREADS];
static jmp_buf home;
static const explorer_scenario *scenario;
static int running; /* false while a scenario is prepared or judged: then nothing switches */
static int current, budget_left, depth, known;
static decision path[DEPTH];
static pthread_mutex_t *locked[16];
static const char *failure;

/* Takes the decision recorded for this place, or the first one at a new place. */
static int decide(int choices)
{
    if (choices <= 1) return 0;
    if (depth >= DEPTH) {
        failure = "no end: the threads keep each other going";
        _longjmp(home, 1);
    }
    if (depth == known) path[known++] = (decision){0, choices};
    return path[depth++].taken;
}

static int holder(void *mutex)
{
    for (int index = 0; index < 16; index++)
        if (locked[index] == mutex) return index;
    return -1;
}

static int enabled(int thread)
{
    coroutine *self = &threads[thread];
    switch (self->status) {
      case READY: return 1;
      case LOCKING: return holder(self->object) < 0;
      default: return 0; /* SLEEPING: until woken; YIELDING: until another has gone on; ENDED */
    }
}

static void flush(coroutine *self)
{
    for (int index = 0; index < self->held; index++)
        memcpy(self->stores[index].address, &self->stores[index].value, self->stores[index].size);
    self->held = 0;
}

static void enter(int thread)
{
    coroutine *self = &threads[thread];
    if (self->begun) _longjmp(self->place, 1);
    self->begun = 1;
    setcontext(&self->beginning);
}

static void switch_to(int next)
{
    if (next == current) return;
    int previous = current;
    current = next;
    for (int index = 0; index < scenario->threads; index++)
        if (index != next && threads[index].status == YIELDING) threads[index].status = READY;
    if (_setjmp(threads[previous].place) == 0) enter(next);
}

/* The current thread goes on where it can and the scheduler has no whim; else another one does. */
static void schedule(void)
{
    if (!running) return;
    int others[THREADS], count = 0, stays = enabled(current);
    if (!stays) flush(&threads[current]); /* a thread that stops drains its buffer */
    for (int step = 1; step < scenario->threads; step++) { /* in turn, so that those who yield do not yield to each other only */
        int index = (current + step) % scenario->threads;
        if (enabled(index)) others[count++] = index;
    }
    if (!stays && count == 0) {
        for (int index = 0; index < scenario->threads; index++) {
            if (threads[index].status != YIELDING) continue;
            threads[index].status = READY;
            return schedule();
        }
        int ended = 1;
        for (int index = 0; index < scenario->threads; index++) ended &= threads[index].status == ENDED;
        if (!ended) failure = "a thread sleeps for ever: a wake-up was lost";
        _longjmp(home, 1);
    }
    if (stays) {
        int choice = decide(budget_left > 0 ? count + 1 : 1);
        if (choice == 0) return;
        budget_left--;
        return switch_to(others[choice - 1]);
    }
    /* Fair to yields: an order in which two yield to each other for ever is none that a scheduler makes. */
    switch_to(others[threads[current].status == YIELDING ? 0 : decide(count)]);
}

void explorer_step(void)
{
    schedule();
}

void explorer_fence(void)
{
    schedule();
    flush(&threads[current]);
}

void explorer_store(void *address, size_t size, unsigned long value)
{
    coroutine *self = &threads[current];
    if (!running || (self->held == 0 && decide(budget_left > 0 ? 2 : 1) == 0)) {
        memcpy(address, &value, size);
        return;
    }
    if (self->held == 0) budget_left--;
    if (self->held == STORES) abort();
    self->stores[self->held++] = (store){address, size, value};
}

unsigned long explorer_load(const void *address, size_t size)
{
    coroutine *self = &threads[current];
    unsigned long value = 0;
    memcpy(&value, address, size);
    for (int index = 0; index < self->held; index++)
        if (self->stores[index].address == address) value = self->stores[index].value;
    return size == 4 ? (unsigned long)(int)value : value;
}

void explorer_lock(pthread_mutex_t *mutex)
{
    coroutine *self = &threads[current];
    self->status = LOCKING;
    self->object = mutex;
    schedule();
    flush(self);
    self->status = READY;
    int free = holder(NULL);
    if (free < 0) abort();
    locked[free] = mutex;
}

void explorer_unlock(pthread_mutex_t *mutex)
{
    explorer_fence();
    locked[holder(mutex)] = NULL;
}

void explorer_yield(void)
{
    threads[current].status = YIELDING;
    schedule();
    threads[current].status = READY;
}

int explorer_sleep(_Atomic int *word, int value)
{
    explorer_fence();
    coroutine *self = &threads[current];
    if ((int)explorer_load(word, sizeof(int)) == value && !self->interrupted) {
        self->status = SLEEPING;
        self->object = word;
        schedule();
    }
    int interrupted = self->interrupted;
    self->interrupted = 0;
    return interrupted;
}

void explorer_wake(_Atomic int *word)
{
    explorer_fence();
    for (int index = 0; index < scenario->threads; index++)
        if (threads[index].status == SLEEPING && threads[index].object == word) threads[index].status = READY;
}

void explorer_interrupt(int thread)
{
    explorer_fence();
    threads[thread].interrupted = 1;
    if (threads[thread].status == SLEEPING) threads[thread].status = READY;
}

static void start(int thread)
{
    scenario->run(thread);
    threads[thread].status = ENDED;
    schedule();
}

static void run_once(int budget)
{
    scenario->prepare();
    budget_left = budget;
    depth = current = 0;
    memset(locked, 0, sizeof(locked));
    for (int index = 0; index < scenario->threads; index++) {
        coroutine *self = &threads[index];
        if (!self->stack) self->stack = malloc(STACK);
        self->status = READY;
        self->interrupted = self->held = self->begun = 0;
        getcontext(&self->beginning);
        self->beginning.uc_stack.ss_sp = self->stack;
        self->beginning.uc_stack.ss_size = STACK;
        makecontext(&self->beginning, (void (*)(void))start, 1, index);
    }
    current = decide(scenario->threads);
    running = 1;
    if (_setjmp(home) == 0) enter(current);
    running = 0;
}

/* Goes back to the last place where there is another choice. False: there is none. */
static int next_path(void)
{
    known = depth;
    while (known > 0 && path[known - 1].taken + 1 >= path[known - 1].choices) known--;
    if (known == 0) return 0;
    path[known - 1].taken++;
    return 1;
}

const char *explorer_explore(const explorer_scenario *chosen, int budget, long *runs)
{
    scenario = chosen;
    failure = NULL;
    known = 0;
    *runs = 0;
    do {
        run_once(budget);
        (*runs)++;
        if (!failure) failure = scenario->verdict();
    } while (!failure && next_path());
    return failure;
}
