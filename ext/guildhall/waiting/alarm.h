/* A descriptor that becomes readable when the alarm rings. On Linux a timer: one descriptor, which rings at
 * the deadline by itself. Elsewhere a pipe. Does not use Ruby. */
#ifndef GUILDHALL_WAITING_ALARM_H
#define GUILDHALL_WAITING_ALARM_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int readable; /* -1: not open */
    int bell;     /* what guildhall_alarm_ring takes */
} guildhall_alarm;

/* deadline: as guildhall_now counts, 0 for none. 0: no descriptor is left; errno says more. */
int guildhall_alarm_open(guildhall_alarm *alarm, int64_t deadline);
void guildhall_alarm_ring(int bell);
void guildhall_alarm_close(guildhall_alarm *alarm);

/* Whether it rings at the deadline by itself. */
#ifdef GUILDHALL_TIMERFD
#define GUILDHALL_ALARM_KEEPS_TIME 1
#else
#define GUILDHALL_ALARM_KEEPS_TIME 0
#endif

#endif
