/* What is allocated is reported at once; what is freed, when the next collection marks, or never.
 *
 * Ruby begins a collection when a limit is exceeded by what was allocated since the last one, less what was freed meanwhile. But it frees
 * while the program goes on, and what it frees is the last collection's garbage: each time there is more of it, until Ruby takes
 * all of it for objects that have grown old, and marks the whole heap.
 *
 * Up to Ruby 4.0 what is reported while a collection marks counts for the decision to mark the whole heap only. With a collector for each
 * Ractor it would delay the next collection as well. So nothing is reported as freed there: memory stays as small as it is with one
 * collector, and the whole heap is marked at least each time that 128 MiB were allocated. */
#include <ruby.h>
#include <guildhall/block_pool.h>
#include <guildhall/sharing.h>
#include "block_pool.h"
#include "gc_block.h"
#include "init.h"
#include <stdatomic.h>

/* Only Ruby's own allocation checks the limit, so every thread makes one after each MiB that it reported. */
#define BYTES_BETWEEN_CHECKS ((size_t)1 << 20)

#if GUILDHALL_COLLECTOR_PER_RACTOR
void guildhall_gc_freed(size_t size) { }

void guildhall_init_gc_block(void) { }
#else
static _Atomic size_t freed; /* bytes, not reported yet */

/* Called in every collection. */
static void freed_report(void *nothing)
{
    size_t bytes = atomic_exchange_explicit(&freed, 0, memory_order_relaxed);
    if (bytes) rb_gc_adjust_memory_usage(-(ssize_t)bytes);
}

/* Without write barriers: marked in every collection, of a few objects or of all. */
static const rb_data_type_t freed_type = {"Guildhall collection", {freed_report, NULL, NULL}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

void guildhall_gc_freed(size_t size) { atomic_fetch_add_explicit(&freed, size, memory_order_relaxed); }

void guildhall_init_gc_block(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(0, &freed_type, &freed)); /* no program sees it */
}
#endif

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

/* ---- Guildhall::NATIVE_BLOCK_POOL: where other extensions find the blocks */

static const guildhall_block_pool blocks = {GUILDHALL_BLOCK_POOL_ABI, guildhall_block_take, guildhall_block_give,
                                            guildhall_gc_block_adopt, guildhall_gc_freed};

void guildhall_init_block_pool(VALUE guildhall)
{
    rb_define_const(guildhall, "NATIVE_BLOCK_POOL", ULL2NUM((uint64_t)(uintptr_t)&blocks));
    rb_funcall(guildhall, rb_intern("private_constant"), 1, ID2SYM(rb_intern("NATIVE_BLOCK_POOL")));
}
