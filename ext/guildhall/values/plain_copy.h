/* Plain data as bytes, and those bytes as data again, in this process: how what a Ractor has made becomes another one's. */
#ifndef GUILDHALL_VALUES_PLAIN_COPY_H
#define GUILDHALL_VALUES_PLAIN_COPY_H

#include <ruby.h>
#include <ruby/st.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUILDHALL_PLAIN_REFERENCES = 16 };

typedef struct {
    uint8_t *bytes;
    size_t length, capacity, nodes;
    VALUE references[GUILDHALL_PLAIN_REFERENCES]; /* what was shareable already, and is no copy */
    size_t reference_count;
    st_table *texts; /* Strings that were written, once there is much; NULL: none is noted */
    uint8_t on_stack[1024];
} guildhall_plain_writer;

void guildhall_plain_begin(guildhall_plain_writer *);
/* Whether all of it is plain, or shareable, and was written: see guildhall_transfer_of_plain. */
bool guildhall_plain_write(guildhall_plain_writer *, VALUE);
void guildhall_plain_end(guildhall_plain_writer *);
/* What was written is frozen in place, to its last part. */
void guildhall_plain_freeze(VALUE);
/* The same data, made afresh, frozen. What was there twice, and was not shareable, is there twice, as two objects. May raise NoMemoryError. */
VALUE guildhall_plain_read(const uint8_t *bytes, const VALUE *references);

#endif
