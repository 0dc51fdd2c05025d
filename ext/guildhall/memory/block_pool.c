/* A list of free blocks for each of thirty-two sizes between two powers of two. */
#include "block_pool.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
