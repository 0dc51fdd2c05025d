#define pthread_condattr_setclock macos_has_no_pthread_condattr_setclock
#define pthread_cond_clockwait macos_has_no_pthread_cond_clockwait
#include_next <pthread.h>
#undef pthread_condattr_setclock
#undef pthread_cond_clockwait
#ifndef LIKE_MACOS_PTHREAD_H
#define LIKE_MACOS_PTHREAD_H
int pthread_cond_timedwait_relative_np(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
#endif
