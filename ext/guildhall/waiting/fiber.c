/* Until an alarm rings, through the fiber scheduler. */
#include "parked.h"
#include <ruby/io.h>

static ID id_for_fd;

/* In seconds; nil: none, or the alarm sees to it. */
static VALUE fiber_limit(const guildhall_parked *self)
{
    if (!self->deadline || GUILDHALL_ALARM_KEEPS_TIME) return Qnil;
    int64_t left = self->deadline - guildhall_now();
    return DBL2NUM(left > 0 ? (double)left / 1e9 : 0);
}

static void fiber_step(guildhall_parked *self) { rb_io_wait(self->resource, INT2NUM(RUBY_IO_READABLE), fiber_limit(self)); }

static void fiber_rouse(guildhall_waiter *unused, uintptr_t bell) { guildhall_alarm_ring((int)bell); }

static const guildhall_sleeper fiber = {guildhall_parked_sleep, fiber_rouse, 1};

static void fiber_close(guildhall_parked *self)
{
    guildhall_alarm_close(&self->alarm);
    RB_GC_GUARD(self->resource);
}

static VALUE fiber_open_io(VALUE descriptor)
{
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("autoclose")), Qfalse);
    VALUE arguments[] = {INT2FIX((int)descriptor), options};
    return rb_funcallv_kw(rb_cIO, id_for_fd, 2, arguments, RB_PASS_KEYWORDS);
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
    self->finish = fiber_close;
    guildhall_sleep_with(self, &fiber, fiber_step, (uintptr_t)self->alarm.bell);
}

void guildhall_init_fiber(void) { id_for_fd = rb_intern("for_fd"); }
