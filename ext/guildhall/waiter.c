#include "waiter.h"
#include "init.h"
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* How a thread sleeps:
 *
 * futex  inside rb_nogvl: the quickest, but it pins a native thread. Threads of the main Ractor always have one of their
 *        own; of the other Ractors at most RUBY_MAX_CPU - 2 may be pinned at once, or the M:N scheduler has no native
 *        thread left to run a runnable Ractor on.
 * port   receive on a Ractor::Port of the waiting fiber's own (4.0).
 * rest   rb_thread_sleep_forever (3.4). A wake-up that comes before the thread sleeps would be eaten by its interrupt
 *        check; the SUSPENDED hook, which runs between that check and the sleep, looks again.
 * timer  until a timerfd is readable: for waits with a deadline beyond the pinned ones, because neither of the two above
 *        can end at a deadline. Whoever rouses it lets the timer expire at once. One descriptor while it waits.
 * slices rb_thread_wait_for in slices: instead of a timer when the process has no descriptor left.
 * fiber  as timer, through the fiber scheduler.
 */
typedef struct {
    guildhall_waiter base;
    VALUE thread;
    VALUE resource; /* the port, or the IO of the descriptor; kept alive from here */
    int descriptor;
    int pinned;     /* counted in pinned_waiters */
    int raised;     /* the tag of what interrupted the sleep */
    int64_t deadline;
} parked;

#define SPINS_LEAST 10
#define SPINS_MOST 1000      /* some tens of microseconds, as being put to sleep and woken costs on a machine at rest */
#define EXPLORING 2          /* times the most: long enough to meet one that has to be woken first */
#define EXPLORE_EVERY 16
#define TURNS_BETWEEN_CHECKS 512 /* some ten microseconds */
#define SLICE_NS 10000000L

static _Atomic int pinned_waiters;
static int pinned_limit;
static rb_ractor_local_key_t main_ractor_key;
static rb_internal_thread_specific_key_t parked_key;
static VALUE port_class, port_closed_error;
static ID id_port, id_new, id_send, id_receive, id_for_fd, id_raise, id_kill;

int64_t guildhall_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int64_t guildhall_deadline(VALUE timeout)
{
    if (NIL_P(timeout)) return 0;
    double seconds = NUM2DBL(timeout);
    if (!(seconds >= 0)) rb_raise(rb_eArgError, "timeout must be 0 or more seconds, not %" PRIsVALUE, rb_inspect(timeout));
    if (seconds > 1e9) return 0; /* beyond thirty years: none */
    return guildhall_now() + (int64_t)(seconds * 1e9);
}

static int waiting(parked *self)
{
    if (guildhall_waiter_state(&self->base) != GUILDHALL_WAITING) return 0;
    return !self->deadline || guildhall_now() < self->deadline;
}

/* Every loop below looks for interrupts before it sleeps: one that came while handle_interrupt allowed it only where a call
 * blocks has been put off until now, and would not end the sleep. */

/* Calls sleep until the waiter is claimed or its deadline has passed; what interrupts it is raised later. */
static int sleep_protected(parked *self, VALUE (*sleep)(VALUE self))
{
    rb_protect(sleep, (VALUE)self, &self->raised);
    return self->raised;
}

/* ---- futex */

static void *futex_wait(void *argument)
{
    parked *self = argument;
    struct timespec left, *limit = NULL;
    if (self->deadline) {
        int64_t nanoseconds = self->deadline - guildhall_now();
        if (nanoseconds <= 0) return NULL;
        left = (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
        limit = &left;
    }
    syscall(SYS_futex, &self->base.state, FUTEX_WAIT_PRIVATE, GUILDHALL_WAITING, limit, NULL, 0);
    return NULL;
}

static void futex_rouse(guildhall_waiter *waiter, uintptr_t unused)
{
    /* Only the address is used: where the frame is gone, somebody wakes for nothing. */
    syscall(SYS_futex, &waiter->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_interrupt(void *argument)
{
    parked *self = argument;
    atomic_fetch_or(&self->base.state, GUILDHALL_INTERRUPTED); /* or an interrupt just before the wait would be missed */
    futex_rouse(&self->base, 0);
}

static VALUE futex_loop(VALUE argument)
{
    parked *self = (parked *)argument;
    while (waiting(self)) {
        rb_thread_check_ints();
        atomic_fetch_and(&self->base.state, ~GUILDHALL_INTERRUPTED);
        /* Without INTR_FAIL an interrupt that comes now would be put off once more before the function is called. */
        rb_nogvl(futex_wait, self, futex_interrupt, self, RB_NOGVL_UBF_ASYNC_SAFE | RB_NOGVL_INTR_FAIL);
    }
    return Qnil;
}

static int futex_sleep(guildhall_waiter *waiter)
{
    return sleep_protected((parked *)waiter, futex_loop);
}

static const guildhall_sleeper futex = {futex_sleep, futex_rouse, 0};

/* ---- port */

typedef struct {
    VALUE thread, error;
} interruption;

static VALUE interrupt_again(void *argument)
{
    interruption *missed = argument;
    VALUE thread = missed->thread, error = missed->error;
    xfree(missed);
    if (rb_obj_is_kind_of(error, rb_eException)) rb_funcall(thread, id_raise, 1, error);
    else rb_funcall(thread, id_kill, 0);
    RB_GC_GUARD(error);
    return Qnil;
}

static VALUE start_interrupting(VALUE argument)
{
    interruption *missed = xmalloc(sizeof(*missed));
    *missed = *(interruption *)argument;
    return rb_thread_create(interrupt_again, missed);
}

/* Sending is Ruby code and may run into an interrupt meant for this thread. Raised here it would cost the caller the item
 * it has just taken, and swallowed it would be lost: another thread raises it anew, in a moment. */
static void postpone(VALUE error)
{
    int failed = 0;
    interruption missed = {rb_thread_current(), error};
    rb_set_errinfo(Qnil);
    rb_protect(start_interrupting, (VALUE)&missed, &failed);
    if (failed) rb_set_errinfo(Qnil);
    RB_GC_GUARD(error);
}

static VALUE send_token(VALUE port)
{
    return rb_funcall(port, id_send, 1, Qtrue);
}

static void port_rouse(guildhall_waiter *unused, uintptr_t handle)
{
    VALUE port = (VALUE)handle;
    int failed = 0;
    rb_protect(send_token, port, &failed);
    RB_GC_GUARD(port);
    if (!failed) return;
    VALUE error = rb_errinfo();
    if (rb_obj_is_kind_of(error, port_closed_error)) rb_set_errinfo(Qnil); /* its Ractor has ended meanwhile */
    else postpone(error);
}

static VALUE port_loop(VALUE argument)
{
    parked *self = (parked *)argument;
    while (waiting(self)) {
        rb_thread_check_ints();
        rb_funcall(self->resource, id_receive, 0); /* a token of an earlier wait costs one turn */
    }
    return Qnil;
}

static int port_sleep(guildhall_waiter *waiter)
{
    return sleep_protected((parked *)waiter, port_loop);
}

/* `stays` is 0, which sets DONE before the send: a send can join a GC barrier, for which a waiter that spins until DONE
 * would keep everybody waiting. */
static const guildhall_sleeper port = {port_sleep, port_rouse, 0};

static VALUE own_port(VALUE thread)
{
    VALUE own = rb_thread_local_aref(thread, id_port);
    if (!NIL_P(own)) return own;
    own = rb_funcall(port_class, id_new, 0);
    rb_thread_local_aset(thread, id_port, own);
    return own;
}

/* ---- rest */

static VALUE rest_loop(VALUE argument)
{
    parked *self = (parked *)argument;
    while (waiting(self)) rb_thread_sleep_forever();
    return Qnil;
}

static int rest_sleep(guildhall_waiter *waiter)
{
    parked *self = (parked *)waiter;
    /* Ruby code that interrupts the sleep (a trap) may wait as well: put back what the outer wait had here. */
    void *outer = rb_internal_thread_specific_get(self->thread, parked_key);
    rb_internal_thread_specific_set(self->thread, parked_key, self);
    int raised = sleep_protected(self, rest_loop);
    rb_internal_thread_specific_set(self->thread, parked_key, outer);
    return raised;
}

static void rest_rouse(guildhall_waiter *unused, uintptr_t thread)
{
    rb_thread_wakeup_alive((VALUE)thread); /* checks no interrupts */
}

static const guildhall_sleeper rest = {rest_sleep, rest_rouse, 1};

/* Runs on a thread that is about to sleep, after its last interrupt check. Claimed meanwhile, it interrupts itself, so that
 * the sleep returns at once. */
static void on_suspended(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    parked *self = rb_internal_thread_specific_get(data->thread, parked_key);
    if (!self || guildhall_waiter_state(&self->base) == GUILDHALL_WAITING) return;
    for (int turns = 0; turns < 1000 && guildhall_waiter_state(&self->base) != GUILDHALL_DONE; turns++)
        sched_yield(); /* the waker drops its locks */
    rb_thread_wakeup_alive(data->thread);
}

/* ---- timer, fiber, slices */

/* A timer that expires at the deadline (0: never); its descriptor, or -1. */
static int timer_open(int64_t deadline)
{
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (descriptor < 0 || !deadline) return descriptor;
    struct itimerspec at = {.it_value = {deadline / 1000000000, deadline % 1000000000}};
    timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &at, NULL);
    return descriptor;
}

static void timer_rouse(guildhall_waiter *unused, uintptr_t descriptor)
{
    struct itimerspec now = {.it_value = {0, 1}};
    timerfd_settime((int)descriptor, 0, &now, NULL);
}

static VALUE timer_loop(VALUE argument)
{
    parked *self = (parked *)argument;
    while (waiting(self)) {
        rb_thread_check_ints();
        rb_thread_wait_fd(self->descriptor);
    }
    return Qnil;
}

static int timer_sleep(guildhall_waiter *waiter)
{
    return sleep_protected((parked *)waiter, timer_loop);
}

static VALUE fiber_loop(VALUE argument)
{
    parked *self = (parked *)argument;
    while (waiting(self)) rb_io_wait(self->resource, INT2NUM(RUBY_IO_READABLE), Qnil);
    return Qnil;
}

static int fiber_sleep(guildhall_waiter *waiter)
{
    return sleep_protected((parked *)waiter, fiber_loop);
}

static VALUE slices_loop(VALUE argument)
{
    parked *self = (parked *)argument;
    while (waiting(self)) {
        int64_t left = self->deadline - guildhall_now();
        if (left > SLICE_NS) left = SLICE_NS;
        if (left > 0) rb_thread_wait_for((struct timeval){0, left / 1000 + 1});
    }
    return Qnil;
}

static int slices_sleep(guildhall_waiter *waiter)
{
    return sleep_protected((parked *)waiter, slices_loop);
}

static const guildhall_sleeper timer = {timer_sleep, timer_rouse, 1};
static const guildhall_sleeper fiber = {fiber_sleep, timer_rouse, 1};
static const guildhall_sleeper slices = {slices_sleep, rest_rouse, 1};

/* ---- choosing */

static int pin(void)
{
    if (atomic_load_explicit(&pinned_waiters, memory_order_relaxed) >= pinned_limit) return 0;
    if (atomic_fetch_add_explicit(&pinned_waiters, 1, memory_order_relaxed) < pinned_limit) return 1;
    atomic_fetch_sub_explicit(&pinned_waiters, 1, memory_order_relaxed);
    return 0;
}

static void sleep_with(parked *self, const guildhall_sleeper *sleeper, uintptr_t handle)
{
    self->base.sleeper = sleeper;
    self->base.handle = handle;
}

static void prepare_fiber(parked *self)
{
    int descriptor = timer_open(self->deadline);
    if (descriptor < 0) rb_sys_fail("timerfd_create");
    VALUE options = rb_hash_new();
    rb_hash_aset(options, ID2SYM(rb_intern("autoclose")), Qfalse);
    VALUE arguments[] = {INT2NUM(descriptor), options};
    self->resource = rb_funcallv_kw(rb_cIO, id_for_fd, 2, arguments, RB_PASS_KEYWORDS);
    self->descriptor = descriptor;
    sleep_with(self, &fiber, (uintptr_t)descriptor);
}

static void prepare_timed(parked *self)
{
    self->descriptor = timer_open(self->deadline);
    if (self->descriptor >= 0) sleep_with(self, &timer, (uintptr_t)self->descriptor);
    else sleep_with(self, &slices, (uintptr_t)self->thread);
}

static void prepare(parked *self, int64_t deadline)
{
    *self = (parked){.thread = rb_thread_current(), .resource = Qnil, .descriptor = -1, .deadline = deadline};
    if (!NIL_P(rb_fiber_scheduler_current())) prepare_fiber(self);
    else if (rb_ractor_local_storage_ptr(main_ractor_key) || (self->pinned = pin())) sleep_with(self, &futex, 0);
    else if (deadline) prepare_timed(self);
    else if (NIL_P(port_class)) sleep_with(self, &rest, (uintptr_t)self->thread);
    else {
        self->resource = own_port(self->thread);
        sleep_with(self, &port, (uintptr_t)self->resource);
    }
}

static void finish(parked *self)
{
    if (self->pinned) atomic_fetch_sub_explicit(&pinned_waiters, 1, memory_order_relaxed);
    if (self->descriptor >= 0) close(self->descriptor);
    RB_GC_GUARD(self->resource);
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Attempts for a moment before sleeping. While both ends are running, what is waited for comes within a microsecond, a tenth
 * of what sleeping and waking costs; while they are not, spinning takes the processor from whoever would bring it. So each
 * list learns how long it pays: as long as it took lately, less with each time that it was in vain, and now and then for
 * longer, to find out. All of it is a hint: races change nothing but a moment's length. */
static int spin(guildhall_patience *patience, guildhall_attempt attempt, void *context)
{
    int spins = atomic_load_explicit(&patience->spins, memory_order_relaxed);
    unsigned waits = atomic_load_explicit(&patience->waits, memory_order_relaxed) + 1;
    atomic_store_explicit(&patience->waits, waits, memory_order_relaxed);
    int most = patience->most ? patience->most : SPINS_MOST;
    int limit = waits % EXPLORE_EVERY == 0 ? EXPLORING * most : spins < SPINS_LEAST ? SPINS_LEAST : spins;
    for (int turn = 0; turn < limit; turn++) {
        if (turn % TURNS_BETWEEN_CHECKS == TURNS_BETWEEN_CHECKS - 1) rb_thread_check_ints(); /* others may want to collect garbage */
        if (attempt(context)) {
            int worth = 4 * turn < most ? 4 * turn : most;
            if (worth > spins) atomic_store_explicit(&patience->spins, worth, memory_order_relaxed);
            return 1;
        }
        relax();
    }
    if (spins > 0) atomic_store_explicit(&patience->spins, spins - spins / 8 - 1, memory_order_relaxed);
    return 0;
}

int guildhall_wait(guildhall_waitlist *list, guildhall_attempt attempt, void *context, int64_t deadline)
{
    return guildhall_wait_as(&list->patience, list, attempt, context, deadline);
}

int guildhall_wait_as(guildhall_patience *patience, guildhall_waitlist *list, guildhall_attempt attempt, void *context,
                      int64_t deadline)
{
    for (;;) {
        if (spin(patience, attempt, context)) return 1;
        if (deadline && guildhall_now() >= deadline) return attempt(context);
        parked self;
        prepare(&self, deadline);
        guildhall_awaited awaited = guildhall_waitlist_await(list, &self.base, attempt, context);
        finish(&self);
        if (awaited == GUILDHALL_SUCCEEDED) return 1;
        if (awaited == GUILDHALL_GAVE_UP) rb_jump_tag(self.raised);
    }
}

static void forget_parents_waiters(void)
{
    atomic_store_explicit(&pinned_waiters, 0, memory_order_relaxed);
}

static void find_port_class(void)
{
    rb_gc_register_address(&port_class);
    rb_gc_register_address(&port_closed_error);
    port_class = port_closed_error = Qnil;
    if (!rb_const_defined(rb_cRactor, rb_intern("Port"))) return;
    port_class = rb_const_get(rb_cRactor, rb_intern("Port"));
    port_closed_error = rb_const_get(rb_cRactor, rb_intern("ClosedError"));
}

void guildhall_init_waiter(VALUE guildhall)
{
    static const struct rb_ractor_local_storage_type plain = {NULL, NULL};
    main_ractor_key = rb_ractor_local_storage_ptr_newkey(&plain);
    rb_ractor_local_storage_ptr_set(main_ractor_key, (void *)1); /* extensions are loaded in the main Ractor */
    parked_key = rb_internal_thread_specific_key_create();       /* before any other Ractor exists */
    id_port = rb_intern("__guildhall_port");
    id_new = rb_intern("new");
    id_send = rb_intern("send");
    id_receive = rb_intern("receive");
    id_for_fd = rb_intern("for_fd");
    id_raise = rb_intern("raise");
    id_kill = rb_intern("kill");
    const char *cpus = getenv("RUBY_MAX_CPU");
    int limit = (cpus && atoi(cpus) > 0 ? atoi(cpus) : 8) - 2;
    pinned_limit = limit > 0 ? limit : 0;
    guildhall_waitlist_setup(forget_parents_waiters);
    find_port_class();
    if (NIL_P(port_class))
        rb_internal_thread_add_event_hook(on_suspended, RUBY_INTERNAL_THREAD_EVENT_SUSPENDED, NULL);
}
