#include "waitlist.h"
#include <sched.h>

#define STATE 7

unsigned guildhall_fork_count = 1;
static pthread_mutex_t renewal = PTHREAD_MUTEX_INITIALIZER;
static void (*forked_hook)(void);

static void waitlist_forked(void)
{
    pthread_mutex_init(&renewal, NULL);
    guildhall_fork_count++;
    forked_hook();
}

void guildhall_waitlist_setup(void (*hook)(void))
{
    forked_hook = hook;
    pthread_atfork(NULL, NULL, waitlist_forked);
}

void guildhall_renewal_lock(void) { pthread_mutex_lock(&renewal); }

void guildhall_renewal_unlock(void) { pthread_mutex_unlock(&renewal); }

void guildhall_waitlist_init(guildhall_waitlist *list)
{
    atomic_init(&list->count, 0);
    atomic_init(&list->patience.spins, 0);
    atomic_init(&list->patience.waits, 0);
    atomic_init(&list->patience.vain, 0);
    list->patience.most = 0;
    atomic_init(&list->generation, guildhall_fork_generation());
    pthread_mutex_init(&list->mutex, NULL);
    list->first = list->last = NULL;
}

static int waitlist_stale(guildhall_waitlist *list)
{
    return atomic_load_explicit(&list->generation, memory_order_acquire) != guildhall_fork_generation();
}

/* Not that of the parent process, which one of its threads may hold. */
void guildhall_waitlist_destroy(guildhall_waitlist *list)
{
    if (!waitlist_stale(list)) pthread_mutex_destroy(&list->mutex);
}

/* Before each use of the mutex: a list that the parent filled is emptied, its mutex, which a thread of the parent may have
 * held at the fork, made again. */
static void waitlist_renew(guildhall_waitlist *list)
{
    if (!waitlist_stale(list)) return;
    guildhall_renewal_lock();
    if (waitlist_stale(list)) {
        pthread_mutex_init(&list->mutex, NULL);
        list->first = list->last = NULL;
        atomic_store_explicit(&list->count, 0, memory_order_relaxed);
        atomic_store_explicit(&list->generation, guildhall_fork_generation(), memory_order_release);
    }
    guildhall_renewal_unlock();
}

size_t guildhall_waitlist_count(const guildhall_waitlist *list)
{
    guildhall_waitlist *self = (guildhall_waitlist *)list;
    size_t count = atomic_load_explicit(&self->count, memory_order_relaxed);
    return count && waitlist_stale(self) ? 0 : count;
}

int guildhall_waiter_state(guildhall_waiter *waiter)
{
    /* Acquire: DONE comes after everything the waker did with the waiter. */
    return atomic_load_explicit(&waiter->state, memory_order_acquire) & STATE;
}

int guildhall_waiter_forked(const guildhall_waiter *waiter) { return waiter->generation != guildhall_fork_generation(); }

static void waitlist_append(guildhall_waitlist *list, guildhall_waiter *waiter)
{
    waitlist_renew(list);
    pthread_mutex_lock(&list->mutex);
    waiter->next = NULL;
    waiter->previous = list->last;
    if (list->last) list->last->next = waiter;
    else list->first = waiter;
    list->last = waiter;
    waiter->linked = 1;
    waiter->generation = guildhall_fork_generation();
    atomic_fetch_add_explicit(&list->count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&list->mutex);
    /* Pairs with the fence in wake_one: registered before the next attempt looks. */
    atomic_thread_fence(memory_order_seq_cst);
}

/* Under the mutex. */
static void waitlist_unlink_waiter(guildhall_waitlist *list, guildhall_waiter *waiter)
{
    if (waiter->previous) waiter->previous->next = waiter->next;
    else list->first = waiter->next;
    if (waiter->next) waiter->next->previous = waiter->previous;
    else list->last = waiter->previous;
    waiter->linked = 0;
    atomic_fetch_sub_explicit(&list->count, 1, memory_order_relaxed);
}

/* Leaves the list. True when a waker had claimed the waiter; then that waker no longer touches it. */
static int waitlist_leave(guildhall_waitlist *list, guildhall_waiter *waiter)
{
    if (guildhall_waiter_state(waiter) == GUILDHALL_DONE) return 1;
    if (guildhall_waiter_forked(waiter)) return 0; /* it is in the parent's list */
    pthread_mutex_lock(&list->mutex);
    int linked = waiter->linked;
    if (linked) waitlist_unlink_waiter(list, waiter);
    pthread_mutex_unlock(&list->mutex);
    if (linked) return 0;
    /* The waker runs on another native thread and is about to finish: a moment. */
    while (guildhall_waiter_state(waiter) != GUILDHALL_DONE) sched_yield();
    return 1;
}

/* ---- waking */

/* What remains of a claimed waiter once it may be gone. */
typedef struct {
    guildhall_waiter *waiter;
    const guildhall_sleeper *sleeper;
    uintptr_t handle;
} claim;

static int waitlist_claim_first(guildhall_waitlist *list, claim *claimed)
{
    if (guildhall_waitlist_count(list) == 0) return 0;
    waitlist_renew(list);
    pthread_mutex_lock(&list->mutex);
    guildhall_waiter *waiter = list->first;
    if (waiter) {
        *claimed = (claim){waiter, waiter->sleeper, waiter->handle};
        waitlist_unlink_waiter(list, waiter);
        /* Release: the waiter that reads DONE leaves without the mutex, and its frame may be used again. */
        atomic_store_explicit(&waiter->state, waiter->sleeper->stays ? GUILDHALL_CLAIMED : GUILDHALL_DONE,
                              memory_order_release);
    }
    pthread_mutex_unlock(&list->mutex);
    return waiter != NULL;
}

static int waitlist_wake_first(guildhall_waitlist *list)
{
    claim claimed;
    if (!waitlist_claim_first(list, &claimed)) return 0;
    int stays = claimed.sleeper->stays;
    claimed.sleeper->rouse(claimed.waiter, claimed.handle);
    if (stays) atomic_store_explicit(&claimed.waiter->state, GUILDHALL_DONE, memory_order_release);
    return 1;
}

void guildhall_waitlist_wake_one(guildhall_waitlist *list)
{
    /* Pairs with the fence in append: a thread that registers after it sees the change made before this call. */
    atomic_thread_fence(memory_order_seq_cst);
    waitlist_wake_first(list);
}

void guildhall_waitlist_wake_all(guildhall_waitlist *list)
{
    atomic_thread_fence(memory_order_seq_cst);
    /* Those who come back at once must not keep us here: as many as there are now. */
    for (size_t left = guildhall_waitlist_count(list); left > 0 && waitlist_wake_first(list); left--) continue;
}

guildhall_awaited guildhall_waitlist_await(guildhall_waitlist *list, guildhall_waiter *waiter, guildhall_attempt attempt,
                                           void *context)
{
    atomic_init(&waiter->state, GUILDHALL_WAITING);
    waitlist_append(list, waiter);
    if (attempt(context)) {
        if (waitlist_leave(list, waiter)) guildhall_waitlist_wake_one(list);
        return GUILDHALL_SUCCEEDED;
    }
    int gave_up = waiter->sleeper->sleep(waiter);
    int claimed = waitlist_leave(list, waiter);
    if (!gave_up) return GUILDHALL_TRY_AGAIN;
    if (claimed) guildhall_waitlist_wake_one(list);
    return GUILDHALL_GAVE_UP;
}
