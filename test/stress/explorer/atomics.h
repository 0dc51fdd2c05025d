/* Included before the sources under test: every atomic operation and every mutex becomes a point where the explorer may let
 * another thread go on. Threads are coroutines of one native thread, so plain accesses do. Stores other than seq_cst may be
 * held back in a buffer, as processors do (total store order). */
#ifndef EXPLORER_ATOMICS_H
#define EXPLORER_ATOMICS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

void explorer_step(void);
void explorer_fence(void);
void explorer_store(void *address, size_t size, unsigned long value);
unsigned long explorer_load(const void *address, size_t size);
void explorer_lock(pthread_mutex_t *mutex);
void explorer_unlock(pthread_mutex_t *mutex);
void explorer_yield(void);

#define EXPLORER_READ(p) ((__typeof__(+*(p)))explorer_load((const void *)(p), sizeof(*(p))))

#undef atomic_load_explicit
#define atomic_load_explicit(p, order) (explorer_step(), EXPLORER_READ(p))
#undef atomic_store_explicit
#define atomic_store_explicit(p, value, order) \
    (explorer_step(), explorer_store((void *)(p), sizeof(*(p)), (unsigned long)(value)))
#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit(p, value, order) (explorer_fence(), __atomic_fetch_add(p, value, __ATOMIC_RELAXED))
#undef atomic_fetch_sub_explicit
#define atomic_fetch_sub_explicit(p, value, order) (explorer_fence(), __atomic_fetch_sub(p, value, __ATOMIC_RELAXED))
#undef atomic_fetch_or_explicit
#define atomic_fetch_or_explicit(p, value, order) (explorer_fence(), __atomic_fetch_or(p, value, __ATOMIC_RELAXED))
#undef atomic_compare_exchange_weak_explicit
#define atomic_compare_exchange_weak_explicit(p, expected, desired, success, failure)                          \
    (explorer_fence(), __extension__({                                                                         \
         __auto_type seen_ = (expected);                                                                       \
         __typeof__(*seen_) now_ = *(p);                                                                       \
         int same_ = now_ == *seen_;                                                                           \
         if (same_) *(p) = (desired);                                                                          \
         else *seen_ = now_;                                                                                   \
         same_;                                                                                                \
     }))
#undef atomic_thread_fence
#define atomic_thread_fence(order) explorer_fence()

#define pthread_mutex_lock(mutex) explorer_lock(mutex)
#define pthread_mutex_unlock(mutex) explorer_unlock(mutex)
#define sched_yield() explorer_yield()

#endif
