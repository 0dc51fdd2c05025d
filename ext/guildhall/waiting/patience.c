/* Attempts for a moment before sleeping. While both ends are running, what is waited for comes within a microsecond, a tenth
 * of what sleeping and waking costs; while they are not, spinning takes the processor from the thread that would bring it. So each
 * list learns how long it pays: as long as it took lately, less with each time that it was in vain, and now and then for
 * longer, to find out. All of it is a hint: races change nothing but a moment's length. */
#include "waiter.h"
#include <ruby/thread.h>

#define SPINS_LEAST 10
#define MAX_SPINS 1000      /* some tens of microseconds, as being put to sleep and woken costs on a machine at rest */
#define EXPLORING 2          /* times the most: long enough to meet one that has to be woken first */
#define EXPLORE_EVERY 16
#define TURNS_BETWEEN_CHECKS 512 /* some ten microseconds */

static inline void patience_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static int patience_most(const guildhall_patience *patience) { return patience->most ? patience->most : MAX_SPINS; }

static int patience_limit(guildhall_patience *patience, int spins)
{
    unsigned waits = atomic_load_explicit(&patience->waits, memory_order_relaxed) + 1;
    atomic_store_explicit(&patience->waits, waits, memory_order_relaxed);
    if (waits % EXPLORE_EVERY == 0) return EXPLORING * patience_most(patience);
    return spins < SPINS_LEAST ? SPINS_LEAST : spins;
}

static void patience_paid(guildhall_patience *patience, int spins, int turns)
{
    int most = patience_most(patience), worth = 4 * turns < most ? 4 * turns : most;
    if (worth > spins) atomic_store_explicit(&patience->spins, worth, memory_order_relaxed);
}

int guildhall_spin(guildhall_patience *patience, guildhall_attempt attempt, void *context)
{
    int spins = atomic_load_explicit(&patience->spins, memory_order_relaxed), limit = patience_limit(patience, spins);
    for (int turn = 0; turn < limit; turn++) {
        if (turn % TURNS_BETWEEN_CHECKS == TURNS_BETWEEN_CHECKS - 1) rb_thread_check_ints(); /* others may want to collect garbage */
        if (attempt(context)) {
            patience_paid(patience, spins, turn);
            return 1;
        }
        patience_relax();
    }
    if (spins > 0) atomic_store_explicit(&patience->spins, spins - spins / 8 - 1, memory_order_relaxed);
    return 0;
}
