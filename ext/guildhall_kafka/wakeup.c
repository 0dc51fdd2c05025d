#include "wakeup.h"

#include <time.h>

#define NS_PER_S 1000000000LL

void guildhall_wakeup_init(guildhall_wakeup *wakeup)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&wakeup->mutex, NULL);
    pthread_condattr_init(&attributes);
#ifndef __APPLE__ /* which waits relative to now instead */
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(&wakeup->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    wakeup->notified = wakeup->interrupted = false;
}

void guildhall_wakeup_destroy(guildhall_wakeup *wakeup)
{
    pthread_cond_destroy(&wakeup->condition);
    pthread_mutex_destroy(&wakeup->mutex);
}

void guildhall_wakeup_notify(guildhall_wakeup *wakeup)
{
    pthread_mutex_lock(&wakeup->mutex);
    if (!wakeup->notified) {
        wakeup->notified = true;
        pthread_cond_signal(&wakeup->condition);
    }
    pthread_mutex_unlock(&wakeup->mutex);
}

void guildhall_wakeup_interrupt(guildhall_wakeup *wakeup)
{
    pthread_mutex_lock(&wakeup->mutex);
    wakeup->notified = wakeup->interrupted = true;
    pthread_cond_signal(&wakeup->condition);
    pthread_mutex_unlock(&wakeup->mutex);
}

bool guildhall_wakeup_reset(guildhall_wakeup *wakeup)
{
    pthread_mutex_lock(&wakeup->mutex);
    bool interrupted = wakeup->interrupted;
    wakeup->notified = wakeup->interrupted = false;
    pthread_mutex_unlock(&wakeup->mutex);
    return interrupted;
}

bool guildhall_wakeup_wait(guildhall_wakeup *wakeup, int64_t deadline)
{
    int failure = 0;
    pthread_mutex_lock(&wakeup->mutex);
    while (!wakeup->notified && failure == 0) {
#ifdef __APPLE__
        int64_t rest = deadline - guildhall_monotonic_ns();
        struct timespec time = {.tv_sec = rest / NS_PER_S, .tv_nsec = rest % NS_PER_S};
        failure = rest <= 0 ? 1 : pthread_cond_timedwait_relative_np(&wakeup->condition, &wakeup->mutex, &time);
#else
        struct timespec time = {.tv_sec = deadline / NS_PER_S, .tv_nsec = deadline % NS_PER_S};
        failure = pthread_cond_timedwait(&wakeup->condition, &wakeup->mutex, &time);
#endif
    }
    bool notified = wakeup->notified;
    pthread_mutex_unlock(&wakeup->mutex);
    return notified;
}

int64_t guildhall_monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}
