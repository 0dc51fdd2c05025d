/* Hashes of one kind have the same keys in the same order. To fill one key by key means to hash each key's bytes again;
 * a copy of a mould, which has the keys, only needs its values: that takes a fifth of the time.
 *
 * One table a Ractor. Needs the GVL; runs no Ruby code but what objects of other classes, as keys, have for `hash`.
 */
#ifndef GUILDHALL_MOULDS_H
#define GUILDHALL_MOULDS_H

#include <ruby.h>

#define GUILDHALL_MOULDS 256

typedef struct {
    uint64_t print; /* of the keys that came last */
    VALUE hash;     /* 0: they came once so far */
} guildhall_mould;

typedef struct {
    guildhall_mould moulds[GUILDHALL_MOULDS];
} guildhall_moulds;

/* As guildhall_hash_new. */
VALUE guildhall_moulds_hash(guildhall_moulds *moulds, long count, const VALUE *pairs);

void guildhall_moulds_mark(const guildhall_moulds *moulds);

#endif
