/* What is allocated is reported at once. What is freed is reported so that it does not put off the next collection.
 *
 * Ruby begins a collection when a limit is exceeded by what was allocated since the last one, less what was freed meanwhile. But it frees
 * while the program goes on, and what it frees is the last collection's garbage: each time there is more of it, until Ruby takes
 * all of it for objects that have grown old, and marks the whole heap.
 *
 * Up to Ruby 4.0 frees are reported when the next collection marks: that count has just begun at 0 then, and is never below it. From 4.1 on it
 * is, so they are set off against what is allocated next, half of it at most: the count goes on growing. */
#include <ruby.h>
#include <guildhall/sharing.h>
#include "block_pool.h"
#include "gc_block.h"
#include "init.h"
#include <stdatomic.h>
#include <stdlib.h>

/* Only Ruby's own allocation checks the limit, so every thread makes one after each MiB that it reported. */
#define BYTES_BETWEEN_CHECKS ((size_t)1 << 20)

typedef _Atomic size_t ledger; /* bytes that were freed, and not reported yet; one for each collector */

static ledger mains; /* the main Ractor's; where one collector serves all, theirs too. Objects are freed after all Ractors, too */

#if GUILDHALL_COLLECTOR_PER_RACTOR
static rb_ractor_local_key_t own;

static void ledger_free(void *pointer)
{
    if (pointer != &mains) free(pointer);
}

static const struct rb_ractor_local_storage_type ledger_type = {NULL, ledger_free};

/* NULL: this Ractor has allocated nothing yet. */
static ledger *ledger_current(void) { return rb_ractor_local_storage_ptr(own); }

/* How much of what is allocated now is set off. */
static size_t ledger_use(size_t size)
{
    ledger *current = ledger_current();
    if (!current && (current = calloc(1, sizeof *current))) rb_ractor_local_storage_ptr_set(own, current);
    size_t freed = current ? atomic_load_explicit(current, memory_order_relaxed) : 0, used = freed < size / 2 ? freed : size / 2;
    if (used) atomic_fetch_sub_explicit(current, used, memory_order_relaxed);
    return used;
}

void guildhall_init_gc_block(void)
{
    own = rb_ractor_local_storage_ptr_newkey(&ledger_type);
    rb_ractor_local_storage_ptr_set(own, &mains);
}
#else
static void ledger_report(void *pointer)
{
    size_t bytes = atomic_exchange_explicit((ledger *)pointer, 0, memory_order_relaxed);
    if (bytes) rb_gc_adjust_memory_usage(-(ssize_t)bytes);
}

/* Without write barriers: marked in every collection, of a few objects or of all. */
static const rb_data_type_t ledger_type = {"Guildhall collection", {ledger_report, NULL, NULL}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static ledger *ledger_current(void) { return &mains; }

static size_t ledger_use(size_t size) { return 0; }

void guildhall_init_gc_block(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(0, &ledger_type, &mains)); /* no program sees it */
}
#endif

void guildhall_gc_block_adopt(size_t size)
{
    static __thread size_t reported;
    size_t more = size - ledger_use(size);
    rb_gc_adjust_memory_usage((ssize_t)more);
    reported += more;
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

void guildhall_gc_freed(size_t size)
{
    ledger *current = ledger_current();
    if (current) atomic_fetch_add_explicit(current, size, memory_order_relaxed);
}
