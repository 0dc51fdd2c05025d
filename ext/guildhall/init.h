/* One initialiser a native part, each given the module Guildhall. */
#ifndef GUILDHALL_INIT_H
#define GUILDHALL_INIT_H
#include <ruby.h>

void guildhall_init_schema(VALUE guildhall);

#endif
