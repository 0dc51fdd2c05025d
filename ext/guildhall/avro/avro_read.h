/* Checks an Avro payload and notes what is needed to find one's way in it (document/notes.h). Without Ruby, from any
 * thread.
 *
 * Arrays and maps have marks. One that stands in more than one block has GUILDHALL_AVRO_BLOCKS in its mark; each of its
 * samples then says too how many items of the block are still to come, this one included; and the number of its items
 * stands last. Of a single block it stands in the source. There are no samples where items take hardly a byte.
 *
 * An array or map that the reader's schema leaves out has one word: where the source goes on after it.
 */
#ifndef GUILDHALL_AVRO_READ_H
#define GUILDHALL_AVRO_READ_H

#include "../document/notes.h"
#include "avro_input.h"

#define GUILDHALL_AVRO_BLOCKS ((uint32_t)1 << 31)

typedef struct {
    guildhall_avro_status status;
    size_t fault; /* byte offset */
} guildhall_avro_outcome;

/* The bytes from `from` on must be one value of the program's root. When they are, notes->marks are its marks. What
 * Ruby code makes of values (logical types) is not looked at. */
guildhall_avro_outcome guildhall_avro_read(const uint8_t *bytes, size_t from, size_t length,
                                           const guildhall_avro_program *program, const guildhall_avro_rules *rules,
                                           guildhall_notes *notes);

/* How many samples a container has, whose items stand in so many bytes. */
static inline uint32_t guildhall_avro_samples(uint64_t items, uint64_t bytes)
{
    return items && bytes >= items ? (uint32_t)((items - 1) / GUILDHALL_SAMPLED) : 0;
}

#endif
