/* Lets one thread sleep until any of many queues has something, or somebody asks for it. Needs no GVL. */
#ifndef GUILDHALL_KAFKA_DOORBELL_H
#define GUILDHALL_KAFKA_DOORBELL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    bool rung;   /* look at the queues again */
    bool called; /* return to the caller, whatever there is */
} guildhall_doorbell;

void guildhall_doorbell_init(guildhall_doorbell *bell);
void guildhall_doorbell_destroy(guildhall_doorbell *bell);
void guildhall_doorbell_ring(guildhall_doorbell *bell);
void guildhall_doorbell_call(guildhall_doorbell *bell);
/* Before the queues are looked at. Whether somebody called since the last time. */
bool guildhall_doorbell_answer(guildhall_doorbell *bell);
/* Waits for a ring, a call or the deadline (CLOCK_MONOTONIC, ns). False at the deadline. */
bool guildhall_doorbell_wait(guildhall_doorbell *bell, int64_t deadline);
int64_t guildhall_monotonic_ns(void);

#endif
