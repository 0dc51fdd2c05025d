/* Checks an Avro payload and builds its structural index (document/structural_index.h). Without Ruby, from any thread.
 *
 * Arrays and maps have entries. One of more than one block has GUILDHALL_AVRO_BLOCKS in its entry; each of its samples then
 * also says how many items of the block are still to come, this one included, and the number of all its items comes last.
 * Of a single block the source says it. There are no samples where items take hardly a byte.
 *
 * An array or map that the reader's schema leaves out has one word: where the source goes on after it.
 */
#ifndef GUILDHALL_AVRO_READ_H
#define GUILDHALL_AVRO_READ_H

#include "document/structural_index.h"
#include "input.h"

#define GUILDHALL_AVRO_BLOCKS ((uint32_t)1 << 31)

/* The bytes from `from` on must be one value of the program's root. When they are, builder->entries is its index. What
 * Ruby code makes of values (logical types) is not looked at. */
guildhall_outcome guildhall_avro_read(const uint8_t *bytes, size_t from, size_t length,
                                           const guildhall_avro_program *program, const guildhall_avro_rules *rules,
                                           guildhall_index_builder *builder);

/* Goes past a value that the reader's schema leaves out. Less strict: texts and numbers are not looked at. */
guildhall_avro_status guildhall_avro_leave_out(guildhall_avro_input *input, const guildhall_avro_program *program, uint32_t node,
                                               uint32_t depth_left);

/* The number of samples for a container, by the bytes of its items. */
static inline uint32_t guildhall_avro_samples(uint64_t items, uint64_t bytes)
{
    return items && bytes >= items ? (uint32_t)((items - 1) / GUILDHALL_SAMPLED) : 0;
}

#endif
