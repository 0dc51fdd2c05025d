/* Memory of notes: one a native thread, kept from payload to payload. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "notes.h"

#define FIRST_WORDS 256
#define KEPT_WORDS ((size_t)1 << 18) /* 1 MiB */

static __thread guildhall_notes *of_thread;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int guildhall_words_grow(guildhall_words *words)
{
    size_t capacity = words->capacity ? words->capacity * 2 : FIRST_WORDS;
    uint32_t *grown = realloc(words->words, capacity * sizeof *grown);
    if (!grown) return 0;
    words->words = grown;
    words->capacity = capacity;
    return 1;
}

void guildhall_notes_free(guildhall_notes *notes)
{
    free(notes->marks.words);
    free(notes->samples.words);
    memset(notes, 0, sizeof *notes);
}

static void free_of_thread(void *pointer)
{
    guildhall_notes_free(pointer);
    free(pointer);
    of_thread = NULL;
}

static void make_key(void) { pthread_key_create(&key, free_of_thread); }

guildhall_notes *guildhall_notes_of_thread(void)
{
    if (__builtin_expect(of_thread != NULL, 1)) return of_thread;
    pthread_once(&once, make_key);
    of_thread = calloc(1, sizeof *of_thread);
    if (of_thread) pthread_setspecific(key, of_thread);
    return of_thread;
}

void guildhall_notes_trim(guildhall_notes *notes)
{
    if (notes->marks.capacity + notes->samples.capacity > KEPT_WORDS) guildhall_notes_free(notes);
}
