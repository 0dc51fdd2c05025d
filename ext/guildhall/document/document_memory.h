/* What Documents of binary formats have in common: whose bytes they show, and memory that Ruby did not allocate. Needs
 * the GVL. */
#ifndef GUILDHALL_DOCUMENT_MEMORY_H
#define GUILDHALL_DOCUMENT_MEMORY_H

#include <ruby.h>

/* The String itself where it is frozen and shareable, else a copy that is. Raises TypeError for what is no String. */
VALUE guildhall_frozen_bytes(VALUE source);

/* Tells the garbage collector of memory that malloc made without the GVL, and lets it look at its limits now and then:
 * a report alone never starts a collection. */
void guildhall_adopt_memory(size_t size);

/* Frees it, and tells. */
void guildhall_release_memory(void *memory, size_t size);

#endif
