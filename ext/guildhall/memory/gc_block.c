/* What is allocated is reported at once; what is freed, when the next collection marks.
 *
 * Ruby begins a collection when a limit is exceeded by what was allocated since the last one, less what was freed meanwhile. But it frees
 * while the program goes on, and what it frees is the last collection's garbage: each time there is more of it, until Ruby takes
 * all of it for objects that have grown old, and marks the whole heap. */
#include <ruby.h>
#include "block_pool.h"
#include "gc_block.h"
#include "init.h"
#include <stdatomic.h>

/* Only Ruby's own allocation checks the limit, so every thread makes one after each MiB that it reported. */
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
    guildhall_gc_freed(size);
}

static _Atomic size_t freed; /* bytes, not reported yet */

void guildhall_gc_freed(size_t size) { atomic_fetch_add_explicit(&freed, size, memory_order_relaxed); }

static void report_freed(void *nothing)
{
    size_t bytes = atomic_exchange_explicit(&freed, 0, memory_order_relaxed);
    if (bytes) rb_gc_adjust_memory_usage(-(ssize_t)bytes);
}

/* Without write barriers: marked in every collection, of a few objects or of all. */
static const rb_data_type_t collection_type = {
    "Guildhall collection", {report_freed, NULL, NULL}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

void guildhall_init_gc_block(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(0, &collection_type, &freed)); /* no program sees it */
}
