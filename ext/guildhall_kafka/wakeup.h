/* Lets one thread sleep until any of many queues has something, or somebody asks for it. Needs no GVL. */
#ifndef GUILDHALL_KAFKA_WAKEUP_H
#define GUILDHALL_KAFKA_WAKEUP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    bool notified;    /* look at the queues again */
    bool interrupted; /* return to the caller, whatever there is */
} guildhall_wakeup;

void guildhall_wakeup_init(guildhall_wakeup *wakeup);
void guildhall_wakeup_destroy(guildhall_wakeup *wakeup);
void guildhall_wakeup_notify(guildhall_wakeup *wakeup);
/* The same as a callback of librdkafka's. */
void guildhall_wakeup_notify_from(void *consumer, void *wakeup);
void guildhall_wakeup_interrupt(guildhall_wakeup *wakeup);
/* Before the queues are looked at. Whether somebody interrupted since the last time. */
bool guildhall_wakeup_reset(guildhall_wakeup *wakeup);
/* Waits for a notification, an interrupt or the deadline (of guildhall_now). False at the deadline. */
bool guildhall_wakeup_wait(guildhall_wakeup *wakeup, int64_t deadline);

#endif
