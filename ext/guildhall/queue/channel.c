#include "channel.h"
#include <stdlib.h>
#include <string.h>

int guildhall_channel_init(guildhall_channel *channel, size_t capacity, size_t stripes)
{
    size_t each = (capacity + stripes - 1) / stripes;
    channel->count = 0;
    channel->generation = guildhall_fork_generation();
    channel->capacity = each * stripes;
    guildhall_waitlist_init(&channel->takers);
    channel->stripes = aligned_alloc(_Alignof(guildhall_stripe), stripes * sizeof(guildhall_stripe));
    if (!channel->stripes) return -1;
    for (; channel->count < stripes; channel->count++) {
        guildhall_stripe *stripe = &channel->stripes[channel->count];
        if (guildhall_ring_init(&stripe->ring, each) != 0) return -1;
        guildhall_waitlist_init(&stripe->givers);
    }
    return 0;
}

void guildhall_channel_destroy(guildhall_channel *channel)
{
    for (size_t index = 0; index < channel->count; index++) {
        guildhall_ring_destroy(&channel->stripes[index].ring);
        guildhall_waitlist_destroy(&channel->stripes[index].givers);
    }
    guildhall_waitlist_destroy(&channel->takers);
    free(channel->stripes);
}

static void queue_channel_renew(guildhall_channel *channel)
{
    guildhall_renewal_lock();
    if (channel->generation != guildhall_fork_generation()) {
        for (size_t index = 0; index < channel->count; index++) guildhall_ring_renew(&channel->stripes[index].ring);
        __atomic_store_n(&channel->generation, guildhall_fork_generation(), __ATOMIC_RELEASE);
    }
    guildhall_renewal_unlock();
}

/* Before each use: a thread of the parent, which is not here, may have been half-way through an operation at the fork. */
static inline void queue_channel_own(guildhall_channel *channel)
{
    int forked = __atomic_load_n(&channel->generation, __ATOMIC_ACQUIRE) != guildhall_fork_generation();
    if (__builtin_expect(forked, 0)) queue_channel_renew(channel);
}

long guildhall_channel_push(guildhall_channel *channel, size_t lane, const uintptr_t *items, size_t count)
{
    queue_channel_own(channel);
    return guildhall_ring_push(&guildhall_channel_stripe(channel, lane)->ring, items, count);
}

long guildhall_channel_pop(guildhall_channel *channel, size_t lane, uintptr_t *items, size_t count, size_t *stripe)
{
    queue_channel_own(channel);
    if (channel->count == 1) return *stripe = 0, guildhall_ring_pop(&channel->stripes->ring, items, count);

    size_t exhausted = 0;
    for (size_t index = 0; index < channel->count; index++) {
        *stripe = (lane + index) % channel->count;
        long popped = guildhall_ring_pop(&channel->stripes[*stripe].ring, items, count);
        if (popped > 0) return popped;
        if (popped == GUILDHALL_RING_CLOSED) exhausted++;
    }
    return exhausted == channel->count ? GUILDHALL_RING_CLOSED : 0;
}

/* The chain of wakes. Who pushed or popped wakes one of the other side; and, where it leaves something behind for its own
 * side, one of that too. The second is not a courtesy: a producer may claim a cell and be delayed, another publish the next
 * and wake a consumer, which finds the first cell unpublished and sleeps again; when the first producer publishes, it wakes
 * one consumer, and there are two items. */
void guildhall_channel_pushed(guildhall_channel *channel, size_t lane)
{
    guildhall_stripe *stripe = guildhall_channel_stripe(channel, lane);
    guildhall_waitlist_wake_one(&channel->takers); /* its fence serves the look at the givers as well */
    if (guildhall_waitlist_count(&stripe->givers) && guildhall_ring_size(&stripe->ring) < stripe->ring.capacity)
        guildhall_waitlist_wake_one(&stripe->givers);
}

void guildhall_channel_popped(guildhall_channel *channel, size_t stripe)
{
    guildhall_waitlist_wake_one(&channel->stripes[stripe].givers);
    if (guildhall_waitlist_count(&channel->takers) &&
        (guildhall_channel_size(channel) > 0 || guildhall_channel_closed(channel)))
        guildhall_waitlist_wake_one(&channel->takers);
}

void guildhall_channel_exhausted(guildhall_channel *channel) { guildhall_waitlist_wake_one(&channel->takers); }

void guildhall_channel_close(guildhall_channel *channel)
{
    queue_channel_own(channel);
    for (size_t index = 0; index < channel->count; index++) guildhall_ring_close(&channel->stripes[index].ring);
    guildhall_waitlist_wake_all(&channel->takers);
    for (size_t index = 0; index < channel->count; index++) guildhall_waitlist_wake_all(&channel->stripes[index].givers);
}

int guildhall_channel_closed(const guildhall_channel *channel) { return guildhall_ring_closed(&channel->stripes->ring); }

size_t guildhall_channel_size(const guildhall_channel *channel)
{
    queue_channel_own((guildhall_channel *)channel);
    size_t size = 0;
    for (size_t index = 0; index < channel->count; index++) size += guildhall_ring_size(&channel->stripes[index].ring);
    return size;
}

size_t guildhall_channel_waiting(const guildhall_channel *channel)
{
    size_t waiting = guildhall_waitlist_count(&channel->takers);
    for (size_t index = 0; index < channel->count; index++)
        waiting += guildhall_waitlist_count(&channel->stripes[index].givers);
    return waiting;
}

void guildhall_channel_each(guildhall_channel *channel, void (*visit)(uintptr_t item))
{
    for (size_t index = 0; index < channel->count; index++) guildhall_ring_each(&channel->stripes[index].ring, visit);
}
