/* Batches that were given to workers, for as long as there are any: those that are held by more than their Batch are kept alive, with
 * their payloads and outcomes.
 *
 * A Batch belongs to the Ractor that dispatches it, which is the main one, as its payloads do. Neither the line nor a worker, which are not
 * that Ractor's, can keep it alive where each Ractor has a collector of its own: what a shareable object has once referred to stays until the
 * next global collection there. So workers hold the struct, and this list, which is that Ractor's, marks the Batches of those that are held. */
#include "batch.h"
#include <stdlib.h>
#include "transfer.h"

enum { COPIED_ON_STACK = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held for some ten instructions; where one collector stops all, any thread frees */
static guildhall_batch *last;

static void dispatched_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    last = NULL; /* what the parent's workers have is of no worker here */
}

void guildhall_dispatched_add(guildhall_batch *batch)
{
    if (GUILDHALL_COLLECTOR_PER_RACTOR) guildhall_transfers_report();
    if (batch->dispatched == guildhall_fork_generation()) return;
    pthread_mutex_lock(&lock);
    batch->dispatched = guildhall_fork_generation();
    batch->earlier = last;
    batch->later = NULL;
    if (last) last->later = batch;
    last = batch;
    pthread_mutex_unlock(&lock);
}

void guildhall_dispatched_remove(guildhall_batch *batch)
{
    if (batch->dispatched != guildhall_fork_generation()) return;
    pthread_mutex_lock(&lock);
    if (batch->earlier) batch->earlier->later = batch->later;
    if (batch->later) batch->later->earlier = batch->earlier;
    else last = batch->earlier;
    pthread_mutex_unlock(&lock);
    batch->dispatched = 0;
}

/* Copies the Batches that are held, `room` at most. Returns how many there are. */
static size_t copy_held(VALUE *to, size_t room)
{
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (const guildhall_batch *batch = last; batch; batch = batch->earlier) {
        if (atomic_load(&batch->holders) < 2) continue;
        if (count < room) to[count] = batch->self;
        count++;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

/* Nothing is visited under the lock: the visitor of a walk over all objects may collect garbage. */
static void dispatched_mark(void *nothing)
{
    VALUE some[COPIED_ON_STACK], *all = some;
    size_t room = COPIED_ON_STACK, count;
    while ((count = copy_held(all, room)) > room) {
        if (all != some) free(all);
        all = malloc((room = 2 * count) * sizeof(VALUE)); /* not Ruby's: this may be a collection */
        if (!all) rb_bug("guildhall: no memory to mark %zu batches", count);
    }
    for (size_t i = 0; i < count; i++) rb_gc_mark(all[i]);
    if (all != some) free(all);
}

/* Without write barriers: looked at in every collection. */
static const rb_data_type_t dispatched_type = {
    "Guildhall dispatched batches", {dispatched_mark, NULL, NULL}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

void guildhall_init_pool_dispatched(void)
{
    pthread_atfork(NULL, NULL, dispatched_forked);
    rb_gc_register_mark_object(TypedData_Wrap_Struct(0, &dispatched_type, &last)); /* no program sees it */
}
