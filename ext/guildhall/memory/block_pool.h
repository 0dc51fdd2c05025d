/* Memory for tapes and messages, which come and go by the megabyte: a collection frees all that were made since the one before it.
 * Given back to the C library they would go on to the operating system, and be had again a page fault at a time, which
 * takes longer than reading the text does. So blocks that are free are kept for those who ask for one of that size.
 *
 * From any thread, with or without the GVL. No thread waits: while another thread uses a list, malloc and free are used instead,
 * and also in a child after fork, where the thread that used a list may not exist.
 */
#ifndef GUILDHALL_MEMORY_BLOCK_POOL_H
#define GUILDHALL_MEMORY_BLOCK_POOL_H

#include <stddef.h>

/* Of the whole process: as much as Ruby lets grow between two collections. */
#define GUILDHALL_BLOCK_POOL_BYTES ((size_t)32 << 20)

/* The size of a block for this many bytes: up to 1/32 more. */
size_t guildhall_block_bytes(size_t size);
/* NULL when there is no memory. */
void *guildhall_block_take(size_t size);
/* size: as it was asked for. */
void guildhall_block_give(void *block, size_t size);
/* Reports memory that comes and goes like blocks, and lets the garbage collector check its limits now and then: a report alone
 * never starts a collection. Needs the GVL; may raise. */
void guildhall_gc_block_adopt(size_t size);
/* Reports what is freed of memory that was reported, where that is of use: see block_pool.c. With or without the GVL, also while garbage
 * is collected. */
void guildhall_gc_freed(size_t size);

#endif
