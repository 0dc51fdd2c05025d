/* Growing beyond the C stack. */
#include <string.h>
#include "value_stack.h"

/* Ruby's own temporary memory for objects: marked as a whole, without write barriers. It is far larger than what ALLOCV would take of the
 * C stack. */
void guildhall_value_stack_reserve(guildhall_value_stack *stack, size_t capacity)
{
    if (capacity <= stack->capacity) return;
    volatile VALUE holder = 0;
    VALUE *values = ALLOCV_N(VALUE, holder, capacity);
    memcpy(values, stack->values, stack->count * sizeof(VALUE));
    guildhall_value_stack_release(stack);
    stack->values = values;
    stack->capacity = capacity;
    stack->holder = holder;
}

void guildhall_value_stack_grow(guildhall_value_stack *stack) { guildhall_value_stack_reserve(stack, stack->capacity * 4); }
