/* For recursive functions: raises before the stack overflows. An overflow could interrupt them anywhere, and leave data
 * half written. Fibers have short stacks. */
#ifndef GUILDHALL_MEMORY_STACK_CHECK_H
#define GUILDHALL_MEMORY_STACK_CHECK_H

#include <ruby.h>

/* Call it at each level; Ruby reserves room for eight of our levels. Raises SystemStackError. */
static inline void guildhall_check_stack(uint32_t depth)
{
    if (RB_UNLIKELY(depth % 8 == 0) && ruby_stack_check()) rb_raise(rb_eSysStackError, "stack level too deep");
}

#endif
