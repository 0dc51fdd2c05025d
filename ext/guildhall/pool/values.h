/* What `map` gives, made of a batch's outcomes. */
#ifndef GUILDHALL_POOL_VALUES_H
#define GUILDHALL_POOL_VALUES_H

#include <ruby.h>
#include <stdbool.h>

/* The outcomes without DROPPED, frozen; the same Array if none was dropped. If an outcome is a Failure, raises the first one, with
 * the index of its payload. */
VALUE guildhall_values(VALUE outcomes);
void guildhall_init_pool_values(VALUE guildhall, VALUE pool);

#endif
