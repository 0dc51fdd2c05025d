/* What Documents have in common: whose bytes they show, and memory that Ruby did not allocate (blocks.h). Needs the
 * GVL. */
#ifndef GUILDHALL_DOCUMENT_MEMORY_H
#define GUILDHALL_DOCUMENT_MEMORY_H

#include <ruby.h>

/* The String itself where it is frozen and shareable, else a copy that is. Raises TypeError for what is no String. */
VALUE guildhall_frozen_bytes(VALUE source);

/* A block, of which the garbage collector knows. Raises NoMemoryError. */
void *guildhall_memory_new(size_t size);

/* Tells the garbage collector of a block that was taken without the GVL, and lets it look at its limits now and then: a
 * report alone never starts a collection. */
void guildhall_adopt_memory(size_t size);

/* Gives the block back, and tells. size: as it was asked for. */
void guildhall_release_memory(void *memory, size_t size);

#endif
