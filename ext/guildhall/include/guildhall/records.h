/* How a class of records (messages of Kafka, say) offers their bytes to C code that knows no such class by name: the pool, whose workers
 * decode them where they lie. The class has a method `native_records`, which returns the address of a guildhall_records as an Integer;
 * it stays for as long as the process does.
 */
#ifndef GUILDHALL_RECORDS_H
#define GUILDHALL_RECORDS_H

#include <ruby.h>
#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_RECORDS_ABI 1

typedef struct {
    uint32_t abi; /* GUILDHALL_RECORDS_ABI */
    /* The payload's bytes, which neither move nor change while the record lives; NULL: there is none. From any Ractor, and without the
     * GVL, while somebody keeps the record alive. */
    const uint8_t *(*bytes)(VALUE record, size_t *length);
} guildhall_records;

#endif
