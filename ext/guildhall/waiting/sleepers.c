#include "sleepers.h"
#include <guildhall/platform.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <ruby/version.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include "waiter.h"
#include "word.h"

static bool sleepers_wait_on(guildhall_parked *self)
{
    if (guildhall_waiter_state(&self->base) != GUILDHALL_WAITING || guildhall_waiter_forked(&self->base)) return false;
    return !self->deadline || guildhall_now() < self->deadline;
}

static VALUE sleepers_loop(VALUE argument)
{
    guildhall_parked *self = (guildhall_parked *)argument;
    while (sleepers_wait_on(self)) {
        rb_thread_check_ints();
        if (sleepers_wait_on(self)) self->step(self); /* a trap handler may have forked, and this be the child */
    }
    return Qnil;
}

/* Every sleeper's: until the waiter is claimed or its deadline has passed; what interrupts it is raised later. */
static int sleepers_sleep(guildhall_waiter *waiter)
{
    guildhall_parked *self = (guildhall_parked *)waiter;
    rb_protect(sleepers_loop, (VALUE)self, &self->raised);
    return self->raised;
}

static void sleepers_use(guildhall_parked *self, const guildhall_sleeper *sleeper, void (*step)(guildhall_parked *), uintptr_t handle)
{
    self->base.sleeper = sleeper;
    self->base.handle = handle;
    self->step = step;
}

/* Ends a sleep that Ruby knows of. */
static void sleepers_rouse_thread(guildhall_waiter *unused, uintptr_t thread)
{
    rb_thread_wakeup_alive((VALUE)thread); /* checks no interrupts */
}

/* ---- pinned: inside rb_nogvl, on the waiter's state */

static _Atomic int pinned_waiters;
static int pinned_limit;
static rb_ractor_local_key_t main_ractor_key;

static void *sleepers_pinned_wait(void *argument)
{
    guildhall_parked *self = argument;
    guildhall_word_wait(&self->base.state, GUILDHALL_WAITING, self->deadline);
    return NULL;
}

static void sleepers_pinned_rouse(guildhall_waiter *waiter, uintptr_t unused) { guildhall_word_wake(&waiter->state); }

static void sleepers_pinned_interrupt(void *argument)
{
    guildhall_parked *self = argument;
    atomic_fetch_or(&self->base.state, GUILDHALL_INTERRUPTED); /* or an interrupt just before the wait would be missed */
    sleepers_pinned_rouse(&self->base, 0);
}

static void sleepers_pinned_step(guildhall_parked *self)
{
    /* Without INTR_FAIL an interrupt that comes now would be put off once more before the function is called. */
    int flags = RB_NOGVL_INTR_FAIL | (GUILDHALL_WORD_ASYNC_SAFE ? RB_NOGVL_UBF_ASYNC_SAFE : 0);
    atomic_fetch_and(&self->base.state, ~GUILDHALL_INTERRUPTED);
    rb_nogvl(sleepers_pinned_wait, self, sleepers_pinned_interrupt, self, flags);
}

static void sleepers_uncount_pinned(guildhall_parked *self)
{
    if (guildhall_waiter_forked(&self->base)) return; /* a child process starts its own count */
    atomic_fetch_sub_explicit(&pinned_waiters, 1, memory_order_relaxed);
}

static bool sleepers_pin(guildhall_parked *self)
{
    static const guildhall_sleeper pinned = {sleepers_sleep, sleepers_pinned_rouse, 0};
    if (!rb_ractor_local_storage_ptr(main_ractor_key)) {
        int count = atomic_load_explicit(&pinned_waiters, memory_order_relaxed);
        while (count < pinned_limit && !atomic_compare_exchange_weak(&pinned_waiters, &count, count + 1)) continue;
        if (count >= pinned_limit) return false;
        self->finish = sleepers_uncount_pinned;
    }
    sleepers_use(self, &pinned, sleepers_pinned_step, 0);
    return true;
}

void guildhall_sleepers_forked(void)
{
    atomic_store_explicit(&pinned_waiters, 0, memory_order_relaxed);
    guildhall_word_setup();
}

/* Ruby reads RUBY_MAX_CPU so when it starts: what begins with no number, or with one below 1, counts for nothing. */
int guildhall_ractor_threads(void)
{
    const char *given = getenv("RUBY_MAX_CPU");
    if (given && atoi(given) > 0) return atoi(given);
    if (RUBY_API_VERSION_CODE < 40100) return 8;
    long processors = guildhall_processors();
    return processors > 0 ? (int)processors : 1;
}

/* ---- port: Ractor::Port#receive. A Ractor keeps the ports that its waiting threads have made, for the next ones: Ruby forgets a
 * port only when its Ractor ends. */

static VALUE port_class, port_closed_error; /* nil where Ruby has none */
static rb_ractor_local_key_t free_ports_key; /* an Array of ports that no thread waits at */

static VALUE sleepers_interrupt_again(void *argument)
{
    VALUE missed = (VALUE)argument, thread = RARRAY_AREF(missed, 0), error = RARRAY_AREF(missed, 1);
    if (rb_obj_is_kind_of(error, rb_eException)) rb_funcall(thread, rb_intern("raise"), 1, error);
    else rb_funcall(thread, rb_intern("kill"), 0);
    RB_GC_GUARD(missed);
    return Qnil;
}

/* A throw has a hidden object for $! (assumptions.c). */
static bool sleepers_thrown(VALUE error) { return !RB_SPECIAL_CONST_P(error) && RB_BUILTIN_TYPE(error) == T_IMEMO; }

/* Until the new thread runs, nothing but its argument keeps the error alive: Ruby marks that where it is an object. */
static VALUE sleepers_start_interrupting(VALUE error)
{
    if (sleepers_thrown(error)) {
        error = rb_exc_new_cstr(rb_eThreadError, "a trap handler has thrown while another Ractor was being woken, where a throw has no "
                                                 "way out: raise in the handler instead");
    }
    return rb_thread_create(sleepers_interrupt_again, (void *)rb_assoc_new(rb_thread_current(), error));
}

static VALUE sleepers_send_token(VALUE port) { return rb_funcall(port, rb_intern("send"), 1, Qtrue); }

/* Sending is Ruby code and may run into an interrupt meant for this thread. Raised here it would cost the caller the item
 * it has just taken, and swallowed it would be lost: another thread raises it again, in a moment. */
static VALUE sleepers_rouse_port_protected(VALUE port)
{
    int failed = 0;
    rb_protect(sleepers_send_token, port, &failed);
    VALUE error = failed ? rb_errinfo() : Qnil;
    /* Closed: its Ractor has ended meanwhile. */
    if (failed && (sleepers_thrown(error) || !rb_obj_is_kind_of(error, port_closed_error))) {
        rb_set_errinfo(Qnil);
        rb_protect(sleepers_start_interrupting, error, &failed);
        RB_GC_GUARD(error);
    }
    return Qnil;
}

static VALUE sleepers_nothing(VALUE unused) { return Qnil; }

/* A thread that leaves with an exception passes a wake on: Ruby puts that exception back after an `ensure`, whatever became of
 * $! in it. */
static void sleepers_rouse_port(guildhall_waiter *unused, uintptr_t handle)
{
    VALUE port = (VALUE)handle;
    rb_ensure(sleepers_nothing, Qnil, sleepers_rouse_port_protected, port);
    RB_GC_GUARD(port);
}

/* A token of an earlier wait costs one turn. */
static void sleepers_port_step(guildhall_parked *self) { rb_funcall(self->resource, rb_intern("receive"), 0); }

static VALUE sleepers_free_ports(void)
{
    VALUE list;
    if (rb_ractor_local_storage_value_lookup(free_ports_key, &list)) return list;
    rb_ractor_local_storage_value_set(free_ports_key, list = rb_ary_new());
    return list;
}

static void sleepers_give_port_back(guildhall_parked *self) { rb_ary_push(sleepers_free_ports(), self->resource); }

static void sleepers_receive(guildhall_parked *self)
{
    /* `stays` is 0, which sets DONE before the send: a send can join a GC barrier, for which a waiter that spins until DONE
     * would keep everybody waiting. */
    static const guildhall_sleeper port = {sleepers_sleep, sleepers_rouse_port, 0};
    self->resource = rb_ary_pop(sleepers_free_ports());
    if (NIL_P(self->resource)) self->resource = rb_funcall(port_class, rb_intern("new"), 0);
    self->finish = sleepers_give_port_back;
    sleepers_use(self, &port, sleepers_port_step, (uintptr_t)self->resource);
}

/* ---- forever: rb_thread_sleep_forever, on 3.4. A wake-up that comes before the thread sleeps would be eaten by its interrupt check; the
 * SUSPENDED hook, which runs between that check and the sleep, looks again. */

static rb_internal_thread_specific_key_t parked_key;

static void sleepers_forever_step(guildhall_parked *unused) { rb_thread_sleep_forever(); }

static int sleepers_sleep_forever(guildhall_waiter *waiter)
{
    VALUE thread = ((guildhall_parked *)waiter)->thread;
    /* Ruby code that interrupts the sleep (a trap) may wait as well: put back what the outer wait had here. */
    void *outer = rb_internal_thread_specific_get(thread, parked_key);
    rb_internal_thread_specific_set(thread, parked_key, waiter);
    int raised = sleepers_sleep(waiter);
    rb_internal_thread_specific_set(thread, parked_key, outer);
    return raised;
}

/* Runs on a thread that is about to sleep, after its last interrupt check. Claimed meanwhile, it interrupts itself, so that
 * the sleep returns at once. */
static void sleepers_on_suspended(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    guildhall_waiter *waiter = rb_internal_thread_specific_get(data->thread, parked_key);
    if (!waiter || guildhall_waiter_state(waiter) == GUILDHALL_WAITING) return;
    for (int turns = 0; turns < 1000 && guildhall_waiter_state(waiter) != GUILDHALL_DONE; turns++)
        sched_yield(); /* the waker drops its locks */
    rb_thread_wakeup_alive(data->thread);
}

/* ---- alarm: a descriptor that becomes readable when it is rung; on Linux at the deadline, too (ALARM_KEEPS_TIME). False: no descriptor is
 * left; errno says more. */

#ifdef GUILDHALL_TIMERFD
#include <sys/timerfd.h>
enum { ALARM_KEEPS_TIME = 1 };

static bool sleepers_open_alarm(guildhall_parked *self)
{
    self->readable = self->bell = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (self->readable < 0) return false;
    struct itimerspec at = {.it_value = {self->deadline / GUILDHALL_NS_PER_S, self->deadline % GUILDHALL_NS_PER_S}};
    if (self->deadline) timerfd_settime(self->readable, TFD_TIMER_ABSTIME, &at, NULL);
    return true;
}

static void sleepers_rouse_alarm(guildhall_waiter *unused, uintptr_t bell)
{
    struct itimerspec now = {.it_value = {0, 1}};
    timerfd_settime((int)bell, 0, &now, NULL);
}

#else
#include <errno.h>
#include <fcntl.h>
enum { ALARM_KEEPS_TIME = 0 };

/* The thread that waits for the pipe watches the deadline. */
static bool sleepers_open_alarm(guildhall_parked *self)
{
    int ends[2];
    if (pipe(ends) != 0) return false;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    self->readable = ends[0];
    self->bell = ends[1];
    return true;
}

static void sleepers_rouse_alarm(guildhall_waiter *unused, uintptr_t bell)
{
    while (write((int)bell, "", 1) < 0 && errno == EINTR) continue;
}

#endif

/* ---- timed, steps, fiber: with a deadline */

static const guildhall_sleeper timed = {sleepers_sleep, sleepers_rouse_alarm, 1};

static void sleepers_close_alarm(guildhall_parked *self)
{
    close(self->readable);
    if (self->bell != self->readable) close(self->bell);
    RB_GC_GUARD(self->resource);
}

static void sleepers_timed_step(guildhall_parked *self) { rb_thread_wait_fd(self->readable); }

/* False where no descriptor is left. */
static bool sleepers_set_alarm(guildhall_parked *self)
{
    if (!ALARM_KEEPS_TIME || !sleepers_open_alarm(self)) return false;
    self->finish = sleepers_close_alarm;
    sleepers_use(self, &timed, sleepers_timed_step, (uintptr_t)self->bell);
    return true;
}

static void sleepers_short_step(guildhall_parked *self)
{
    static const int64_t longest_ns = 10000000;
    int64_t left = self->deadline - guildhall_now();
    if (left > longest_ns) left = longest_ns;
    if (left > 0) rb_thread_wait_for((struct timeval){0, left / 1000 + 1});
}

static void sleepers_fiber_step(guildhall_parked *self)
{
    VALUE limit = Qnil; /* seconds; nil: none, or the alarm sees to it */
    if (self->deadline && !ALARM_KEEPS_TIME) {
        int64_t left = self->deadline - guildhall_now();
        limit = DBL2NUM(left > 0 ? (double)left / 1e9 : 0);
    }
    rb_io_wait(self->resource, INT2NUM(RUBY_IO_READABLE), limit);
}

static VALUE sleepers_open_io(VALUE descriptor)
{
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("autoclose")), Qfalse);
    VALUE arguments[] = {INT2FIX((int)descriptor), options};
    return rb_funcallv_kw(rb_cIO, rb_intern("for_fd"), 2, arguments, RB_PASS_KEYWORDS);
}

static void sleepers_use_fiber(guildhall_parked *self)
{
    int raised = 0;
    if (!sleepers_open_alarm(self)) rb_sys_fail("a descriptor to wait with");
    self->resource = rb_protect(sleepers_open_io, (VALUE)self->readable, &raised);
    if (raised) {
        sleepers_close_alarm(self);
        rb_jump_tag(raised);
    }
    self->finish = sleepers_close_alarm;
    sleepers_use(self, &timed, sleepers_fiber_step, (uintptr_t)self->bell);
}

void guildhall_choose_sleeper(guildhall_parked *self)
{
    static const guildhall_sleeper steps = {sleepers_sleep, sleepers_rouse_thread, 1};
    static const guildhall_sleeper forever = {sleepers_sleep_forever, sleepers_rouse_thread, 1};
    if (!NIL_P(rb_fiber_scheduler_current())) sleepers_use_fiber(self);
    else if (sleepers_pin(self) || (self->deadline && sleepers_set_alarm(self))) return;
    else if (self->deadline) sleepers_use(self, &steps, sleepers_short_step, (uintptr_t)self->thread);
    else if (!NIL_P(port_class)) sleepers_receive(self);
    else sleepers_use(self, &forever, sleepers_forever_step, (uintptr_t)self->thread);
}

static void sleepers_init_ports(void)
{
    rb_gc_register_address(&port_class);
    rb_gc_register_address(&port_closed_error);
    port_class = port_closed_error = Qnil;
    free_ports_key = rb_ractor_local_storage_value_newkey();
    if (!rb_const_defined(rb_cRactor, rb_intern("Port"))) return;
    port_class = rb_const_get(rb_cRactor, rb_intern("Port"));
    port_closed_error = rb_const_get(rb_cRactor, rb_intern("ClosedError"));
}

void guildhall_init_sleepers(void)
{
    static const struct rb_ractor_local_storage_type plain = {NULL, NULL};
    int limit = guildhall_ractor_threads() - 2;
    pinned_limit = limit > 0 ? limit : 0;
    main_ractor_key = rb_ractor_local_storage_ptr_newkey(&plain);
    rb_ractor_local_storage_ptr_set(main_ractor_key, (void *)1); /* extensions are loaded in the main Ractor */
    guildhall_word_setup();
    sleepers_init_ports();
    if (!NIL_P(port_class)) return;
    if (!guildhall_thread_key(&parked_key))
        rb_raise(rb_eThreadError, "require guildhall before the first Ractor: Ruby 3.4 cannot load it while other Ractors live");
    rb_internal_thread_add_event_hook(sleepers_on_suspended, RUBY_INTERNAL_THREAD_EVENT_SUSPENDED, NULL);
}
