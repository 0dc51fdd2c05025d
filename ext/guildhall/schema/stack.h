/* Scratch memory for one validation: taken and given back in order, never moved, freed as a whole. The first block
 * lies in the struct itself, so that most validations take nothing from the heap. */
#ifndef GUILDHALL_SCHEMA_STACK_H
#define GUILDHALL_SCHEMA_STACK_H

#include <ruby.h>
#include <stddef.h>
#include <stdint.h>

typedef struct guildhall_stack_block {
    struct guildhall_stack_block *below;
    size_t used, size; /* in words */
    uint64_t *words;
} guildhall_stack_block;

typedef struct {
    guildhall_stack_block *top;
    guildhall_stack_block first;
    uint64_t words[64];
} guildhall_stack;

typedef struct {
    guildhall_stack_block *block;
    size_t used;
} guildhall_stack_mark;

static inline void guildhall_stack_init(guildhall_stack *stack)
{
    stack->first = (guildhall_stack_block){NULL, 0, sizeof stack->words / sizeof *stack->words, stack->words};
    stack->top = &stack->first;
}

static inline guildhall_stack_mark guildhall_stack_marked(const guildhall_stack *stack)
{
    return (guildhall_stack_mark){stack->top, stack->top->used};
}

/* Gives back all that was taken since the mark. */
static inline void guildhall_stack_release(guildhall_stack *stack, guildhall_stack_mark mark)
{
    while (stack->top != mark.block) {
        guildhall_stack_block *block = stack->top;
        stack->top = block->below;
        ruby_xfree(block);
    }
    stack->top->used = mark.used;
}

static inline void guildhall_stack_free(guildhall_stack *stack)
{
    guildhall_stack_release(stack, (guildhall_stack_mark){&stack->first, 0});
}

/* Not cleared. May raise NoMemoryError. */
static inline void *guildhall_stack_take(guildhall_stack *stack, size_t bytes)
{
    size_t words = (bytes + 7) / 8;
    guildhall_stack_block *top = stack->top;
    if (top->size - top->used < words) {
        size_t size = words > 1024 ? words : 1024;
        guildhall_stack_block *block = ruby_xmalloc(sizeof *block + size * sizeof(uint64_t));
        *block = (guildhall_stack_block){top, 0, size, (uint64_t *)(block + 1)};
        stack->top = top = block;
    }
    void *taken = top->words + top->used;
    top->used += words;
    return taken;
}

#endif
