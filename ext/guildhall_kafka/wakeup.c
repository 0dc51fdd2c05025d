#include "reading.h"
#include <guildhall/platform.h>

void guildhall_wakeup_init(guildhall_wakeup *wakeup)
{
    pthread_mutex_init(&wakeup->mutex, NULL);
    guildhall_condition_init(&wakeup->condition);
    wakeup->notified = wakeup->interrupted = false;
}

void guildhall_wakeup_destroy(guildhall_wakeup *wakeup)
{
    pthread_cond_destroy(&wakeup->condition);
    pthread_mutex_destroy(&wakeup->mutex);
}

void guildhall_wakeup_notify(guildhall_wakeup *wakeup, bool interrupt)
{
    pthread_mutex_lock(&wakeup->mutex);
    if (!wakeup->notified) pthread_cond_signal(&wakeup->condition);
    wakeup->notified = true;
    if (interrupt) wakeup->interrupted = true;
    pthread_mutex_unlock(&wakeup->mutex);
}

void guildhall_wakeup_notify_from(void *consumer, void *wakeup) { guildhall_wakeup_notify(wakeup, false); }

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
    while (!wakeup->notified && failure == 0) failure = guildhall_condition_wait(&wakeup->condition, &wakeup->mutex, deadline);
    bool notified = wakeup->notified;
    pthread_mutex_unlock(&wakeup->mutex);
    return notified;
}
