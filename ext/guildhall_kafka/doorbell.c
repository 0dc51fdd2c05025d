#include "doorbell.h"

#include <time.h>

#define NS_PER_S 1000000000LL

void guildhall_doorbell_init(guildhall_doorbell *bell)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&bell->mutex, NULL);
    pthread_condattr_init(&attributes);
#ifndef __APPLE__ /* which waits relative to now instead */
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(&bell->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    bell->rung = bell->called = false;
}

void guildhall_doorbell_destroy(guildhall_doorbell *bell)
{
    pthread_cond_destroy(&bell->condition);
    pthread_mutex_destroy(&bell->mutex);
}

void guildhall_doorbell_ring(guildhall_doorbell *bell)
{
    pthread_mutex_lock(&bell->mutex);
    if (!bell->rung) {
        bell->rung = true;
        pthread_cond_signal(&bell->condition);
    }
    pthread_mutex_unlock(&bell->mutex);
}

void guildhall_doorbell_call(guildhall_doorbell *bell)
{
    pthread_mutex_lock(&bell->mutex);
    bell->rung = bell->called = true;
    pthread_cond_signal(&bell->condition);
    pthread_mutex_unlock(&bell->mutex);
}

bool guildhall_doorbell_answer(guildhall_doorbell *bell)
{
    pthread_mutex_lock(&bell->mutex);
    bool called = bell->called;
    bell->rung = bell->called = false;
    pthread_mutex_unlock(&bell->mutex);
    return called;
}

bool guildhall_doorbell_wait(guildhall_doorbell *bell, int64_t deadline)
{
    int failure = 0;
    pthread_mutex_lock(&bell->mutex);
    while (!bell->rung && failure == 0) {
#ifdef __APPLE__
        int64_t rest = deadline - guildhall_monotonic_ns();
        struct timespec time = {.tv_sec = rest / NS_PER_S, .tv_nsec = rest % NS_PER_S};
        failure = rest <= 0 ? 1 : pthread_cond_timedwait_relative_np(&bell->condition, &bell->mutex, &time);
#else
        struct timespec time = {.tv_sec = deadline / NS_PER_S, .tv_nsec = deadline % NS_PER_S};
        failure = pthread_cond_timedwait(&bell->condition, &bell->mutex, &time);
#endif
    }
    bool rung = bell->rung;
    pthread_mutex_unlock(&bell->mutex);
    return rung;
}

int64_t guildhall_monotonic_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}
