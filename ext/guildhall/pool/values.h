/* What `map` gives, made of a batch's outcomes. */
#ifndef GUILDHALL_POOL_VALUES_H
#define GUILDHALL_POOL_VALUES_H

#include <ruby.h>
#include <stdbool.h>

/* The outcomes, frozen, without those that were dropped: the same Array where there are none. Raises the first Failure, which then
 * says which payload it was. */
VALUE guildhall_values(VALUE outcomes);
void guildhall_init_pool_values(VALUE guildhall, VALUE pool);

#endif
