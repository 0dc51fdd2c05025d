/* Blocks (block_pool.h) whose size the garbage collector knows. Needs the GVL. */
#ifndef GUILDHALL_MEMORY_GC_BLOCK_H
#define GUILDHALL_MEMORY_GC_BLOCK_H

#include <stddef.h>

/* Raises NoMemoryError. */
void *guildhall_gc_block_new(size_t size);

/* Reports a block that was taken without the GVL, and lets the garbage collector check its limits now and then: a report alone
 * never starts a collection. */
void guildhall_gc_block_adopt(size_t size);

/* size: as it was asked for. */
void guildhall_gc_block_release(void *memory, size_t size);

/* Reports what is freed of memory that was reported by guildhall_gc_block_adopt or rb_gc_adjust_memory_usage, where that is of use: see
 * gc_block.c. With or without the GVL, also while garbage is collected. */
void guildhall_gc_freed(size_t size);

#endif
