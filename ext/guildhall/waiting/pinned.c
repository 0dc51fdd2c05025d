/* Inside rb_nogvl, on the waiter's state. */
#include "parked.h"
#include "word.h"
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <ruby/version.h>
#include <stdlib.h>

static _Atomic int pinned_waiters;
static int pinned_limit;
static rb_ractor_local_key_t main_ractor_key;

static void *pinned_wait(void *argument)
{
    guildhall_parked *self = argument;
    guildhall_word_wait(&self->base.state, GUILDHALL_WAITING, self->deadline);
    return NULL;
}

static void pinned_rouse(guildhall_waiter *waiter, uintptr_t unused) { guildhall_word_wake(&waiter->state); }

static void pinned_interrupt(void *argument)
{
    guildhall_parked *self = argument;
    atomic_fetch_or(&self->base.state, GUILDHALL_INTERRUPTED); /* or an interrupt just before the wait would be missed */
    pinned_rouse(&self->base, 0);
}

static void pinned_step(guildhall_parked *self)
{
    /* Without INTR_FAIL an interrupt that comes now would be put off once more before the function is called. */
    int flags = RB_NOGVL_INTR_FAIL | (GUILDHALL_WORD_ASYNC_SAFE ? RB_NOGVL_UBF_ASYNC_SAFE : 0);
    atomic_fetch_and(&self->base.state, ~GUILDHALL_INTERRUPTED);
    rb_nogvl(pinned_wait, self, pinned_interrupt, self, flags);
}

static const guildhall_sleeper pinned = {guildhall_parked_sleep, pinned_rouse, 0};

static int pinned_count_in(void)
{
    if (atomic_load_explicit(&pinned_waiters, memory_order_relaxed) >= pinned_limit) return 0;
    if (atomic_fetch_add_explicit(&pinned_waiters, 1, memory_order_relaxed) < pinned_limit) return 1;
    atomic_fetch_sub_explicit(&pinned_waiters, 1, memory_order_relaxed);
    return 0;
}

static void pinned_count_out(guildhall_parked *self)
{
    if (guildhall_waiter_forked(&self->base)) return; /* a child process starts its own count */
    atomic_fetch_sub_explicit(&pinned_waiters, 1, memory_order_relaxed);
}

int guildhall_sleep_pinned(guildhall_parked *self)
{
    if (!rb_ractor_local_storage_ptr(main_ractor_key)) {
        if (!pinned_count_in()) return 0;
        self->finish = pinned_count_out;
    }
    guildhall_sleep_with(self, &pinned, pinned_step, 0);
    return 1;
}

void guildhall_pinned_forked(void)
{
    atomic_store_explicit(&pinned_waiters, 0, memory_order_relaxed);
    guildhall_word_setup();
}

/* Where RUBY_MAX_CPU says nothing. */
static int pinned_default_threads(void)
{
    if (RUBY_API_VERSION_CODE < 40100) return 8;
    long processors = guildhall_processors();
    return processors > 0 ? (int)processors : 1;
}

/* Ruby reads it so, when it starts: what begins with no number, or with one below 1, counts for nothing. */
int guildhall_ractor_threads(void)
{
    const char *given = getenv("RUBY_MAX_CPU");
    return given && atoi(given) > 0 ? atoi(given) : pinned_default_threads();
}

void guildhall_init_pinned(void)
{
    static const struct rb_ractor_local_storage_type plain = {NULL, NULL};
    int limit = guildhall_ractor_threads() - 2;
    pinned_limit = limit > 0 ? limit : 0;
    main_ractor_key = rb_ractor_local_storage_ptr_newkey(&plain);
    rb_ractor_local_storage_ptr_set(main_ractor_key, (void *)1); /* extensions are loaded in the main Ractor */
    guildhall_word_setup();
}
