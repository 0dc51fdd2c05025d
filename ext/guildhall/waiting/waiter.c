#include "waiter.h"
#include <math.h>
#include <stdbool.h>
#include "init.h"
#include "sleepers.h"

VALUE guildhall_argument_error(void) { return rb_path2class("Guildhall::ArgumentError"); }

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

/* ---- Spinning before sleeping. While both ends are running, what is waited for comes within a microsecond, a tenth of what sleeping and
 * waking costs; while they are not, spinning takes the processor from the thread that would bring it. So each list learns how long
 * it pays: as long as it took lately, less with each time that it was in vain, and now and then for longer, to find out, the more seldom
 * the more often that was in vain. All of it is a hint: races change nothing but a moment's length. */

enum {
    LEAST_SPINS = 4,
    MOST_SPINS = 1000,           /* some tens of microseconds, as being put to sleep and woken costs on a machine at rest */
    EXPLORING = 2,               /* times the most: long enough to meet one that has to be woken first */
    EXPLORE_EVERY = 16,          /* waits */
    MOST_DOUBLINGS = 6,          /* of that: where nothing ever comes within the time, a wait spins 2 turns more on average */
    TURNS_BETWEEN_CHECKS = 512   /* some ten microseconds */
};

static inline void waiter_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static int waiter_most_spins(const guildhall_patience *patience) { return patience->most ? patience->most : MOST_SPINS; }

/* Whether this wait is one to find out whether longer spinning pays. */
static bool waiter_explores(guildhall_patience *patience)
{
    unsigned waits = atomic_load_explicit(&patience->waits, memory_order_relaxed) + 1;
    bool due = waits >= (unsigned)EXPLORE_EVERY << atomic_load_explicit(&patience->vain, memory_order_relaxed);
    atomic_store_explicit(&patience->waits, due ? 0 : waits, memory_order_relaxed);
    return due;
}

static void waiter_explored(guildhall_patience *patience, bool in_vain)
{
    unsigned vain = atomic_load_explicit(&patience->vain, memory_order_relaxed);
    if (!in_vain) vain = 0;
    else if (vain < MOST_DOUBLINGS) vain++;
    atomic_store_explicit(&patience->vain, vain, memory_order_relaxed);
}

/* Attempts for as long as it seems to pay. Raises what interrupts the thread. */
static int waiter_spin(guildhall_patience *patience, guildhall_attempt attempt, void *context)
{
    int spins = atomic_load_explicit(&patience->spins, memory_order_relaxed), most = waiter_most_spins(patience);
    bool exploring = waiter_explores(patience);
    int limit = exploring ? EXPLORING * most : spins < LEAST_SPINS ? LEAST_SPINS : spins;
    for (int turn = 0; turn < limit; turn++) {
        if (turn % TURNS_BETWEEN_CHECKS == TURNS_BETWEEN_CHECKS - 1) rb_thread_check_ints(); /* others may want to collect garbage */
        if (attempt(context)) {
            int worth = 4 * turn < most ? 4 * turn : most;
            if (worth > spins) atomic_store_explicit(&patience->spins, worth, memory_order_relaxed);
            if (turn >= LEAST_SPINS) waiter_explored(patience, false);
            return 1;
        }
        waiter_relax();
    }
    if (exploring) waiter_explored(patience, true);
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
        if (waiter_spin(patience, attempt, context)) return 1;
        if (deadline && guildhall_now() >= deadline) return attempt(context);
        guildhall_parked self = {.thread = rb_thread_current(), .resource = Qnil, .deadline = deadline};
        guildhall_choose_sleeper(&self);
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
    guildhall_init_sleepers();
    guildhall_waitlist_setup(guildhall_sleepers_forked);
    rb_define_const(guildhall, "RACTOR_THREADS", INT2FIX(guildhall_ractor_threads()));
}
