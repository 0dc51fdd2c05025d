/* Memory of tapes: one a native thread, kept from payload to payload. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "tape.h"

#define FIRST_NODES 512
#define FIRST_LEVELS 64
#define KEPT_NODES ((size_t)1 << 18) /* 2 MiB */

static __thread guildhall_tape *of_thread;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int guildhall_tape_grow(guildhall_tape *tape)
{
    size_t capacity = tape->capacity ? tape->capacity * 2 : FIRST_NODES;
    guildhall_tape_node *nodes = realloc(tape->nodes, capacity * sizeof *nodes);
    if (!nodes) return 0;
    tape->nodes = nodes;
    tape->capacity = capacity;
    return 1;
}

int guildhall_tape_grow_levels(guildhall_tape *tape)
{
    uint32_t capacity = tape->levels_capacity ? tape->levels_capacity * 2 : FIRST_LEVELS;
    guildhall_tape_level *levels = realloc(tape->levels, capacity * sizeof *levels);
    if (!levels) return 0;
    tape->levels = levels;
    tape->levels_capacity = capacity;
    return 1;
}

void guildhall_tape_free(guildhall_tape *tape)
{
    free(tape->nodes);
    free(tape->levels);
    memset(tape, 0, sizeof *tape);
}

static void free_of_thread(void *pointer)
{
    guildhall_tape_free(pointer);
    free(pointer);
    of_thread = NULL;
}

static void make_key(void) { pthread_key_create(&key, free_of_thread); }

guildhall_tape *guildhall_tape_of_thread(void)
{
    if (__builtin_expect(of_thread != NULL, 1)) return of_thread;
    pthread_once(&once, make_key);
    of_thread = calloc(1, sizeof *of_thread);
    if (of_thread) pthread_setspecific(key, of_thread);
    return of_thread;
}

void guildhall_tape_trim(guildhall_tape *tape)
{
    if (tape->capacity > KEPT_NODES) guildhall_tape_free(tape);
}
