/* Memory that comes and goes with messages, for C code beside this gem: blocks that are free are kept for those who ask
 * for one of that size, by whichever thread they were freed. Where that is, the constant Guildhall::NATIVE_BLOCKS says: the
 * address of a guildhall_blocks, which stays for as long as the process does.
 */
#ifndef GUILDHALL_NATIVE_BLOCKS_H
#define GUILDHALL_NATIVE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_BLOCKS_ABI 1

/* With or without the GVL, from any thread; nobody waits. */
typedef struct {
    uint32_t abi;                           /* GUILDHALL_BLOCKS_ABI */
    void *(*take)(size_t size);             /* NULL when there is no memory */
    void (*give)(void *block, size_t size); /* size: as it was asked for */
} guildhall_blocks;

#endif
