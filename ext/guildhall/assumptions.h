/* What assumptions.c has found out of the Ruby that loads the extension. */
#ifndef GUILDHALL_ASSUMPTIONS_H
#define GUILDHALL_ASSUMPTIONS_H

#include <stddef.h>

/* The largest struct of a Document that Ruby keeps in the object's own slot. */
extern size_t guildhall_embedded_bytes;

#endif
