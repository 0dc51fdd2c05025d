/* The values that a decoder has made and not yet put into an Array or a Hash.
 *
 * The first ones lie on the C stack of the thread, the rest in memory that the garbage collector knows: both are
 * scanned. Nothing has to be released when an exception passes through. Needs the GVL.
 */
#ifndef GUILDHALL_MEMORY_VALUE_STACK_H
#define GUILDHALL_MEMORY_VALUE_STACK_H

#include <ruby.h>

#define GUILDHALL_VALUE_STACK_ON_C_STACK 256

typedef struct {
    VALUE *values;
    size_t count, capacity;
    volatile VALUE holder; /* owns `values` once they have left the C stack */
    VALUE first[GUILDHALL_VALUE_STACK_ON_C_STACK];
} guildhall_value_stack;

static inline void guildhall_value_stack_init(guildhall_value_stack *stack)
{
    stack->values = stack->first;
    stack->count = 0;
    stack->capacity = GUILDHALL_VALUE_STACK_ON_C_STACK;
    stack->holder = 0;
}

/* Room for this many values in all. */
void guildhall_value_stack_reserve(guildhall_value_stack *stack, size_t capacity);
void guildhall_value_stack_grow(guildhall_value_stack *stack);

static inline void guildhall_value_stack_push(guildhall_value_stack *stack, VALUE value)
{
    if (RB_UNLIKELY(stack->count == stack->capacity)) guildhall_value_stack_grow(stack);
    stack->values[stack->count++] = value;
}

/* Gives memory back early; what an exception leaves behind, the garbage collector takes. */
static inline void guildhall_value_stack_release(guildhall_value_stack *stack)
{
    if (stack->holder) ALLOCV_END(stack->holder);
}

#endif
