/* Everywhere: words share a few mutexes and conditions, by their addresses, so that nothing has to be made for a wait and
 * nothing of it is touched once the word is gone. */
#include "word.h"

#ifndef GUILDHALL_FUTEX
#include <pthread.h>
#include <time.h>
#include "waiter.h"

#define BUCKETS 64
#define LONGEST_NS 1000000000 /* a sleep by a clock that may be set */

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} bucket;

static bucket buckets[BUCKETS];

#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK
static void word_condition_choose_clock(pthread_condattr_t *attributes)
{
    pthread_condattr_setclock(attributes, CLOCK_MONOTONIC);
}

static int64_t word_condition_time(int64_t deadline) { return deadline; }
#else
static void word_condition_choose_clock(pthread_condattr_t *attributes) {}

static int64_t word_condition_time(int64_t deadline)
{
    struct timespec now;
    int64_t left = deadline - guildhall_now();
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec + (left < LONGEST_NS ? left : LONGEST_NS);
}
#endif

void guildhall_word_setup(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    word_condition_choose_clock(&attributes);
    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&buckets[i].mutex, NULL);
        pthread_cond_init(&buckets[i].changed, &attributes);
    }
    pthread_condattr_destroy(&attributes);
}

static bucket *word_condition_bucket(_Atomic int *word)
{
    return &buckets[((uintptr_t)word >> 6) * 0x9E3779B97F4A7C15ull >> 58];
}

void guildhall_word_wait(_Atomic int *word, int value, int64_t deadline)
{
    bucket *b = word_condition_bucket(word);
    pthread_mutex_lock(&b->mutex);
    if (atomic_load(word) != value) {
        /* Changed before the lock: the thread that changed it wakes no other. */
    } else if (deadline) {
        int64_t at = word_condition_time(deadline);
        struct timespec until = {at / 1000000000, at % 1000000000};
        pthread_cond_timedwait(&b->changed, &b->mutex, &until);
    } else {
        pthread_cond_wait(&b->changed, &b->mutex);
    }
    pthread_mutex_unlock(&b->mutex);
}

void guildhall_word_wake(_Atomic int *word)
{
    bucket *b = word_condition_bucket(word);
    pthread_mutex_lock(&b->mutex);
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
}

#endif
