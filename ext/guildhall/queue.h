/* A bounded lock-free ring for many producers and many consumers, after Dmitry Vyukov's bounded MPMC queue. No Ruby in it:
 * an item is a word.
 *
 * Vyukov's cells carry a sequence number that tells a free cell of this round from a full one of the last by the ring's
 * size, which fails for one cell. Here a cell carries its turn instead: 2r while it is free in round r, 2r + 1 while it is
 * full, so that any capacity from 1 is exact.
 */
#ifndef GUILDHALL_QUEUE_H
#define GUILDHALL_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_CACHE_LINE 64

typedef struct {
    _Atomic size_t turn;
    uintptr_t item;
} guildhall_cell;

typedef struct {
    guildhall_cell *cells;
    size_t capacity;
    size_t mask;  /* capacity - 1 where that is a power of two, else 0: division is dear */
    unsigned shift;
    _Alignas(GUILDHALL_CACHE_LINE) _Atomic size_t tail; /* the next position to push to */
    _Alignas(GUILDHALL_CACHE_LINE) _Atomic size_t head; /* the next position to pop from */
} guildhall_ring;

/* 0, or -1 when there is no memory. capacity: 1 or more. */
int guildhall_ring_init(guildhall_ring *ring, size_t capacity);
void guildhall_ring_destroy(guildhall_ring *ring);

/* 1, or 0: full (or, for the moment, an operation on the cell in question is in flight). */
int guildhall_ring_push(guildhall_ring *ring, uintptr_t item);
/* 1, or 0: empty (or, for the moment, an operation on the cell in question is in flight). */
int guildhall_ring_pop(guildhall_ring *ring, uintptr_t *item);
/* A moment's view; between 0 and capacity. */
size_t guildhall_ring_size(guildhall_ring *ring);
/* Calls visit for each item that is in the ring. Only where nobody pushes or pops, or (garbage collection) where an item
 * that is being taken may be visited too. */
void guildhall_ring_each(guildhall_ring *ring, void (*visit)(uintptr_t item));

#endif
