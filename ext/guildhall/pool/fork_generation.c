/* The number of forks between this process and the one that loaded the extension. */
#include "fork_generation.h"
#include <pthread.h>
#include <stdatomic.h>

static _Atomic unsigned generation;

static void count_fork(void)
{
    atomic_fetch_add(&generation, 1);
}

unsigned guildhall_fork_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

void guildhall_init_pool_fork_generation(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}
