/* For functions that call themselves: an exception before the stack ends, which would end them anywhere, perhaps in
 * the middle of what must not be left half done. Fibers have short stacks. */
#ifndef GUILDHALL_MEMORY_STACK_CHECK_H
#define GUILDHALL_MEMORY_STACK_CHECK_H

#include <ruby.h>

/* To be called at each level; Ruby keeps room for eight of ours. Raises SystemStackError. */
static inline void guildhall_check_stack(uint32_t depth)
{
    if (RB_UNLIKELY(depth % 8 == 0) && ruby_stack_check()) rb_raise(rb_eSysStackError, "stack level too deep");
}

#endif
