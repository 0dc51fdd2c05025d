/* What is allocated is reported at once; what is freed, when the next collection marks.
 *
 * Ruby begins a collection when a limit is exceeded by what was allocated since the last one, less what was freed meanwhile. But it frees
 * while the program goes on, and what it frees is the last collection's garbage: each time there is more of it, until Ruby takes
 * all of it for objects that have grown old, and marks the whole heap. */
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

/* Called in every collection. */
static void ledger_report(void *pointer)
{
    size_t bytes = atomic_exchange_explicit((ledger *)pointer, 0, memory_order_relaxed);
    if (bytes) rb_gc_adjust_memory_usage(-(ssize_t)bytes);
}

#if GUILDHALL_COLLECTOR_PER_RACTOR
static rb_ractor_local_key_t own;

static void ledger_free(void *pointer)
{
    if (pointer != &mains) free(pointer);
}

static const struct rb_ractor_local_storage_type ledger_type = {ledger_report, ledger_free};

/* NULL: this Ractor has reported nothing yet. */
static ledger *ledger_current(void) { return rb_ractor_local_storage_ptr(own); }

static void ledger_open(void)
{
    if (ledger_current()) return;
    ledger *opened = calloc(1, sizeof *opened);
    if (opened) rb_ractor_local_storage_ptr_set(own, opened);
}

void guildhall_init_gc_block(void)
{
    own = rb_ractor_local_storage_ptr_newkey(&ledger_type);
    rb_ractor_local_storage_ptr_set(own, &mains);
}
#else
/* Without write barriers: marked in every collection, of a few objects or of all. */
static const rb_data_type_t ledger_type = {"Guildhall collection", {ledger_report, NULL, NULL}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static ledger *ledger_current(void) { return &mains; }

static void ledger_open(void) { }

void guildhall_init_gc_block(void)
{
    rb_gc_register_mark_object(TypedData_Wrap_Struct(0, &ledger_type, &mains)); /* no program sees it */
}
#endif

void guildhall_gc_block_adopt(size_t size)
{
    static __thread size_t reported;
    ledger_open();
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

void guildhall_gc_freed(size_t size)
{
    ledger *current = ledger_current();
    if (current) atomic_fetch_add_explicit(current, size, memory_order_relaxed);
    else rb_gc_adjust_memory_usage(-(ssize_t)size);
}
