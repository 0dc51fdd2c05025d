/* Memory that comes and goes with messages, for C code beside this gem: blocks that are free are kept for those who ask
 * for one of that size, by whichever thread they were freed. Where that is, the constant Guildhall::NATIVE_BLOCK_POOL says: the
 * address of a guildhall_block_pool, which stays for as long as the process does.
 */
#ifndef GUILDHALL_BLOCK_POOL_H
#define GUILDHALL_BLOCK_POOL_H

#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_BLOCK_POOL_ABI 3

/* With or without the GVL, from any thread; no thread waits. */
typedef struct {
    uint32_t abi;                           /* GUILDHALL_BLOCK_POOL_ABI */
    void *(*take)(size_t size);             /* NULL when there is no memory */
    void (*give)(void *block, size_t size); /* size: as it was asked for */
    void (*adopted)(size_t size);           /* instead of rb_gc_adjust_memory_usage(size), with the GVL; may collect garbage */
    void (*freed)(size_t size);             /* instead of rb_gc_adjust_memory_usage(-size), by an object's dfree */
} guildhall_block_pool;

#endif
