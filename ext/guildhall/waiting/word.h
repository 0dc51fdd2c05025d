/* Sleeping on a word until it is changed: a futex on Linux, a mutex and a condition elsewhere. Without Ruby and without the GVL;
 * may return early. */
#ifndef GUILDHALL_WAITING_WORD_H
#define GUILDHALL_WAITING_WORD_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while the word has this value. deadline: as guildhall_now counts, 0 for none. */
void guildhall_word_wait(_Atomic int *word, int value, int64_t deadline);
/* After the word was changed. Only the address is used: where the word is gone, a thread may wake for nothing. */
void guildhall_word_wake(_Atomic int *word);
/* Once before the others, and in a child after fork. */
void guildhall_word_setup(void);

/* Whether a signal handler may wake. */
#ifdef GUILDHALL_FUTEX
#define GUILDHALL_WORD_ASYNC_SAFE 1
#else
#define GUILDHALL_WORD_ASYNC_SAFE 0
#endif

#endif
