/* A list of free blocks for each of thirty-two sizes between two powers of two; and what the garbage collector is told of blocks. */
#include "block_pool.h"
#include <guildhall/block_pool.h>
#include <guildhall/sharing.h>
#include <ruby.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "init.h"

#define STEPS_LOG 5
#define SMALLEST_LOG 7 /* 128 bytes, and nothing is smaller than the first step beyond them */
#define LARGEST_LOG 21 /* 2 MiB; larger blocks are left to malloc */
#define SIZES ((LARGEST_LOG - SMALLEST_LOG) << STEPS_LOG)

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#define KEPT ((ptrdiff_t)0) /* AddressSanitizer is to see what is used after it was freed */
#else
#define KEPT ((ptrdiff_t)GUILDHALL_BLOCK_POOL_BYTES)
#endif

typedef struct {
    atomic_flag busy;
    void *first;      /* each free block begins with the address of the next */
    ptrdiff_t uncounted; /* bytes that `kept` does not know of yet */
} list;

typedef struct {
    unsigned index;
    size_t bytes;
} size_class;

static list lists[SIZES];
static atomic_ptrdiff_t kept; /* bytes, about: lists report theirs from time to time, because all threads share it */

#define COUNTED_BYTES ((ptrdiff_t)16 << 10)

static inline size_class block_pool_class_of(size_t size)
{
    size_t last = size > (size_t)1 << SMALLEST_LOG ? size - 1 : (size_t)1 << SMALLEST_LOG;
    unsigned log = 63 - (unsigned)__builtin_clzll(last), shift = log - STEPS_LOG;
    unsigned step = (unsigned)(last >> shift) & ((1u << STEPS_LOG) - 1);
    return (size_class){((log - SMALLEST_LOG) << STEPS_LOG) + step, ((last >> shift) + 1) << shift};
}

size_t guildhall_block_bytes(size_t size)
{
    size_class class = block_pool_class_of(size);
    return class.index < SIZES ? class.bytes : size;
}

static inline int block_pool_enter(list *list) { return !atomic_flag_test_and_set_explicit(&list->busy, memory_order_acquire); }
static inline void block_pool_leave(list *list) { atomic_flag_clear_explicit(&list->busy, memory_order_release); }

/* With the list in hand. */
static inline void block_pool_count(list *list, ptrdiff_t bytes)
{
    list->uncounted += bytes;
    if (list->uncounted > -COUNTED_BYTES && list->uncounted < COUNTED_BYTES) return;
    atomic_fetch_add_explicit(&kept, list->uncounted, memory_order_relaxed);
    list->uncounted = 0;
}

static void *block_pool_pop(list *list, size_t bytes)
{
    if (!block_pool_enter(list)) return NULL;
    void *block = list->first, *next = NULL;
    if (block) {
        memcpy(&next, block, sizeof next);
        list->first = next;
        block_pool_count(list, -(ptrdiff_t)bytes);
    }
    block_pool_leave(list);
    __builtin_prefetch(next); /* it was freed long ago, and its first bytes are what the next one to come here waits for */
    return block;
}

static int block_pool_push(list *list, void *block, size_t bytes)
{
    if (atomic_load_explicit(&kept, memory_order_relaxed) + (ptrdiff_t)bytes > KEPT || !block_pool_enter(list)) return 0;
    memcpy(block, &list->first, sizeof list->first);
    list->first = block;
    block_pool_count(list, (ptrdiff_t)bytes);
    block_pool_leave(list);
    return 1;
}

void *guildhall_block_take(size_t size)
{
    size_class class = block_pool_class_of(size);
    if (class.index >= SIZES) return malloc(size);
    void *block = block_pool_pop(&lists[class.index], class.bytes);
    return block ? block : malloc(class.bytes);
}

void guildhall_block_give(void *block, size_t size)
{
    size_class class = block_pool_class_of(size);
    if (class.index >= SIZES || !block_pool_push(&lists[class.index], block, class.bytes)) free(block);
}

/* ---- What is allocated is reported at once; what is freed, when the next collection marks, or never.
 *
 * Ruby begins a collection when a limit is exceeded by what was allocated since the last one, less what was freed meanwhile. But it frees
 * while the program goes on, and what it frees is the last collection's garbage: each time there is more of it, until Ruby takes
 * all of it for objects that have grown old, and marks the whole heap.
 *
 * Up to Ruby 4.0 what is reported while a collection marks counts for the decision to mark the whole heap only. With a collector for each
 * Ractor it would delay the next collection as well. So nothing is reported as freed there: memory stays as small as it is with one
 * collector, and the whole heap is marked at least each time that 128 MiB were allocated. */
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

/* ---- Guildhall::NATIVE_BLOCK_POOL: where other extensions find the blocks */

static const guildhall_block_pool blocks = {GUILDHALL_BLOCK_POOL_ABI, guildhall_block_take, guildhall_block_give,
                                            guildhall_gc_block_adopt, guildhall_gc_freed};

void guildhall_init_block_pool(VALUE guildhall)
{
    rb_define_const(guildhall, "NATIVE_BLOCK_POOL", ULL2NUM((uint64_t)(uintptr_t)&blocks));
    rb_funcall(guildhall, rb_intern("private_constant"), 1, ID2SYM(rb_intern("NATIVE_BLOCK_POOL")));
}
