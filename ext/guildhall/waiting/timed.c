/* Until an alarm rings; in steps where the process has no descriptor left, and where alarms do not keep the time: Ruby's M:N
 * scheduler loses wake-ups of threads that wait for a descriptor with a limit. */
#include "parked.h"
#include <ruby/thread.h>

#define SLICE_NS 10000000L

static void timed_step(guildhall_parked *self) { rb_thread_wait_fd(self->alarm.readable); }

static void timed_rouse(guildhall_waiter *unused, uintptr_t bell) { guildhall_alarm_ring((int)bell); }

static const guildhall_sleeper timed = {guildhall_parked_sleep, timed_rouse, 1};

static void timed_close(guildhall_parked *self) { guildhall_alarm_close(&self->alarm); }

int guildhall_sleep_timed(guildhall_parked *self)
{
    if (!GUILDHALL_ALARM_KEEPS_TIME || !guildhall_alarm_open(&self->alarm, self->deadline)) return 0;
    self->finish = timed_close;
    guildhall_sleep_with(self, &timed, timed_step, (uintptr_t)self->alarm.bell);
    return 1;
}

static void short_step(guildhall_parked *self)
{
    int64_t left = self->deadline - guildhall_now();
    if (left > SLICE_NS) left = SLICE_NS;
    if (left > 0) rb_thread_wait_for((struct timeval){0, left / 1000 + 1});
}

static const guildhall_sleeper steps = {guildhall_parked_sleep, guildhall_rouse_thread, 1};

void guildhall_rouse_thread(guildhall_waiter *unused, uintptr_t thread)
{
    rb_thread_wakeup_alive((VALUE)thread); /* checks no interrupts */
}

void guildhall_sleep_in_steps(guildhall_parked *self) { guildhall_sleep_with(self, &steps, short_step, (uintptr_t)self->thread); }
