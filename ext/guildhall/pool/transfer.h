/* What a worker leaves in a slot, where each Ractor has a collector of its own: not an object, but what the reader makes one of. An object
 * that leaves its Ractor has to be shareable there: a walk makes it that, and only a collection of all Ractors frees it again. What the
 * reader has made is the reader's, and goes with its next collection.
 *
 * It lies in a block (memory/block_pool.h). In a slot it looks like a special constant that Ruby does not use. */
#ifndef GUILDHALL_POOL_TRANSFER_H
#define GUILDHALL_POOL_TRANSFER_H

#include <ruby.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "guildhall/decoder.h"

enum { GUILDHALL_TRANSFER_TAG = 4, GUILDHALL_TRANSFER_TAG_BITS = 0xf, GUILDHALL_LEAST_ADDRESS = 0x10000 };

static inline bool guildhall_transfer_p(VALUE slot)
{
    return (slot & GUILDHALL_TRANSFER_TAG_BITS) == GUILDHALL_TRANSFER_TAG && slot > GUILDHALL_LEAST_ADDRESS;
}

/* Of what a decoder has made, whose `free` does not look at its context: the codec may be gone by then. Raises NoMemoryError, and frees
 * the result. */
VALUE guildhall_transfer_of_result(const guildhall_decoder *, guildhall_result *);
/* Of plain data: Strings, Arrays, Hashes whose keys are Strings, Symbols, numbers, nil, true or false; Floats, Integers of 62 bits, nil,
 * true, false; and up to 16 objects that are shareable already (Symbols made from Strings are such). 0: it is not only that, or has more
 * than 65,536 values, or is more than 31 levels deep, or there is no memory; then nothing has changed. `freeze`: what was put in is frozen
 * to its last part. Runs no Ruby code, raises nothing. */
VALUE guildhall_transfer_of_plain(VALUE object, bool freeze);
/* What was in it, frozen to its last part: `owner` keeps the decoded bytes alive, unmoved and unchanged. The transfer is gone then. Runs
 * no Ruby code. May raise NoMemoryError; then the transfer is still there. */
VALUE guildhall_transfer_open(VALUE transfer, VALUE owner, const uint8_t *bytes, size_t length);
/* Marks what a transfer refers to; does nothing with anything else. */
void guildhall_transfer_mark(VALUE slot);
/* Frees a transfer; does nothing with anything else. With or without the GVL. The codec may be gone: Ruby frees what it collects together
 * in any order. */
void guildhall_transfer_drop(VALUE slot);
/* Bytes; 0: it is none. */
size_t guildhall_transfer_size(VALUE slot);

/* Reports the memory of unopened transfers to the collector of the calling Ractor. Each dispatch calls it. A transfer opened before the
 * next dispatch is never reported; that is the point: short-lived ones must not cause collections. */
void guildhall_transfers_report(void);
/* Opened, or about to be dropped. With the GVL; also while garbage is collected. */
void guildhall_transfers_gone(size_t bytes);

#endif
