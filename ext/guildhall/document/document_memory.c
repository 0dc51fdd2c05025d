/* Only Ruby's own allocation looks at the limit, so every thread makes one after each MiB that it reported. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "blocks.h"
#include "document_memory.h"
#include "values.h"

#define REPORTED_BETWEEN_LOOKS ((size_t)1 << 20)

VALUE guildhall_frozen_bytes(VALUE source)
{
    StringValue(source);
    if (RB_OBJ_FROZEN_RAW(source) && rb_ractor_shareable_p(source)) return source;
    return guildhall_share(rb_str_new(RSTRING_PTR(source), RSTRING_LEN(source)));
}

void guildhall_adopt_memory(size_t size)
{
    static __thread size_t reported;
    rb_gc_adjust_memory_usage((ssize_t)size);
    reported += size;
    if (reported < REPORTED_BETWEEN_LOOKS) return;
    reported = 0;
    ruby_xfree(ruby_xmalloc(1));
}

void *guildhall_memory_new(size_t size)
{
    guildhall_adopt_memory(size);
    void *memory = guildhall_block_take(size);
    if (!memory) rb_memerror();
    return memory;
}

void guildhall_release_memory(void *memory, size_t size)
{
    guildhall_block_give(memory, size);
    rb_gc_adjust_memory_usage(-(ssize_t)size);
}
