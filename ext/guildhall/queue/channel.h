/* One or more rings behind one push and one pop, with the waitlists beside them and the rules of who wakes whom. No Ruby in
 * it. A producer always pushes to the stripe of its own lane, which keeps its order; a consumer begins with its own lane's
 * and takes from any.
 */
#ifndef GUILDHALL_QUEUE_CHANNEL_H
#define GUILDHALL_QUEUE_CHANNEL_H

#include "ring.h"
#include "waiting/waitlist.h"

typedef struct {
    guildhall_ring ring;
    guildhall_waitlist givers; /* wait for room in this ring */
} guildhall_stripe;

typedef struct {
    guildhall_stripe *stripes;
    size_t count;
    size_t capacity;           /* of all stripes */
    unsigned generation;       /* of the process whose threads use it */
    guildhall_waitlist takers; /* wait for an item in any ring */
} guildhall_channel;

/* 0, or -1 when there is no memory. stripes: 1 or more, at most capacity; a stripe's capacity is the channel's, divided
 * and rounded up. */
int guildhall_channel_init(guildhall_channel *channel, size_t capacity, size_t stripes);
void guildhall_channel_destroy(guildhall_channel *channel);

/* As guildhall_ring_push, to the lane's stripe. A caller that pushed something then calls guildhall_channel_pushed. */
long guildhall_channel_push(guildhall_channel *channel, size_t lane, const uintptr_t *items, size_t count);
/* As guildhall_ring_pop, from one stripe, which it names. A caller that took something then calls guildhall_channel_popped; who
 * found it closed and empty, guildhall_channel_exhausted. */
long guildhall_channel_pop(guildhall_channel *channel, size_t lane, uintptr_t *items, size_t count, size_t *stripe);

/* They wake the threads that may go on now. */
void guildhall_channel_pushed(guildhall_channel *channel, size_t lane);
void guildhall_channel_popped(guildhall_channel *channel, size_t stripe);
void guildhall_channel_exhausted(guildhall_channel *channel);

void guildhall_channel_close(guildhall_channel *channel);
int guildhall_channel_closed(const guildhall_channel *channel);
size_t guildhall_channel_size(const guildhall_channel *channel);
size_t guildhall_channel_waiting(const guildhall_channel *channel);
void guildhall_channel_each(guildhall_channel *channel, void (*visit)(uintptr_t item));

static inline guildhall_stripe *guildhall_channel_stripe(guildhall_channel *channel, size_t lane)
{
    return channel->count == 1 ? channel->stripes : &channel->stripes[lane % channel->count];
}

#endif
