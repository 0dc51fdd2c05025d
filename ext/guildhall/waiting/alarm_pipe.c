/* Everywhere: a pipe. The thread that waits for it watches the deadline. */
#include "alarm.h"

#ifndef GUILDHALL_TIMERFD
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
