/* Growing beyond the C stack. */
#include <string.h>
#include "value_stack.h"

void guildhall_value_stack_grow(guildhall_value_stack *stack)
{
    VALUE holder = 0;
    size_t capacity = stack->capacity * 4;
    VALUE *values = rb_alloc_tmp_buffer(&holder, (long)(capacity * sizeof(VALUE)));
    memcpy(values, stack->values, stack->count * sizeof(VALUE));
    /* The new memory is scanned as a whole: what is not used yet must not look like objects. */
    memset(values + stack->count, 0, (capacity - stack->count) * sizeof(VALUE));
    VALUE before = stack->holder;
    stack->values = values;
    stack->capacity = capacity;
    stack->holder = holder;
    if (before) rb_free_tmp_buffer(&before);
}
