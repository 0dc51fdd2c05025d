/* Until an alarm rings, in a thread or through the fiber scheduler; in steps where the process has no descriptor left, and where alarms do not keep the time: Ruby's M:N
 * scheduler loses wake-ups of threads that wait for a descriptor with a limit. */
#include "parked.h"
#include <ruby/io.h>
#include <ruby/thread.h>

#define SLICE_NS 10000000L

static void timed_rouse(guildhall_waiter *unused, uintptr_t bell) { guildhall_alarm_ring((int)bell); }

static const guildhall_sleeper timed = {guildhall_parked_sleep, timed_rouse, 1};

static void timed_close(guildhall_parked *self)
{
    guildhall_alarm_close(&self->alarm);
    RB_GC_GUARD(self->resource);
}

static void thread_step(guildhall_parked *self) { rb_thread_wait_fd(self->alarm.readable); }

int guildhall_sleep_timed(guildhall_parked *self)
{
    if (!GUILDHALL_ALARM_KEEPS_TIME || !guildhall_alarm_open(&self->alarm, self->deadline)) return 0;
    self->finish = timed_close;
    guildhall_sleep_with(self, &timed, thread_step, (uintptr_t)self->alarm.bell);
    return 1;
}

/* In seconds; nil: none, or the alarm sees to it. */
static VALUE fiber_limit(const guildhall_parked *self)
{
    if (!self->deadline || GUILDHALL_ALARM_KEEPS_TIME) return Qnil;
    int64_t left = self->deadline - guildhall_now();
    return DBL2NUM(left > 0 ? (double)left / 1e9 : 0);
}

static void fiber_step(guildhall_parked *self) { rb_io_wait(self->resource, INT2NUM(RUBY_IO_READABLE), fiber_limit(self)); }

static VALUE fiber_open_io(VALUE descriptor)
{
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("autoclose")), Qfalse);
    VALUE arguments[] = {INT2FIX((int)descriptor), options};
    return rb_funcallv_kw(rb_cIO, rb_intern("for_fd"), 2, arguments, RB_PASS_KEYWORDS);
}

void guildhall_sleep_as_fiber(guildhall_parked *self)
{
    int raised = 0;
    if (!guildhall_alarm_open(&self->alarm, self->deadline)) rb_sys_fail("a descriptor to wait with");
    self->resource = rb_protect(fiber_open_io, (VALUE)self->alarm.readable, &raised);
    if (raised) {
        guildhall_alarm_close(&self->alarm);
        rb_jump_tag(raised);
    }
    self->finish = timed_close;
    guildhall_sleep_with(self, &timed, fiber_step, (uintptr_t)self->alarm.bell);
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
