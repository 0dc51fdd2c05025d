/* Checks an Avro payload and notes what is needed to find one's way in it without reading it all again. Without Ruby,
 * from any thread.
 *
 * Records, unions and scalars need no note: what follows them is found by reading them. Arrays and maps that are not
 * empty have a mark, in the order of the payload, because they may be long:
 *
 *   0        where the source goes on after it
 *   1        where the marks go on after it; GUILDHALL_AVRO_BLOCKS is added where it stands in more than one block
 *   …        the marks of what is inside
 *   …        a sample of every 16th item: where the item begins in the source, and its marks; of more than one block
 *            also how many items of the block are still to come, this one included. There are none where items take
 *            hardly a byte
 *   last     of more than one block: the number of its items. Of a single block it stands in the source
 *
 * An array or map that the reader's schema leaves out has one word: where the source goes on after it.
 */
#ifndef GUILDHALL_AVRO_READ_H
#define GUILDHALL_AVRO_READ_H

#include "avro_input.h"

#define GUILDHALL_AVRO_BLOCKS ((uint32_t)1 << 31)
#define GUILDHALL_AVRO_SAMPLED 16

/* Grows as needed, is used again for the next payload. */
typedef struct {
    uint32_t *words;
    size_t count, capacity;
} guildhall_avro_words;

typedef struct {
    guildhall_avro_words marks;
    guildhall_avro_words samples; /* of the arrays and maps that are open */
} guildhall_avro_notes;

typedef struct {
    guildhall_avro_status status;
    size_t fault; /* byte offset */
} guildhall_avro_outcome;

/* The bytes from `from` on must be one value of the program's root. When they are, notes->marks are its marks. What
 * Ruby code makes of values (logical types) is not looked at. */
guildhall_avro_outcome guildhall_avro_read(const uint8_t *bytes, size_t from, size_t length,
                                           const guildhall_avro_program *program, const guildhall_avro_rules *rules,
                                           guildhall_avro_notes *notes);

/* How many samples a container has, whose items stand in so many bytes. */
static inline uint32_t guildhall_avro_samples(uint64_t items, uint64_t bytes)
{
    return items && bytes >= items ? (uint32_t)((items - 1) / GUILDHALL_AVRO_SAMPLED) : 0;
}

/* The calling native thread's own; NULL when memory is short. Emptied by each reader. */
guildhall_avro_notes *guildhall_avro_notes_of_thread(void);

/* Gives back what an unusually large payload took. */
void guildhall_avro_notes_trim(guildhall_avro_notes *notes);
void guildhall_avro_notes_free(guildhall_avro_notes *notes);

#endif
