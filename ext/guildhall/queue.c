#include "queue.h"
#include <stdlib.h>

typedef struct {
    guildhall_cell *cell;
    size_t turn; /* 2 × the round */
} place;

static inline place place_of(const guildhall_ring *ring, size_t position)
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
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->head, 0);
    return ring->cells ? 0 : -1;
}

void guildhall_ring_destroy(guildhall_ring *ring)
{
    free(ring->cells);
    ring->cells = NULL;
}

int guildhall_ring_push(guildhall_ring *ring, uintptr_t item)
{
    /* Relaxed: the position is only a guess that the exchange below confirms. */
    size_t position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        place at = place_of(ring, position);
        /* Acquire: pairs with the release in pop, whose reading of the cell must be over before it is written again. */
        size_t turn = atomic_load_explicit(&at.cell->turn, memory_order_acquire);
        if (turn == at.turn) {
            /* Relaxed: the exchange orders nothing but the positions; the cell's turn publishes the item. */
            if (atomic_compare_exchange_weak_explicit(&ring->tail, &position, position + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                at.cell->item = item;
                atomic_store_explicit(&at.cell->turn, at.turn + 1, memory_order_release);
                return 1;
            }
        }
        else {
            size_t seen = position;
            position = atomic_load_explicit(&ring->tail, memory_order_relaxed);
            if (seen == position) return 0; /* full: the cell still holds last round's item */
        }
    }
}

int guildhall_ring_pop(guildhall_ring *ring, uintptr_t *item)
{
    size_t position = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (;;) {
        place at = place_of(ring, position);
        /* Acquire: pairs with the release in push; the item is there. */
        size_t turn = atomic_load_explicit(&at.cell->turn, memory_order_acquire);
        if (turn == at.turn + 1) {
            if (atomic_compare_exchange_weak_explicit(&ring->head, &position, position + 1, memory_order_relaxed,
                                                      memory_order_relaxed)) {
                *item = at.cell->item;
                atomic_store_explicit(&at.cell->turn, at.turn + 2, memory_order_release);
                return 1;
            }
        }
        else {
            size_t seen = position;
            position = atomic_load_explicit(&ring->head, memory_order_relaxed);
            if (seen == position) return 0; /* empty, or its producer has not published yet */
        }
    }
}

size_t guildhall_ring_size(guildhall_ring *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail <= head) return 0;
    return tail - head < ring->capacity ? tail - head : ring->capacity;
}

void guildhall_ring_each(guildhall_ring *ring, void (*visit)(uintptr_t item))
{
    for (size_t index = 0; index < ring->capacity; index++) {
        guildhall_cell *cell = &ring->cells[index];
        if (atomic_load_explicit(&cell->turn, memory_order_acquire) & 1) visit(cell->item);
    }
}
