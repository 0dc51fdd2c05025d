#include "waiter.h"
#include "init.h"
#include <ruby/ractor.h>
#include <ruby/thread.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

/* How a waiter sleeps.
 *
 * FUTEX  inside rb_nogvl: the quickest, but it pins a native thread. Threads of the main Ractor always have one of their
 *        own; of the other Ractors at most RUBY_MAX_CPU - 2 may be pinned at once, or the M:N scheduler has no native
 *        thread left to run a runnable Ractor on.
 * PORT   receive on a Ractor::Port of the waiting thread's own (4.0).
 * SLEEP  rb_thread_sleep_forever (3.4). A wake-up that comes before the thread sleeps would be eaten by its interrupt
 *        check; the SUSPENDED hook, which runs between that check and the sleep, looks again.
 * TIMED  rb_thread_wait_for in slices, for waits with a deadline beyond the pinned ones: a timed wait on a Port does not
 *        exist, and a lost wake-up costs one slice at most.
 */
enum kind { FUTEX, PORT, SLEEP, TIMED };

/* The futex word. WAITING → CLAIMED (by a waker that still touches the waiter) → DONE (it touches it no more). */
enum { WAITING = 1, CLAIMED = 2, DONE = 3, STATE = 7, INTERRUPTED = 8 };

#define SLICE_NS 10000000L
#define SPINS 10

typedef struct guildhall_waiter {
    struct guildhall_waiter *next, *previous;
    _Atomic int state;
    enum kind kind;
    int linked; /* in the list; under its mutex */
    int pinned; /* counted in `pinned_waiters` */
    VALUE thread, port;
    int64_t deadline;
} waiter;

static _Atomic int pinned_waiters;
static int pinned_limit;
static rb_ractor_local_key_t main_ractor_key;
static rb_internal_thread_specific_key_t waiter_key;
static VALUE port_class;
static ID id_port, id_new, id_send, id_receive;

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

void guildhall_waitlist_init(guildhall_waitlist *list)
{
    atomic_init(&list->count, 0);
    pthread_mutex_init(&list->mutex, NULL);
    list->first = list->last = NULL;
}

void guildhall_waitlist_destroy(guildhall_waitlist *list)
{
    pthread_mutex_destroy(&list->mutex);
}

size_t guildhall_waitlist_count(const guildhall_waitlist *list)
{
    return atomic_load_explicit(&((guildhall_waitlist *)list)->count, memory_order_relaxed);
}

/* ---- the list */

static void append(guildhall_waitlist *list, waiter *self)
{
    pthread_mutex_lock(&list->mutex);
    self->next = NULL;
    self->previous = list->last;
    if (list->last) list->last->next = self;
    else list->first = self;
    list->last = self;
    self->linked = 1;
    atomic_fetch_add_explicit(&list->count, 1, memory_order_relaxed);
    pthread_mutex_unlock(&list->mutex);
    /* Pairs with the fence in claim_first: registered before the next attempt looks. */
    atomic_thread_fence(memory_order_seq_cst);
}

/* Under the mutex. */
static void unlink_waiter(guildhall_waitlist *list, waiter *self)
{
    if (self->previous) self->previous->next = self->next;
    else list->first = self->next;
    if (self->next) self->next->previous = self->previous;
    else list->last = self->previous;
    self->linked = 0;
    atomic_fetch_sub_explicit(&list->count, 1, memory_order_relaxed);
}

static int state_of(waiter *self)
{
    return atomic_load_explicit(&self->state, memory_order_acquire) & STATE;
}

/* Leaves the list. True when a waker had claimed this waiter; then that waker no longer touches it. */
static int leave(guildhall_waitlist *list, waiter *self)
{
    int claimed = state_of(self) == DONE;
    if (!claimed) {
        pthread_mutex_lock(&list->mutex);
        int linked = self->linked;
        if (linked) unlink_waiter(list, self);
        pthread_mutex_unlock(&list->mutex);
        claimed = !linked;
        /* The waker runs on another native thread and is between two stores: a moment. */
        while (claimed && state_of(self) != DONE) sched_yield();
    }
    if (self->pinned) atomic_fetch_sub_explicit(&pinned_waiters, 1, memory_order_relaxed);
    return claimed;
}

/* ---- waking */

static void futex_wake(_Atomic int *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static VALUE send_token(VALUE port)
{
    return rb_funcall(port, id_send, 1, Qtrue);
}

/* What a waker needs of the waiter it has claimed: with FUTEX and PORT the waiter may be gone by the time it is woken. */
typedef struct {
    waiter *self;
    enum kind kind;
    VALUE port;
} claim;

static int claim_first(guildhall_waitlist *list, claim *claimed)
{
    /* Pairs with the fence in append: the change made before this call is seen by whoever registers after it. */
    atomic_thread_fence(memory_order_seq_cst);
    if (guildhall_waitlist_count(list) == 0) return 0;
    pthread_mutex_lock(&list->mutex);
    waiter *self = list->first;
    if (self) {
        *claimed = (claim){self, self->kind, self->port};
        unlink_waiter(list, self);
        /* DONE before the send: a send can join a GC barrier, for which a spinning target would wait. */
        int gone = self->kind == FUTEX || self->kind == PORT;
        if (gone) atomic_store_explicit(&self->state, DONE, memory_order_release);
        else atomic_store_explicit(&self->state, CLAIMED, memory_order_release);
    }
    pthread_mutex_unlock(&list->mutex);
    return self != NULL;
}

static void rouse(claim *claimed)
{
    waiter *self = claimed->self;
    int failed = 0;
    switch (claimed->kind) {
      case FUTEX:
        futex_wake(&self->state); /* only its address is used: if the frame is gone, somebody wakes for nothing */
        break;
      case PORT:
        rb_protect(send_token, claimed->port, &failed); /* fails when the waiting Ractor has ended meanwhile */
        if (failed) rb_set_errinfo(Qnil);
        RB_GC_GUARD(claimed->port);
        break;
      case TIMED:
        rb_thread_wakeup_alive(self->thread);
        /* fall through */
      case SLEEP:
        rb_thread_wakeup_alive(self->thread);
        atomic_store_explicit(&self->state, DONE, memory_order_release);
        break;
    }
}

void guildhall_waitlist_wake_one(guildhall_waitlist *list)
{
    claim claimed;
    if (claim_first(list, &claimed)) rouse(&claimed);
}

void guildhall_waitlist_wake_all(guildhall_waitlist *list)
{
    claim claimed;
    /* Those who come back at once must not keep us here: as many as there are now. */
    for (size_t left = guildhall_waitlist_count(list) + 1; left > 0 && claim_first(list, &claimed); left--) rouse(&claimed);
}

/* ---- sleeping */

static void *futex_sleep(void *argument)
{
    waiter *self = argument;
    struct timespec left, *limit = NULL;
    if (self->deadline) {
        int64_t nanoseconds = self->deadline - guildhall_now();
        if (nanoseconds <= 0) return NULL;
        left = (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
        limit = &left;
    }
    syscall(SYS_futex, &self->state, FUTEX_WAIT_PRIVATE, WAITING, limit, NULL, 0);
    return NULL;
}

static void interrupt_futex(void *argument)
{
    waiter *self = argument;
    atomic_fetch_or(&self->state, INTERRUPTED);
    futex_wake(&self->state);
}

static void slice_sleep(waiter *self)
{
    int64_t left = self->deadline - guildhall_now();
    if (left <= 0) return;
    if (left > SLICE_NS) left = SLICE_NS;
    rb_thread_wait_for((struct timeval){0, left / 1000 + 1});
}

static int expired(waiter *self)
{
    return self->deadline && guildhall_now() >= self->deadline;
}

/* Under rb_protect: any of these may raise what interrupts the thread. */
static VALUE sleep_until_claimed(VALUE argument)
{
    waiter *self = (waiter *)argument;
    while (state_of(self) == WAITING && !expired(self)) {
        switch (self->kind) {
          case FUTEX:
            atomic_fetch_and(&self->state, ~INTERRUPTED);
            rb_nogvl(futex_sleep, self, interrupt_futex, self, RB_NOGVL_UBF_ASYNC_SAFE);
            break;
          case PORT:
            rb_funcall(self->port, id_receive, 0); /* a token left over from an earlier wait costs one turn */
            break;
          case SLEEP:
            rb_thread_sleep_forever();
            break;
          case TIMED:
            slice_sleep(self);
            break;
        }
    }
    return Qnil;
}

/* Runs on a thread that is about to sleep, after its last interrupt check. Claimed meanwhile, it interrupts itself, so
 * that the sleep returns at once. */
static void on_suspended(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *unused)
{
    waiter *self = rb_internal_thread_specific_get(data->thread, waiter_key);
    if (!self || state_of(self) < CLAIMED) return;
    for (int turns = 0; turns < 1000 && state_of(self) != DONE; turns++) sched_yield(); /* the waker drops its locks */
    rb_thread_wakeup_alive(data->thread);
}

static int pin(void)
{
    if (atomic_load_explicit(&pinned_waiters, memory_order_relaxed) >= pinned_limit) return 0;
    if (atomic_fetch_add_explicit(&pinned_waiters, 1, memory_order_relaxed) < pinned_limit) return 1;
    atomic_fetch_sub_explicit(&pinned_waiters, 1, memory_order_relaxed);
    return 0;
}

static VALUE own_port(VALUE thread)
{
    VALUE port = rb_thread_local_aref(thread, id_port);
    if (!NIL_P(port)) return port;
    port = rb_funcall(port_class, id_new, 0);
    rb_thread_local_aset(thread, id_port, port);
    return port;
}

static void prepare(waiter *self, int64_t deadline)
{
    *self = (waiter){.thread = rb_thread_current(), .port = Qnil, .deadline = deadline};
    atomic_init(&self->state, WAITING);
    if (rb_ractor_local_storage_ptr(main_ractor_key)) self->kind = FUTEX;
    else if ((self->pinned = pin())) self->kind = FUTEX;
    else if (deadline) self->kind = TIMED;
    else if (NIL_P(port_class)) self->kind = SLEEP;
    else {
        self->kind = PORT;
        self->port = own_port(self->thread);
    }
}

static int park(waiter *self)
{
    int raised = 0;
    if (self->kind != SLEEP) {
        rb_protect(sleep_until_claimed, (VALUE)self, &raised);
        return raised;
    }
    /* An exception handler that runs while we sleep may wait as well: restore what the outer wait had there. */
    void *outer = rb_internal_thread_specific_get(self->thread, waiter_key);
    rb_internal_thread_specific_set(self->thread, waiter_key, self);
    rb_protect(sleep_until_claimed, (VALUE)self, &raised);
    rb_internal_thread_specific_set(self->thread, waiter_key, outer);
    return raised;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

int guildhall_wait(guildhall_waitlist *list, guildhall_attempt attempt, void *context, int64_t deadline)
{
    for (;;) {
        for (int spin = 0; spin < SPINS; spin++) {
            if (attempt(context)) return 1;
            relax();
        }
        if (deadline && guildhall_now() >= deadline) return attempt(context);
        waiter self;
        prepare(&self, deadline);
        append(list, &self);
        if (attempt(context)) {
            if (leave(list, &self)) guildhall_waitlist_wake_one(list);
            return 1;
        }
        int raised = park(&self);
        int claimed = leave(list, &self);
        RB_GC_GUARD(self.port);
        if (raised) {
            if (claimed) guildhall_waitlist_wake_one(list);
            rb_jump_tag(raised);
        }
        if (attempt(context)) return 1;
    }
}

void guildhall_init_waiter(VALUE guildhall)
{
    static const struct rb_ractor_local_storage_type plain = {NULL, NULL};
    main_ractor_key = rb_ractor_local_storage_ptr_newkey(&plain);
    rb_ractor_local_storage_ptr_set(main_ractor_key, (void *)1); /* extensions are loaded in the main Ractor */
    waiter_key = rb_internal_thread_specific_key_create();       /* before any other Ractor exists */
    id_port = rb_intern("__guildhall_port");
    id_new = rb_intern("new");
    id_send = rb_intern("send");
    id_receive = rb_intern("receive");
    const char *cpus = getenv("RUBY_MAX_CPU");
    int limit = (cpus && atoi(cpus) > 0 ? atoi(cpus) : 8) - 2;
    pinned_limit = limit > 0 ? limit : 0;
    rb_gc_register_address(&port_class);
    port_class = Qnil;
    if (rb_const_defined(rb_cRactor, rb_intern("Port"))) port_class = rb_const_get(rb_cRactor, rb_intern("Port"));
    else rb_internal_thread_add_event_hook(on_suspended, RUBY_INTERNAL_THREAD_EVENT_SUSPENDED, NULL);
}
