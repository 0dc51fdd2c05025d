/* Linux. */
#include "word.h"

#ifdef GUILDHALL_FUTEX
#include <linux/futex.h>
#include <guildhall/platform.h>
#include <sys/syscall.h>

void guildhall_word_wait(_Atomic int *word, int value, int64_t deadline)
{
    struct timespec left, *limit = NULL;
    if (deadline) {
        int64_t nanoseconds = deadline - guildhall_now();
        if (nanoseconds <= 0) return;
        left = (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
        limit = &left;
    }
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, NULL, 0);
}

void guildhall_word_wake(_Atomic int *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

void guildhall_word_setup(void) {}

#endif
