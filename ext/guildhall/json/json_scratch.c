/* Memory for parsing that each native thread keeps. */
#include <pthread.h>
#include <stdlib.h>
#include "json_parse.h"

#define KEPT_NODES ((size_t)1 << 18) /* 2 MiB: texts of up to half a megabyte parse without an allocation */

static __thread guildhall_json_scratch *of_thread;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void guildhall_json_scratch_free(guildhall_json_scratch *scratch)
{
    free(scratch->nodes);
    free(scratch->table);
    free(scratch->places);
    memset(scratch, 0, sizeof *scratch);
}

static void free_of_thread(void *pointer)
{
    guildhall_json_scratch_free(pointer);
    free(pointer);
    of_thread = NULL;
}

static void make_key(void) { pthread_key_create(&key, free_of_thread); }

guildhall_json_scratch *guildhall_json_scratch_current(void)
{
    if (__builtin_expect(of_thread != NULL, 1)) return of_thread;
    pthread_once(&once, make_key);
    of_thread = calloc(1, sizeof *of_thread);
    if (of_thread) pthread_setspecific(key, of_thread);
    return of_thread;
}

void guildhall_json_scratch_trim(guildhall_json_scratch *scratch)
{
    if (scratch->capacity > KEPT_NODES || scratch->table_capacity > KEPT_NODES) {
        uint64_t seed = scratch->seed;
        guildhall_json_scratch_free(scratch);
        scratch->seed = seed;
    }
}
