/* Linux: a timerfd. */
#include "alarm.h"

#ifdef GUILDHALL_TIMERFD
#include <sys/timerfd.h>
#include <unistd.h>

int guildhall_alarm_open(guildhall_alarm *alarm, int64_t deadline)
{
    alarm->readable = alarm->bell = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (alarm->readable < 0) return 0;
    struct itimerspec at = {.it_value = {deadline / 1000000000, deadline % 1000000000}};
    if (deadline) timerfd_settime(alarm->readable, TFD_TIMER_ABSTIME, &at, NULL);
    return 1;
}

void guildhall_alarm_ring(int bell)
{
    struct itimerspec now = {.it_value = {0, 1}};
    timerfd_settime(bell, 0, &now, NULL);
}

void guildhall_alarm_close(guildhall_alarm *alarm) { close(alarm->readable); }

#endif
