/* The structural index of a payload of a binary format: with it a Document finds a value without reading everything
 * before it. Without Ruby.
 *
 * Short values need no entry: they are found by reading what precedes them. A container that is not empty has entries, in
 * the order of the payload:
 *
 *   0        the offset in the source after it
 *   1        the entry after it (and a flag, as the format defines it)
 *   …        the entries of what is inside
 *   …        a sample of every 16th item: its offset in the source, and its entry (and more, as the format defines it)
 */
#ifndef GUILDHALL_DOCUMENT_STRUCTURAL_INDEX_H
#define GUILDHALL_DOCUMENT_STRUCTURAL_INDEX_H

#include <stddef.h>
#include <stdint.h>
#include "key_index.h"

#define GUILDHALL_SAMPLED 16 /* items */

/* Grows as needed, is used again for the next payload. */
typedef struct {
    uint32_t *words;
    size_t count, capacity;
} guildhall_words;

typedef struct {
    guildhall_words entries;
    guildhall_words samples; /* of the containers that are open */
} guildhall_index_builder;

/* Where a value is: in the source and in the index; what it is, as the format defines it. */
typedef struct {
    uint32_t offset, entry, node;
} guildhall_position;

/* A payload as it is read. */
typedef struct {
    const struct guildhall_codec *codec;
    const uint8_t *bytes;
    size_t length;
    const void *entries;                /* of its index, as the format defines it */
    guildhall_key_indexes *key_indexes; /* NULL where there is no Document yet */
} guildhall_view;

/* Of a reader. status: 0, or the format's number of what is wrong; error_offset: in bytes. */
typedef struct {
    int status;
    size_t error_offset;
} guildhall_outcome;

/* 0 when memory is short. */
int guildhall_words_grow(guildhall_words *words);

static inline int guildhall_words_add(guildhall_words *words, uint32_t word)
{
    if (__builtin_expect(words->count == words->capacity, 0) && !guildhall_words_grow(words)) return 0;
    words->words[words->count++] = word;
    return 1;
}

/* The calling native thread's own; NULL when memory is short. Emptied by each reader. */
guildhall_index_builder *guildhall_index_builder_current(void);
/* Gives back what an unusually large payload took of the calling thread's. */
void guildhall_index_builder_trim(void);
void guildhall_index_builder_free(guildhall_index_builder *builder);

#endif
