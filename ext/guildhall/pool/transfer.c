#include "transfer.h"
#include <stdatomic.h>
#include <string.h>
#include "memory/block_pool.h"
#include "values/plain_copy.h"

typedef struct {
    const guildhall_decoder *decoder; /* the codec's, and gone with it; NULL: plain data follows */
    void (*free)(const void *context, guildhall_result *);
    guildhall_result result;
    size_t length;                    /* of what follows, in bytes */
    size_t reference_count;
    VALUE references[];               /* then the bytes of plain data */
} transfer;

static _Atomic size_t unreported; /* bytes of transfers */

static transfer *pool_transfer_of(VALUE slot) { return (transfer *)(slot - GUILDHALL_TRANSFER_TAG); }

static transfer *pool_transfer_new(size_t length)
{
    transfer *made = guildhall_block_take(sizeof *made + length);
    if (!made) return NULL;
    made->length = length;
    made->reference_count = 0;
    return made;
}

static VALUE pool_transfer_seal(transfer *made)
{
    VALUE slot = (VALUE)made + GUILDHALL_TRANSFER_TAG;
    atomic_fetch_add_explicit(&unreported, guildhall_transfer_size(slot), memory_order_relaxed);
    return slot;
}

static void pool_transfer_free(transfer *p) { guildhall_block_give(p, sizeof *p + p->length); }

VALUE guildhall_transfer_of_result(const guildhall_decoder *decoder, guildhall_result *result)
{
    transfer *made = pool_transfer_new(0);
    if (!made) {
        decoder->free(decoder->context, result);
        rb_memerror();
    }
    made->decoder = decoder;
    made->free = decoder->free;
    made->result = *result;
    return pool_transfer_seal(made);
}

VALUE guildhall_transfer_of_plain(VALUE object, bool freeze)
{
    guildhall_plain_writer writer;
    guildhall_plain_begin(&writer);
    transfer *made = NULL;
    if (guildhall_plain_write(&writer, object)) made = pool_transfer_new(writer.reference_count * sizeof(VALUE) + writer.length);
    if (made) {
        made->decoder = NULL;
        made->reference_count = writer.reference_count;
        memcpy(made->references, writer.references, writer.reference_count * sizeof(VALUE));
        memcpy(made->references + writer.reference_count, writer.bytes, writer.length);
        if (freeze) guildhall_plain_freeze(object);
    }
    guildhall_plain_end(&writer);
    RB_GC_GUARD(object);
    return made ? pool_transfer_seal(made) : 0;
}

VALUE guildhall_transfer_open(VALUE slot, VALUE owner, const uint8_t *bytes, size_t length)
{
    transfer *p = pool_transfer_of(slot);
    size_t size = guildhall_transfer_size(slot);
    VALUE object;
    if (p->decoder) object = p->decoder->wrap(p->decoder->context, &p->result, owner, bytes, length);
    else object = guildhall_plain_read((const uint8_t *)(p->references + p->reference_count), p->references);
    if (p->decoder && p->result.data) p->free(NULL, &p->result);
    pool_transfer_free(p);
    guildhall_transfers_gone(size);
    return object;
}

void guildhall_transfer_mark(VALUE slot)
{
    if (!guildhall_transfer_p(slot)) return;
    const transfer *p = pool_transfer_of(slot);
    for (size_t i = 0; i < p->reference_count; i++) rb_gc_mark(p->references[i]);
}

void guildhall_transfer_drop(VALUE slot)
{
    if (!guildhall_transfer_p(slot)) return;
    transfer *p = pool_transfer_of(slot);
    if (p->decoder) p->free(NULL, &p->result);
    pool_transfer_free(p);
}

size_t guildhall_transfer_size(VALUE slot)
{
    if (!guildhall_transfer_p(slot)) return 0;
    const transfer *p = pool_transfer_of(slot);
    return sizeof *p + p->length + (p->decoder ? p->result.size : 0);
}

void guildhall_transfers_report(void)
{
    size_t bytes = atomic_exchange_explicit(&unreported, 0, memory_order_relaxed);
    if (bytes) guildhall_gc_block_adopt(bytes);
}

void guildhall_transfers_gone(size_t bytes)
{
    size_t before = atomic_load_explicit(&unreported, memory_order_relaxed), rest;
    do rest = before > bytes ? before - bytes : 0;
    while (!atomic_compare_exchange_weak_explicit(&unreported, &before, rest, memory_order_relaxed, memory_order_relaxed));
    if (bytes > before) guildhall_gc_freed(bytes - before);
}
