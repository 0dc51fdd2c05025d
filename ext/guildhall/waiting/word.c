#include "word.h"
#include <guildhall/platform.h>

#ifdef GUILDHALL_FUTEX
#include <linux/futex.h>
#include <sys/syscall.h>

void guildhall_word_wait(_Atomic int *word, int value, int64_t deadline)
{
    struct timespec left, *limit = NULL;
    if (deadline) {
        int64_t nanoseconds = deadline - guildhall_now();
        if (nanoseconds <= 0) return;
        left = (struct timespec){nanoseconds / GUILDHALL_NS_PER_S, nanoseconds % GUILDHALL_NS_PER_S};
        limit = &left;
    }
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
}

void guildhall_word_wake(_Atomic int *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

void guildhall_word_setup(void) {}

#else

/* Words share these by their addresses, so that a wait needs to make nothing, and a waker touches nothing of a word that is gone. */
enum { BUCKETS = 64 };
static struct word_bucket {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} buckets[BUCKETS];

void guildhall_word_setup(void)
{
    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_init(&buckets[i].mutex, NULL);
        guildhall_condition_init(&buckets[i].changed);
    }
}

static struct word_bucket *word_bucket_of(_Atomic int *word) { return &buckets[((uintptr_t)word >> 6) * 0x9E3779B97F4A7C15ull >> 58]; }

void guildhall_word_wait(_Atomic int *word, int value, int64_t deadline)
{
    struct word_bucket *bucket = word_bucket_of(word);
    pthread_mutex_lock(&bucket->mutex);
    /* Where the word was changed before the lock, its waker has signalled already. */
    if (atomic_load(word) == value) {
        if (deadline) guildhall_condition_wait(&bucket->changed, &bucket->mutex, deadline);
        else pthread_cond_wait(&bucket->changed, &bucket->mutex);
    }
    pthread_mutex_unlock(&bucket->mutex);
}

void guildhall_word_wake(_Atomic int *word)
{
    struct word_bucket *bucket = word_bucket_of(word);
    pthread_mutex_lock(&bucket->mutex);
    pthread_cond_broadcast(&bucket->changed);
    pthread_mutex_unlock(&bucket->mutex);
}

#endif
