/* Only Ruby's own allocation checks the limit, so every thread makes one after each MiB that it reported. */
#include <ruby.h>
#include "block_pool.h"
#include "gc_block.h"

#define BYTES_BETWEEN_CHECKS ((size_t)1 << 20)

void guildhall_gc_block_adopt(size_t size)
{
    static __thread size_t reported;
    rb_gc_adjust_memory_usage((ssize_t)size);
    reported += size;
    if (reported < BYTES_BETWEEN_CHECKS) return;
    reported = 0;
    ruby_xfree(ruby_xmalloc(1));
}

void *guildhall_gc_block_new(size_t size)
{
    guildhall_gc_block_adopt(size);
    void *memory = guildhall_block_take(size);
    if (!memory) rb_memerror();
    return memory;
}

void guildhall_gc_block_release(void *memory, size_t size)
{
    guildhall_block_give(memory, size);
    rb_gc_adjust_memory_usage(-(ssize_t)size);
}
