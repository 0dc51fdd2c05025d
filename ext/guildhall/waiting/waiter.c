/* Waiting, and how to sleep meanwhile. */
#include "init.h"
#include "parked.h"
#include "waiter.h"
#include <ruby/fiber/scheduler.h>
#include <math.h>
#include <stdbool.h>

VALUE guildhall_argument_error(void)
{
    return rb_path2class("Guildhall::ArgumentError");
}

/* NaN for what is no real number. */
static double waiter_seconds(VALUE timeout)
{
    if (RB_FLOAT_TYPE_P(timeout) || RB_INTEGER_TYPE_P(timeout) || RB_TYPE_P(timeout, T_RATIONAL)) return NUM2DBL(timeout);
    bool real = RTEST(rb_obj_is_kind_of(timeout, rb_cNumeric)) && !RB_TYPE_P(timeout, T_COMPLEX);
    return real ? NUM2DBL(timeout) : nan("");
}

int64_t guildhall_deadline(VALUE timeout)
{
    if (NIL_P(timeout)) return 0;
    double seconds = waiter_seconds(timeout);
    if (!(seconds >= 0)) rb_raise(guildhall_argument_error(), "timeout must be 0 or more seconds, not %" PRIsVALUE, rb_inspect(timeout));
    if (seconds > 1e9) return 0; /* beyond thirty years: none */
    return guildhall_now() + (int64_t)(seconds * 1e9);
}

static bool parked_waits(guildhall_parked *self)
{
    if (guildhall_waiter_state(&self->base) != GUILDHALL_WAITING || guildhall_waiter_forked(&self->base)) return false;
    return !self->deadline || guildhall_now() < self->deadline;
}

static VALUE parked_loop(VALUE argument)
{
    guildhall_parked *self = (guildhall_parked *)argument;
    while (parked_waits(self)) {
        rb_thread_check_ints();
        if (parked_waits(self)) self->step(self); /* a trap handler may have forked, and this be the child */
    }
    return Qnil;
}

int guildhall_parked_sleep(guildhall_waiter *waiter)
{
    guildhall_parked *self = (guildhall_parked *)waiter;
    rb_protect(parked_loop, (VALUE)self, &self->raised);
    return self->raised;
}

static void waiter_choose_sleeper(guildhall_parked *self)
{
    if (!NIL_P(rb_fiber_scheduler_current())) guildhall_sleep_as_fiber(self);
    else if (guildhall_sleep_pinned(self)) return;
    else if (self->deadline && guildhall_sleep_timed(self)) return;
    else if (self->deadline) guildhall_sleep_in_steps(self);
    else if (!guildhall_sleep_on_port(self)) guildhall_sleep_forever(self);
}

int guildhall_wait(guildhall_waitlist *list, guildhall_attempt attempt, void *context, int64_t deadline)
{
    return guildhall_wait_as(&list->patience, list, attempt, context, deadline);
}

int guildhall_wait_as(guildhall_patience *patience, guildhall_waitlist *list, guildhall_attempt attempt, void *context,
                      int64_t deadline)
{
    for (;;) {
        if (guildhall_spin(patience, attempt, context)) return 1;
        if (deadline && guildhall_now() >= deadline) return attempt(context);
        guildhall_parked self = {.thread = rb_thread_current(), .resource = Qnil, .deadline = deadline};
        waiter_choose_sleeper(&self);
        guildhall_awaited awaited = guildhall_waitlist_await(list, &self.base, attempt, context);
        if (self.finish) self.finish(&self);
        if (awaited == GUILDHALL_SUCCEEDED) return 1;
        if (awaited == GUILDHALL_GAVE_UP) rb_jump_tag(self.raised);
    }
}

static VALUE waiter_create_key(VALUE key)
{
    *(rb_internal_thread_specific_key_t *)key = rb_internal_thread_specific_key_create();
    return Qnil;
}

bool guildhall_thread_key(rb_internal_thread_specific_key_t *key)
{
    VALUE before = rb_errinfo();
    int refused = 0;
    rb_protect(waiter_create_key, (VALUE)key, &refused);
    if (refused) rb_set_errinfo(before);
    return !refused;
}

void guildhall_init_waiter(VALUE guildhall)
{
    guildhall_init_pinned();
    guildhall_init_port();
    guildhall_init_sleep_forever();
    guildhall_waitlist_setup(guildhall_pinned_forked);
    rb_define_const(guildhall, "RACTOR_THREADS", INT2FIX(guildhall_ractor_threads()));
}
