#include "alarm.h"
#include <unistd.h>

#ifdef GUILDHALL_TIMERFD
#include <sys/timerfd.h>

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

#else
#include <errno.h>
#include <fcntl.h>

/* The thread that waits for the pipe watches the deadline. */
int guildhall_alarm_open(guildhall_alarm *alarm, int64_t deadline)
{
    int ends[2];
    alarm->readable = alarm->bell = -1;
    if (pipe(ends) != 0) return 0;
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *alarm = (guildhall_alarm){ends[0], ends[1]};
    return 1;
}

void guildhall_alarm_ring(int bell)
{
    while (write(bell, "", 1) < 0 && errno == EINTR) continue;
}

void guildhall_alarm_close(guildhall_alarm *alarm)
{
    close(alarm->readable);
    close(alarm->bell);
}

#endif
