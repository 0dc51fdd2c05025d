/* Guildhall::Columns for C code that holds what a codec's native decoder has made (guildhall/decoder.h): values at compiled paths are made
 * of it without a Document. Where that is, the constant Guildhall::NATIVE_COLUMNS says: the address of a guildhall_columns, which stays for as
 * long as the process does. For the gems guildhall and guildhall-kafka alone. */
#ifndef GUILDHALL_COLUMNS_H
#define GUILDHALL_COLUMNS_H

#include <ruby.h>
#include <stdbool.h>
#include <guildhall/decoder.h>

#define GUILDHALL_COLUMNS_ABI 1

/* What a row is made of. */
typedef struct {
    const void *data;     /* a guildhall_result's, not wrapped and not freed; NULL: `document`, or nothing */
    VALUE document;       /* a Document; nil: `data`, or nothing: then what lies at paths is nil */
    const uint8_t *bytes; /* of the payload, as the decoder was given them */
    size_t length;
    /* The value of a column that is no path into the payload. */
    VALUE (*other)(VALUE column, void *argument);
    void *argument;
    bool frozen;  /* and shareable, where all that `other` returns is */
    void *caches; /* NULL for the first row; the next rows, in the same call from Ruby, need not look them up */
} guildhall_columns_source;

typedef struct {
    uint32_t abi; /* GUILDHALL_COLUMNS_ABI */
    /* Whether rows can be made of this decoder's results. */
    bool (*reads)(const guildhall_decoder *decoder);
    /* With the GVL. A new row: the value of the only column, an Array of values, or a Hash. Bytes and data have to stay where they are until
     * it returns: Ruby code may run in it. */
    VALUE (*row)(VALUE columns, guildhall_columns_source *source);
} guildhall_columns;

#endif
