/* rb_thread_sleep_forever, on 3.4. A wake-up that comes before the thread sleeps would be eaten by its interrupt check; the
 * SUSPENDED hook, which runs between that check and the sleep, looks again. */
#include "parked.h"
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <sched.h>

static rb_internal_thread_specific_key_t parked_key;

static void sleep_forever_step(guildhall_parked *unused) { rb_thread_sleep_forever(); }

static int sleep_forever_sleep(guildhall_waiter *waiter)
{
    VALUE thread = ((guildhall_parked *)waiter)->thread;
    /* Ruby code that interrupts the sleep (a trap) may wait as well: put back what the outer wait had here. */
    void *outer = rb_internal_thread_specific_get(thread, parked_key);
    rb_internal_thread_specific_set(thread, parked_key, waiter);
    int raised = guildhall_parked_sleep(waiter);
    rb_internal_thread_specific_set(thread, parked_key, outer);
    return raised;
}

static const guildhall_sleeper forever = {sleep_forever_sleep, guildhall_rouse_thread, 1};

/* Runs on a thread that is about to sleep, after its last interrupt check. Claimed meanwhile, it interrupts itself, so that
 * the sleep returns at once. */
static void sleep_forever_on_suspended(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    guildhall_waiter *waiter = rb_internal_thread_specific_get(data->thread, parked_key);
    if (!waiter || guildhall_waiter_state(waiter) == GUILDHALL_WAITING) return;
    for (int turns = 0; turns < 1000 && guildhall_waiter_state(waiter) != GUILDHALL_DONE; turns++)
        sched_yield(); /* the waker drops its locks */
    rb_thread_wakeup_alive(data->thread);
}

void guildhall_sleep_forever(guildhall_parked *self) { guildhall_sleep_with(self, &forever, sleep_forever_step, (uintptr_t)self->thread); }

void guildhall_init_sleep_forever(void)
{
    if (rb_const_defined(rb_cRactor, rb_intern("Port"))) return;
    if (!guildhall_thread_key(&parked_key))
        rb_raise(rb_eThreadError, "require guildhall before the first Ractor: Ruby 3.4 cannot load it while other Ractors live");
    rb_internal_thread_add_event_hook(sleep_forever_on_suspended, RUBY_INTERNAL_THREAD_EVENT_SUSPENDED, NULL);
}
