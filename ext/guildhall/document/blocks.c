/* A list of free blocks for each of sixteen sizes between two powers of two. */
#include "blocks.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_LOG 4
#define SMALLEST_LOG 7 /* 128 bytes, and nothing is smaller than the first step beyond them */
#define LARGEST_LOG 21 /* 2 MiB; larger blocks are left to malloc */
#define SIZES ((LARGEST_LOG - SMALLEST_LOG) << STEPS_LOG)

#ifdef __SANITIZE_ADDRESS__
#define KEPT ((size_t)0) /* AddressSanitizer is to see what is used after it was freed */
#else
#define KEPT GUILDHALL_BLOCKS_KEPT
#endif

typedef struct {
    atomic_flag busy;
    void *first; /* each free block begins with the address of the next */
} list;

typedef struct {
    unsigned index;
    size_t bytes;
} size_class;

static list lists[SIZES];
static atomic_size_t kept;           /* about so many bytes: threads tell it of theirs now and then */
static __thread ptrdiff_t untold;

static const ptrdiff_t told_of = 64 * 1024;

static size_t count(ptrdiff_t bytes)
{
    untold += bytes;
    if (untold > -told_of && untold < told_of) return atomic_load_explicit(&kept, memory_order_relaxed);
    size_t before = atomic_fetch_add_explicit(&kept, (size_t)untold, memory_order_relaxed);
    untold = 0;
    return before;
}

static inline size_class class_of(size_t size)
{
    size_t last = size > (size_t)1 << SMALLEST_LOG ? size - 1 : (size_t)1 << SMALLEST_LOG;
    unsigned log = 63 - (unsigned)__builtin_clzll(last), shift = log - STEPS_LOG;
    unsigned step = (unsigned)(last >> shift) & ((1u << STEPS_LOG) - 1);
    return (size_class){((log - SMALLEST_LOG) << STEPS_LOG) + step, ((last >> shift) + 1) << shift};
}

size_t guildhall_block_bytes(size_t size)
{
    size_class class = class_of(size);
    return class.index < SIZES ? class.bytes : size;
}

static inline int enter(list *list) { return !atomic_flag_test_and_set_explicit(&list->busy, memory_order_acquire); }
static inline void leave(list *list) { atomic_flag_clear_explicit(&list->busy, memory_order_release); }

static void *pop(list *list)
{
    if (!enter(list)) return NULL;
    void *block = list->first, *next = NULL;
    if (block) memcpy(&next, block, sizeof next);
    list->first = next;
    leave(list);
    __builtin_prefetch(next); /* it was freed long ago, and its first bytes are what the next one to come here waits for */
    return block;
}

static int push(list *list, void *block)
{
    if (!enter(list)) return 0;
    memcpy(block, &list->first, sizeof list->first);
    list->first = block;
    leave(list);
    return 1;
}

void *guildhall_block_take(size_t size)
{
    size_class class = class_of(size);
    if (class.index >= SIZES) return malloc(size);
    void *block = pop(&lists[class.index]);
    if (!block) return malloc(class.bytes);
    count(-(ptrdiff_t)class.bytes);
    return block;
}

void guildhall_block_give(void *block, size_t size)
{
    size_class class = class_of(size);
    if (class.index < SIZES) {
        size_t before = count((ptrdiff_t)class.bytes);
        if (before + class.bytes <= KEPT && push(&lists[class.index], block)) return;
        count(-(ptrdiff_t)class.bytes);
    }
    free(block);
}
