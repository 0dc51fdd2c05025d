/* Memory of notes: one a native thread, kept from payload to payload. */
#include <pthread.h>
#include <stdlib.h>
#include "avro_read.h"

#define KEPT_WORDS ((size_t)1 << 18) /* 1 MiB */

static __thread guildhall_avro_notes *of_thread;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void guildhall_avro_notes_free(guildhall_avro_notes *notes)
{
    free(notes->marks.words);
    free(notes->samples.words);
    memset(notes, 0, sizeof *notes);
}

static void free_of_thread(void *pointer)
{
    guildhall_avro_notes_free(pointer);
    free(pointer);
    of_thread = NULL;
}

static void make_key(void) { pthread_key_create(&key, free_of_thread); }

guildhall_avro_notes *guildhall_avro_notes_of_thread(void)
{
    if (__builtin_expect(of_thread != NULL, 1)) return of_thread;
    pthread_once(&once, make_key);
    of_thread = calloc(1, sizeof *of_thread);
    if (of_thread) pthread_setspecific(key, of_thread);
    return of_thread;
}

void guildhall_avro_notes_trim(guildhall_avro_notes *notes)
{
    if (notes->marks.capacity + notes->samples.capacity > KEPT_WORDS) guildhall_avro_notes_free(notes);
}
