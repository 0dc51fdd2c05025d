/* A tape: what a binary payload is made of, eight bytes a value, in the order of the payload. Without Ruby.
 *
 * nodes[0] is the root. A container is followed by its children: an array by its elements, a map by key, value, key,
 * value …, a record by its values (their names stand in its schema). Each node:
 *
 *   bits 0–3    type: three containers, and scalars as each format defines them
 *   bits 4–31   array: number of elements; map: number of pairs; record, scalars: as the format defines it
 *   bits 32–63  containers: index of the node after the last descendant (the next sibling, if there is one);
 *               scalars: offset in the source, as a rule
 */
#ifndef GUILDHALL_TAPE_H
#define GUILDHALL_TAPE_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t guildhall_tape_node;

enum { GUILDHALL_TAPE_RECORD = 13, GUILDHALL_TAPE_ARRAY = 14, GUILDHALL_TAPE_MAP = 15 };

/* Longer sources are refused: lengths have 28 bits. */
#define GUILDHALL_TAPE_BYTES_LIMIT ((size_t)0x0fffffff)

static inline unsigned guildhall_tape_type(guildhall_tape_node node) { return (unsigned)(node & 15); }
static inline int guildhall_tape_is_container(guildhall_tape_node node) { return (node & 15) >= GUILDHALL_TAPE_RECORD; }
static inline uint32_t guildhall_tape_length(guildhall_tape_node node) { return (uint32_t)node >> 4; }
static inline uint32_t guildhall_tape_offset(guildhall_tape_node node) { return (uint32_t)(node >> 32); }
static inline guildhall_tape_node guildhall_tape_make(unsigned type, size_t length, size_t offset)
{
    return (uint64_t)type | (uint64_t)length << 4 | (uint64_t)offset << 32;
}

/* A node that is a number itself: sixty bits, signed. */
static inline guildhall_tape_node guildhall_tape_number(unsigned type, int64_t number)
{
    return (uint64_t)type | (uint64_t)number << 4;
}
static inline int64_t guildhall_tape_number_of(guildhall_tape_node node) { return (int64_t)node >> 4; }
static inline int guildhall_tape_number_fits(int64_t number)
{
    return number >= -((int64_t)1 << 59) && number < (int64_t)1 << 59;
}

/* The index after the value at `index` and all its descendants. A container's first child stands at index + 1. */
static inline uint32_t guildhall_tape_next(const guildhall_tape_node *nodes, uint32_t index)
{
    return guildhall_tape_is_container(nodes[index]) ? guildhall_tape_offset(nodes[index]) : index + 1;
}

/* A container that a reader has opened and not closed yet. */
typedef struct {
    uint32_t index;  /* of its node */
    uint32_t schema; /* what the format needs to go on with it */
    uint64_t left;   /* children that are to come (in Avro: of this block) */
} guildhall_tape_level;

/* What a reader writes to: grows as needed, is used again for the next payload. */
typedef struct {
    guildhall_tape_node *nodes;
    size_t count, capacity;
    guildhall_tape_level *levels;
    uint32_t depth, levels_capacity;
} guildhall_tape;

/* 0 when memory is short. Nodes and levels are added by these, inline for speed. */
int guildhall_tape_grow(guildhall_tape *tape);
int guildhall_tape_grow_levels(guildhall_tape *tape);

static inline int guildhall_tape_add(guildhall_tape *tape, guildhall_tape_node node)
{
    if (__builtin_expect(tape->count == tape->capacity, 0) && !guildhall_tape_grow(tape)) return 0;
    tape->nodes[tape->count++] = node;
    return 1;
}

/* Opens the container whose node was added last. */
static inline int guildhall_tape_open(guildhall_tape *tape, uint64_t children, uint32_t schema)
{
    if (tape->depth == tape->levels_capacity && !guildhall_tape_grow_levels(tape)) return 0;
    tape->levels[tape->depth++] = (guildhall_tape_level){(uint32_t)tape->count - 1, schema, children};
    return 1;
}

/* Gives the node its place in the tape's order: what follows now is not inside it any more. */
static inline void guildhall_tape_close(guildhall_tape *tape, uint32_t index)
{
    tape->nodes[index] = (uint32_t)tape->nodes[index] | (uint64_t)tape->count << 32;
}

/* The calling native thread's own tape; NULL when memory is short. Emptied by each reader. */
guildhall_tape *guildhall_tape_of_thread(void);

/* Gives back what an unusually large payload took. */
void guildhall_tape_trim(guildhall_tape *tape);
void guildhall_tape_free(guildhall_tape *tape);

#endif
