/* The channel and its waitlists driven by plain threads, which sleep on words, for the sanitizers and for other machines. Usage:
 * threads SECONDS. Random capacities,
 * stripes, numbers of producers and consumers, single items and batches, interrupted waits; each round's items are counted,
 * and their order checked. A stall ends the program: alarm(). */
#include "queue/channel.h"
#include "waiting/word.h"
#include <guildhall/platform.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 8
#define ITEMS 2000

static guildhall_channel channel;
static _Atomic long popped_sum, popped_count;

typedef struct {
    int number;
    unsigned seed;
    uintptr_t last[MOST]; /* a consumer's: the last item seen of each producer */
} actor;

static int word_sleep(guildhall_waiter *waiter)
{
    /* Returns at a time of its own as well, as one that is interrupted or whose deadline passes. */
    int64_t deadline = waiter->handle ? guildhall_now() + 2000000 : 0;
    while (guildhall_waiter_state(waiter) == GUILDHALL_WAITING) {
        if (deadline && guildhall_now() >= deadline) return 1;
        guildhall_word_wait(&waiter->state, GUILDHALL_WAITING, deadline);
    }
    return 0;
}

static void word_rouse(guildhall_waiter *waiter, uintptr_t unused)
{
    (void)unused;
    guildhall_word_wake(&waiter->state);
}

static const guildhall_sleeper gone = {word_sleep, word_rouse, 0};
static const guildhall_sleeper stays = {word_sleep, word_rouse, 1};

typedef struct {
    size_t lane, stripe, count;
    uintptr_t *items;
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

static void await(guildhall_waitlist *list, guildhall_attempt attempt, transfer *self, unsigned *seed)
{
    while (!attempt(self)) {
        int interruptible = rand_r(seed) % 4 == 0;
        guildhall_waiter waiter = {.sleeper = rand_r(seed) % 2 ? &gone : &stays, .handle = (uintptr_t)interruptible};
        if (guildhall_waitlist_await(list, &waiter, attempt, self) == GUILDHALL_SUCCEEDED) return;
    }
}

static void *produce(void *argument)
{
    actor *self = argument;
    for (uintptr_t next = 1; next <= ITEMS;) {
        uintptr_t items[5];
        size_t count = 1 + (rand_r(&self->seed) % 3 == 0 ? rand_r(&self->seed) % 5 : 0);
        for (size_t index = 0; index < count; index++) items[index] = (uintptr_t)self->number << 32 | (next + index);
        if (next + count > ITEMS + 1) count = ITEMS + 1 - next;
        transfer transfer = {.lane = (size_t)self->number, .items = items, .count = count};
        await(&guildhall_channel_stripe(&channel, transfer.lane)->givers, attempt_push, &transfer, &self->seed);
        guildhall_channel_pushed(&channel, transfer.lane);
        next += (uintptr_t)transfer.moved;
    }
    return NULL;
}

static void *consume(void *argument)
{
    actor *self = argument;
    for (;;) {
        uintptr_t items[5];
        transfer transfer = {.lane = (size_t)self->number, .items = items, .count = 1 + rand_r(&self->seed) % 5};
        await(&channel.takers, attempt_pop, &transfer, &self->seed);
        if (transfer.moved == GUILDHALL_RING_CLOSED) return guildhall_channel_exhausted(&channel), NULL;
        guildhall_channel_popped(&channel, transfer.stripe);
        for (long index = 0; index < transfer.moved; index++) {
            uintptr_t producer = items[index] >> 32, item = items[index] & 0xffffffff;
            if (item <= self->last[producer]) printf("out of order\n"), exit(1);
            self->last[producer] = item;
            popped_sum += (long)item;
            popped_count++;
        }
    }
}

static void round_of(unsigned *seed)
{
    int producers = 1 + rand_r(seed) % MOST, consumers = 1 + rand_r(seed) % MOST;
    size_t stripes = 1 + (size_t)rand_r(seed) % 3, capacity = stripes + (size_t)rand_r(seed) % 20;
    pthread_t threads[2 * MOST];
    actor actors[2 * MOST] = {0};
    popped_sum = popped_count = 0;
    if (guildhall_channel_init(&channel, capacity, stripes) != 0) abort();
    for (int index = 0; index < producers + consumers; index++) {
        actors[index].number = index < producers ? index : index - producers;
        actors[index].seed = (unsigned)rand_r(seed);
        pthread_create(&threads[index], NULL, index < producers ? produce : consume, &actors[index]);
    }
    for (int index = 0; index < producers; index++) pthread_join(threads[index], NULL);
    guildhall_channel_close(&channel);
    for (int index = producers; index < producers + consumers; index++) pthread_join(threads[index], NULL);
    long each = (long)ITEMS * (ITEMS + 1) / 2;
    if (popped_count != (long)producers * ITEMS || popped_sum != each * producers)
        printf("%ld items, sum %ld\n", popped_count, popped_sum), exit(1);
    if (guildhall_channel_waiting(&channel) != 0 || guildhall_channel_size(&channel) != 0) printf("left behind\n"), exit(1);
    guildhall_channel_destroy(&channel);
}

int main(int argc, char **argv)
{
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : (unsigned)end;
    long rounds = 0;
    guildhall_word_setup();
    guildhall_waitlist_setup(guildhall_word_setup);
    printf("seed %u\n", seed);
    for (; time(NULL) < end; rounds++) {
        alarm(60);
        round_of(&seed);
    }
    printf("%ld rounds\n", rounds);
    return 0;
}
