/* A queue that a child inherits while threads of its parent are half-way through an operation, without Ruby. Ends with status 1 where
 * something is wrong. */
#include "queue/channel.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static guildhall_channel channel;

static void expect(bool right, const char *what)
{
    if (right) return;
    printf("wrong: %s\n", what);
    fflush(stdout);
    _exit(1);
}

static bool push(uintptr_t item) { return guildhall_channel_push(&channel, 0, &item, 1) == 1; }

static uintptr_t pop(void)
{
    uintptr_t item = 0;
    size_t stripe;
    long popped = guildhall_channel_pop(&channel, 0, &item, 1, &stripe);
    return popped == 1 ? item : popped == GUILDHALL_RING_CLOSED ? 99 : 0;
}

/* What a thread does first. */
static void claim_push(void) { channel.stripes[0].ring.tail++; }
static void claim_pop(void) { channel.stripes[0].ring.head++; }

static void in_child(size_t capacity, bool close)
{
    expect(guildhall_channel_size(&channel) == 3, "size");
    expect(pop() == 12 && pop() == 13 && pop() == 14, "what was published is there, in order");
    expect(pop() == (close ? 99 : 0), "and nothing else");
    if (close) return;
    for (int round = 0; round < 3; round++) {
        for (uintptr_t item = 1; item <= capacity; item++) expect(push(item), "room");
        expect(!push(100), "more than its capacity");
        for (uintptr_t item = 1; item <= capacity; item++) expect(pop() == item, "order afterwards");
        expect(pop() == 0, "empty");
    }
}

static void fork_and_check(size_t capacity, size_t before, bool close)
{
    if (guildhall_channel_init(&channel, capacity, 1) != 0) abort();
    for (size_t i = 0; i < before; i++) expect(push(1) && pop() == 1, "before");
    expect(push(11), "first");
    expect(push(12), "second");
    claim_pop(); /* 11 */
    claim_push();
    expect(push(13) && push(14), "third");
    claim_push();
    if (close) guildhall_channel_close(&channel);
    pid_t child = fork();
    if (child == 0) {
        in_child(capacity, close);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    expect(status == 0, "the child");
    guildhall_channel_destroy(&channel);
}

static void nothing(void) {}

int main(void)
{
    alarm(60);
    guildhall_waitlist_setup(nothing);
    for (size_t capacity = 6; capacity <= 9; capacity++) { /* 8 is a power of two */
        for (size_t before = 0; before < 20; before++) fork_and_check(capacity, before, before % 2);
    }
    printf("right\n");
    return 0;
}
