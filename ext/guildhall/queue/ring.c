#include "ring.h"
#include <stdlib.h>

#define CLOSED ((size_t)1 << (sizeof(size_t) * 8 - 1))

typedef struct {
    guildhall_cell *cell;
    size_t turn; /* 2 × the round */
} place;

static inline place queue_ring_place_of(const guildhall_ring *ring, size_t position)
{
    if (ring->mask || ring->capacity == 1)
        return (place){&ring->cells[position & ring->mask], (position >> ring->shift) << 1};
    size_t round = position / ring->capacity;
    return (place){&ring->cells[position - round * ring->capacity], round << 1};
}

int guildhall_ring_init(guildhall_ring *ring, size_t capacity)
{
    ring->capacity = capacity;
    ring->mask = (capacity & (capacity - 1)) == 0 ? capacity - 1 : 0;
    ring->shift = (unsigned)__builtin_ctzll(capacity);
    ring->cells = calloc(capacity, sizeof(guildhall_cell));
    atomic_init(&ring->closed, 0);
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->head, 0);
    return ring->cells ? 0 : -1;
}

void guildhall_ring_destroy(guildhall_ring *ring)
{
    free(ring->cells);
    ring->cells = NULL;
}

/* How many cells from position on, at most count, are free (offset 0) or full (offset 1) in that position's round. Nobody
 * but who claims these positions can change such a cell, so the answer stays true until then. */
static inline size_t queue_ring_ready_cells(const guildhall_ring *ring, size_t position, size_t count, size_t offset)
{
    size_t ready = 0;
    while (ready < count) {
        place at = queue_ring_place_of(ring, position + ready);
        /* Acquire: pairs with the release of the other side. A producer may overwrite the cell only after its consumer
         * has read it; a consumer may read it only after its producer has written it. */
        if (atomic_load_explicit(&at.cell->turn, memory_order_acquire) != at.turn + offset) break;
        ready++;
    }
    return ready;
}

static inline void queue_ring_publish(guildhall_ring *ring, size_t position, uintptr_t item)
{
    place at = queue_ring_place_of(ring, position);
    atomic_store_explicit(&at.cell->item, item, memory_order_relaxed);
    /* Release: a thread that sees the cell full sees the item. */
    atomic_store_explicit(&at.cell->turn, at.turn + 1, memory_order_release);
}

static inline uintptr_t queue_ring_take(guildhall_ring *ring, size_t position)
{
    place at = queue_ring_place_of(ring, position);
    uintptr_t item = atomic_load_explicit(&at.cell->item, memory_order_relaxed);
    /* Release: a thread that sees the cell free comes after our reading of it. */
    atomic_store_explicit(&at.cell->turn, at.turn + 2, memory_order_release);
    return item;
}

static inline long queue_ring_push(guildhall_ring *ring, const uintptr_t *items, size_t count)
{
    /* Relaxed, here and below: a position is a guess which the exchange confirms, and the exchange orders nothing but
     * positions; items are published by their cells' turns. */
    size_t position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        if (position & CLOSED) return GUILDHALL_RING_CLOSED;
        size_t ready = queue_ring_ready_cells(ring, position, count, 0);
        if (ready == 0) {
            size_t seen = position;
            position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
            if (seen == position) return 0; /* full: the cell still holds last round's item */
        }
        else if (atomic_compare_exchange_weak_explicit(&ring->tail, &position, position + ready, memory_order_relaxed,
                                                       memory_order_relaxed)) {
            for (size_t index = 0; index < ready; index++) queue_ring_publish(ring, position + index, items[index]);
            return (long)ready;
        }
    }
}

/* Closed, and every position that was ever claimed by a producer has been claimed by a consumer. */
static inline int queue_ring_exhausted(guildhall_ring *ring, size_t position)
{
    /* Acquire: `closed` follows the bit in tail, which must be there when we look. */
    if (!atomic_load_explicit(&ring->closed, memory_order_acquire)) return 0;
    return atomic_load_explicit(&ring->tail, memory_order_relaxed) == (position | CLOSED);
}

static inline long queue_ring_pop(guildhall_ring *ring, uintptr_t *items, size_t count)
{
    size_t position = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        size_t ready = queue_ring_ready_cells(ring, position, count, 1);
        if (ready == 0) {
            size_t seen = position;
            position = atomic_load_explicit(&ring->head, memory_order_relaxed);
            if (seen != position) continue;
            return queue_ring_exhausted(ring, position) ? GUILDHALL_RING_CLOSED : 0; /* empty, or not published yet */
        }
        if (atomic_compare_exchange_weak_explicit(&ring->head, &position, position + ready, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            for (size_t index = 0; index < ready; index++) items[index] = queue_ring_take(ring, position + index);
            return (long)ready;
        }
    }
}

/* The compiler drops the loops of the first. */
long guildhall_ring_push(guildhall_ring *ring, const uintptr_t *items, size_t count)
{
    return count == 1 ? queue_ring_push(ring, items, 1) : queue_ring_push(ring, items, count);
}

long guildhall_ring_pop(guildhall_ring *ring, uintptr_t *items, size_t count)
{
    return count == 1 ? queue_ring_pop(ring, items, 1) : queue_ring_pop(ring, items, count);
}

void guildhall_ring_close(guildhall_ring *ring)
{
    atomic_fetch_or_explicit(&ring->tail, CLOSED, memory_order_relaxed);
    atomic_store_explicit(&ring->closed, 1, memory_order_release); /* pairs with exhausted */
}

int guildhall_ring_closed(const guildhall_ring *ring)
{
    return atomic_load_explicit(&((guildhall_ring *)ring)->closed, memory_order_acquire);
}

size_t guildhall_ring_size(const guildhall_ring *ring)
{
    guildhall_ring *self = (guildhall_ring *)ring;
    size_t head = atomic_load_explicit(&self->head, memory_order_relaxed);
    size_t tail = atomic_load_explicit(&self->tail, memory_order_relaxed) & ~CLOSED;
    if (tail <= head) return 0; /* head was read before others moved both */
    return tail - head < ring->capacity ? tail - head : ring->capacity;
}

/* Puts what is there together, from head on, and gives every cell the turn that follows from that. */
void guildhall_ring_renew(guildhall_ring *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed), tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t end = head;
    for (size_t position = head; position < (tail & ~CLOSED); position++) {
        place at = queue_ring_place_of(ring, position);
        if (atomic_load_explicit(&at.cell->turn, memory_order_relaxed) != at.turn + 1) continue;
        uintptr_t kept = atomic_load_explicit(&at.cell->item, memory_order_relaxed);
        atomic_store_explicit(&queue_ring_place_of(ring, end++).cell->item, kept, memory_order_relaxed);
    }
    for (size_t position = head; position < head + ring->capacity; position++) {
        place at = queue_ring_place_of(ring, position);
        atomic_store_explicit(&at.cell->turn, at.turn + (position < end), memory_order_relaxed);
    }
    atomic_store_explicit(&ring->closed, (tail & CLOSED) != 0, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, end | (tail & CLOSED), memory_order_release);
}

void guildhall_ring_each(guildhall_ring *ring, void (*visit)(uintptr_t item))
{
    size_t position = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (size_t left = guildhall_ring_size(ring); left > 0; left--, position++) {
        place at = queue_ring_place_of(ring, position);
        if (atomic_load_explicit(&at.cell->turn, memory_order_acquire) == at.turn + 1)
            visit(atomic_load_explicit(&at.cell->item, memory_order_relaxed));
    }
}
