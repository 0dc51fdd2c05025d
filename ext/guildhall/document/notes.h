/* What a reader of a binary format notes of a payload, so that one finds one's way in it without reading it all again.
 * Without Ruby.
 *
 * What is short is found by reading what stands before it. Containers that are not empty have a mark, in the order of
 * the payload, because they may be long:
 *
 *   0        where the source goes on after it
 *   1        where the marks go on after it (and a flag, as the format defines it)
 *   …        the marks of what is inside
 *   …        a sample of every 16th item: where it begins in the source, and its marks (and more, as the format defines it)
 */
#ifndef GUILDHALL_NOTES_H
#define GUILDHALL_NOTES_H

#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_SAMPLED 16 /* items */

/* Longer sources are refused: offsets leave room for flags. */
#define GUILDHALL_NOTES_BYTES_LIMIT ((size_t)0x0fffffff)

/* Grows as needed, is used again for the next payload. */
typedef struct {
    uint32_t *words;
    size_t count, capacity;
} guildhall_words;

typedef struct {
    guildhall_words marks;
    guildhall_words samples; /* of the containers that are open */
} guildhall_notes;

/* Where a value stands: in the source, among the marks; what it is, as the format defines it. */
typedef struct {
    uint32_t offset, mark, node;
} guildhall_spot;

/* 0 when memory is short. */
int guildhall_words_grow(guildhall_words *words);

static inline int guildhall_words_add(guildhall_words *words, uint32_t word)
{
    if (__builtin_expect(words->count == words->capacity, 0) && !guildhall_words_grow(words)) return 0;
    words->words[words->count++] = word;
    return 1;
}

/* The calling native thread's own; NULL when memory is short. Emptied by each reader. */
guildhall_notes *guildhall_notes_of_thread(void);

/* Gives back what an unusually large payload took. */
void guildhall_notes_trim(guildhall_notes *notes);
void guildhall_notes_free(guildhall_notes *notes);

#endif
