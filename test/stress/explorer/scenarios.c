/* The channel and its waitlists, run by the explorer: usage: explorer BUDGET [SCENARIO]. Prints a line a scenario; fails
 * with the first that went wrong. */
#include "atomics.h"
#include "explorer.h"
#include "queue/channel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static guildhall_channel channel;
static int channel_made;
static uintptr_t taken[64];
static int taken_count, pushed_count, overs;

static void make(size_t capacity, size_t stripes)
{
    if (channel_made) guildhall_channel_destroy(&channel);
    channel_made = 1;
    if (guildhall_channel_init(&channel, capacity, stripes) != 0) abort();
    taken_count = pushed_count = overs = 0;
}

/* ---- sleeping, as on a futex; `staying` as with a thread that its waker still touches */

static int sleep_on_word(guildhall_waiter *waiter)
{
    while (guildhall_waiter_state(waiter) == GUILDHALL_WAITING)
        if (explorer_sleep(&waiter->state, GUILDHALL_WAITING)) return 1;
    return 0;
}

static void wake_word(guildhall_waiter *waiter, uintptr_t unused)
{
    (void)unused;
    explorer_wake(&waiter->state);
}

static void wake_staying(guildhall_waiter *waiter, uintptr_t thread)
{
    (void)thread;
    if (guildhall_waiter_state(waiter) != GUILDHALL_CLAIMED) abort();
    explorer_wake(&waiter->state);
}

static const guildhall_sleeper word = {sleep_on_word, wake_word, 0};
static const guildhall_sleeper staying = {sleep_on_word, wake_staying, 1};
static const guildhall_sleeper *sleeper = &word;

typedef struct {
    int lane;
    uintptr_t *items;
    size_t count, stripe;
    long moved;
} transfer;

static int attempt_push(void *context)
{
    transfer *self = context;
    return (self->moved = guildhall_channel_push(&channel, self->lane, self->items, self->count)) != 0;
}

static int attempt_pop(void *context)
{
    transfer *self = context;
    return (self->moved = guildhall_channel_pop(&channel, self->lane, self->items, self->count, &self->stripe)) != 0;
}

/* As guildhall_wait. 1: attempted with success; 0: interrupted. */
static int await(guildhall_waitlist *list, guildhall_attempt attempt, transfer *self)
{
    while (!attempt(self)) {
        guildhall_waiter waiter = {.sleeper = sleeper};
        guildhall_awaited awaited = guildhall_waitlist_await(list, &waiter, attempt, self);
        if (awaited == GUILDHALL_GAVE_UP) return 0;
        if (awaited == GUILDHALL_SUCCEEDED) return 1;
    }
    return 1;
}

static void push(int lane, uintptr_t first, size_t count)
{
    while (count > 0) {
        uintptr_t items[] = {first, first + 1, first + 2, first + 3};
        transfer self = {lane, items, count, 0, 0};
        await(&guildhall_channel_stripe(&channel, lane)->givers, attempt_push, &self);
        if (self.moved < 0) return;
        guildhall_channel_pushed(&channel, lane);
        pushed_count += (int)self.moved;
        first += (uintptr_t)self.moved;
        count -= (size_t)self.moved;
    }
}

/* Items taken; 0: interrupted; -1: closed and empty. */
static long pop(int lane, size_t count)
{
    uintptr_t items[4];
    transfer self = {lane, items, count, 0, 0};
    if (!await(&channel.takers, attempt_pop, &self)) return 0;
    if (self.moved > 0) guildhall_channel_popped(&channel, self.stripe);
    else overs++, guildhall_channel_exhausted(&channel);
    for (long index = 0; index < self.moved; index++) taken[taken_count++] = items[index];
    return self.moved;
}

static const char *each_once(void)
{
    if (taken_count != pushed_count) return "an item was lost, or taken twice";
    for (int index = 0; index < taken_count; index++)
        for (int other = 0; other < index; other++) {
            if (taken[index] == taken[other]) return "an item was taken twice";
            /* Producers count up in their own hundreds. Only one consumer sees an order here. */
        }
    return NULL;
}

/* ---- scenarios: threads 0 and 1 produce, the others consume, unless it says otherwise */

static void small(void) { make(2, 1); }
static void one_cell(void) { make(1, 1); }
static void striped(void) { make(2, 2); }

static void two_by_two(int thread)
{
    if (thread < 2) push(thread, 100 * (uintptr_t)thread, 1);
    else pop(thread, 1);
}

static void through_one_cell(int thread)
{
    if (thread == 0) push(0, 0, 3);
    else if (thread == 1) pop(1, 1), pop(1, 1);
    else pop(2, 1);
}

static const char *in_order(void)
{
    return each_once();
}

static void many(int thread)
{
    if (thread == 0) push(0, 0, 4);
    else for (int left = 2; left > 0;) left -= (int)pop(thread, (size_t)left);
}

static void givers_share_room(int thread)
{
    if (thread < 2) push(thread, 100 * (uintptr_t)thread, 2);
    else pop(2, 2), pop(2, 1), pop(2, 1);
}

static const char *givers_verdict(void)
{
    /* The consumer took 3 or 4; the rest fits. */
    return pushed_count == 4 ? NULL : "a producer did not get its room";
}

static void closing(int thread)
{
    if (thread == 0) push(0, 0, 1);
    else if (thread == 1) guildhall_channel_close(&channel);
    else pop(thread, 1);
}

/* The thread that is interrupted, 1, leaves its item to the other; where it took one, it hands over another. */
static void interrupting(int thread)
{
    if (thread == 0) push(0, 0, 1);
    else if (thread == 3) explorer_interrupt(1);
    else if (thread == 2) pop(2, 1);
    else if (pop(1, 1) > 0) push(1, 100, 1);
}

static void plain_sleeper(void) { small(), sleeper = &word; }
static void staying_sleeper(void) { small(), sleeper = &staying; }

static const explorer_scenario scenarios[] = {
    {"two producers, two consumers", 4, plain_sleeper, two_by_two, each_once},
    {"the same with a waker that touches the sleeper", 4, staying_sleeper, two_by_two, each_once},
    {"three items through one cell", 3, one_cell, through_one_cell, in_order},
    {"many at once", 3, small, many, each_once},
    {"two producers wait for room", 3, small, givers_share_room, givers_verdict},
    {"closing beside a push", 4, plain_sleeper, closing, each_once},
    {"an interrupted consumer", 4, plain_sleeper, interrupting, each_once},
    {"two stripes", 4, striped, two_by_two, each_once},
};

int main(int argc, char **argv)
{
    int budget = argc > 1 ? atoi(argv[1]) : 2;
    for (size_t index = 0; index < sizeof(scenarios) / sizeof(*scenarios); index++) {
        if (argc > 2 && !strstr(scenarios[index].name, argv[2])) continue;
        long runs;
        const char *failure = explorer_explore(&scenarios[index], budget, &runs);
        printf("%-50s %9ld orders: %s\n", scenarios[index].name, runs, failure ? failure : "right");
        fflush(stdout);
        if (failure) return 1;
    }
    return 0;
}
