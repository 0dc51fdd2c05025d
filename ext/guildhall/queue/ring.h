/* A bounded lock-free ring for many producers and many consumers, after Dmitry Vyukov's bounded MPMC queue. No Ruby in it:
 * an item is a word.
 *
 * A producer claims positions by advancing `tail`, fills their cells and publishes each through the cell's turn; a consumer
 * does the same with `head`. Vyukov's cells carry a sequence number that distinguishes a free cell of this round from a full one of
 * the last by the ring's size, which fails for one cell. Here a cell carries its turn instead: 2r while it is free in round
 * r, 2r + 1 while it is full, so that any capacity from 1 is exact.
 *
 * Closing sets the highest bit of `tail`, so that no position can be claimed afterwards: what was claimed before is
 * delivered, and "closed and empty" is final.
 */
#ifndef GUILDHALL_QUEUE_RING_H
#define GUILDHALL_QUEUE_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_CACHE_LINE 64
#define GUILDHALL_RING_CLOSED (-1L)

typedef struct {
    _Atomic size_t turn;
    _Atomic uintptr_t item; /* atomic only for those who walk the ring beside its users */
} guildhall_cell;

typedef struct {
    guildhall_cell *cells;
    size_t capacity;
    size_t mask; /* capacity - 1 where that is a power of two, else 0: division is dear */
    unsigned shift;
    _Atomic int closed; /* follows the bit in `tail`; here because consumers may read this line without disturbing producers */
    _Alignas(GUILDHALL_CACHE_LINE) _Atomic size_t tail; /* the next position to push to; the highest bit: closed */
    _Alignas(GUILDHALL_CACHE_LINE) _Atomic size_t head; /* the next position to pop from */
} guildhall_ring;

/* 0, or -1 when there is no memory. capacity: 1 or more. */
int guildhall_ring_init(guildhall_ring *ring, size_t capacity);
void guildhall_ring_destroy(guildhall_ring *ring);

/* Pushes the first of `count` items, as many as there is room for at once; they lie side by side in the ring. Returns how
 * many; 0: full (or, for the moment, an operation on the next cell is in flight); GUILDHALL_RING_CLOSED: none, ever. */
long guildhall_ring_push(guildhall_ring *ring, const uintptr_t *items, size_t count);
/* Pops up to `count` items at once. Returns how many; 0: empty (or, for the moment, an operation on the next cell is in
 * flight); GUILDHALL_RING_CLOSED: closed, and all that was pushed has been taken. */
long guildhall_ring_pop(guildhall_ring *ring, uintptr_t *items, size_t count);
/* What was pushed before stays; pushes in flight complete. */
void guildhall_ring_close(guildhall_ring *ring);
int guildhall_ring_closed(const guildhall_ring *ring);
/* A moment's view; between 0 and capacity. */
size_t guildhall_ring_size(const guildhall_ring *ring);
/* In a child after fork, while no other thread uses the ring: what threads of the parent had claimed and not yet done is as if they had
 * never begun. A push that was not published is lost here, and a pop that was not done has taken its item. */
void guildhall_ring_renew(guildhall_ring *ring);
/* Calls visit for each item that is in the ring. Exact where no thread pushes or pops meanwhile. */
void guildhall_ring_each(guildhall_ring *ring, void (*visit)(uintptr_t item));

#endif
