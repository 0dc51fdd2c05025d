/* Everywhere: words share a few mutexes and conditions, by their addresses, so that nothing has to be made for a wait and
 * nothing of it is touched once the word is gone. */
#include "word.h"

#ifndef GUILDHALL_FUTEX
#include <guildhall/platform.h>

#define BUCKETS 64

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} bucket;

static bucket buckets[BUCKETS];

void guildhall_word_setup(void)
{
    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&buckets[i].mutex, NULL);
        guildhall_condition_init(&buckets[i].changed);
    }
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
        guildhall_condition_wait(&b->changed, &b->mutex, deadline);
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
