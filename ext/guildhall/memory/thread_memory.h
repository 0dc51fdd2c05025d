/* One struct a native thread, all zero at first and kept until the thread ends. Without Ruby. */
#ifndef GUILDHALL_MEMORY_THREAD_MEMORY_H
#define GUILDHALL_MEMORY_THREAD_MEMORY_H

#include <pthread.h>
#include <stdlib.h>

/* Defines `type *current(void)`, which returns NULL when memory is short. empty(pointer): gives back what the struct holds. */
#define GUILDHALL_THREAD_MEMORY(type, current, empty)                                                                  \
    static __thread type *current##_memory;                                                                            \
    static pthread_key_t current##_key;                                                                                \
    static pthread_once_t current##_once = PTHREAD_ONCE_INIT;                                                          \
    static void current##_end(void *pointer)                                                                           \
    {                                                                                                                  \
        empty(pointer);                                                                                                \
        free(pointer);                                                                                                 \
        current##_memory = NULL;                                                                                       \
    }                                                                                                                  \
    static void current##_make_key(void) { pthread_key_create(&current##_key, current##_end); }                        \
    type *current(void)                                                                                                \
    {                                                                                                                  \
        if (__builtin_expect(current##_memory != NULL, 1)) return current##_memory;                                    \
        pthread_once(&current##_once, current##_make_key);                                                             \
        current##_memory = calloc(1, sizeof *current##_memory);                                                        \
        if (current##_memory) pthread_setspecific(current##_key, current##_memory);                                    \
        return current##_memory;                                                                                       \
    }

#endif
