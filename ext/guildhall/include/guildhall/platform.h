/* What differs between operating systems, in one place; for the extensions of the gems guildhall and guildhall-kafka alone. Without
 * Ruby. Needs a 64-bit, little-endian machine, and gcc or clang, which extconf.rb checks.
 *
 * All that the extensions ask of the system, beside C11:
 *
 *   everywhere   clock_gettime (CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID), getentropy, getenv, sysconf(_SC_NPROCESSORS_ONLN), sched_yield,
 *                pipe, fcntl, write, close (waiting/sleepers.c), pthread_atfork, pthread_key_create and its kin, pthread_once,
 *                mutexes and conditions of pthread, __thread, aligned_alloc (C11; macOS has it since 10.15), pthread_create,
 *                pthread_detach, pthread_sigmask, sigfillset (guildhall_kafka/destruction.c)
 *   Linux        CLOCK_MONOTONIC_COARSE, futex (waiting/word.c), timerfd (waiting/sleepers.c)
 *   macOS        pthread_cond_timedwait_relative_np, because its conditions know no other clock than that of the calendar;
 *                getentropy is in <sys/random.h>
 *
 * What is not in this list stands in no other file: test/platform_test.rb checks it, and `rake cross` compiles everything against
 * headers that hide what macOS has not. */
#ifndef GUILDHALL_PLATFORM_H
#define GUILDHALL_PLATFORM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

#define GUILDHALL_NS_PER_S 1000000000LL

static inline int64_t guildhall_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * GUILDHALL_NS_PER_S + now.tv_nsec;
}

/* Nanoseconds of the monotonic clock. */
static inline int64_t guildhall_now(void) { return guildhall_clock(CLOCK_MONOTONIC); }

/* The same clock. Where there is one that advances in steps of some milliseconds but costs next to nothing, that one. */
static inline int64_t guildhall_coarse_now(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
    return guildhall_clock(CLOCK_MONOTONIC_COARSE);
#else
    return guildhall_now();
#endif
}

/* Nanoseconds of processor time of the calling native thread. */
static inline int64_t guildhall_thread_cpu_now(void) { return guildhall_clock(CLOCK_THREAD_CPUTIME_ID); }

/* Bytes that nobody can predict. False where the system has none. */
static inline int guildhall_random_bytes(void *bytes, size_t count) { return getentropy(bytes, count) == 0; }

static inline long guildhall_processors(void) { return sysconf(_SC_NPROCESSORS_ONLN); }

/* A condition that waits by the clock of guildhall_now. */
static inline void guildhall_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#ifndef __APPLE__
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Under the mutex. Non-zero at the deadline; may return early. */
static inline int guildhall_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline)
{
#ifdef __APPLE__
    int64_t time = deadline - guildhall_now();
    if (time <= 0) return 1;
    struct timespec left = {time / GUILDHALL_NS_PER_S, time % GUILDHALL_NS_PER_S};
    return pthread_cond_timedwait_relative_np(condition, mutex, &left) != 0;
#else
    struct timespec until = {deadline / GUILDHALL_NS_PER_S, deadline % GUILDHALL_NS_PER_S};
    return pthread_cond_timedwait(condition, mutex, &until) != 0;
#endif
}

#endif
