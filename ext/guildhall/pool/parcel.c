#include "parcel.h"
#include <string.h>
#include "memory/block_pool.h"
#include "values/plain_copy.h"

typedef struct {
    const guildhall_decoder *decoder; /* NULL: `references` are all, and bytes behind them */
    guildhall_result result;
    size_t length;                    /* of what follows */
    size_t reference_count;
    VALUE references[];
} parcel;

static parcel *parcel_of(VALUE slot) { return (parcel *)(slot - GUILDHALL_PARCEL_TAG); }

static parcel *parcel_take(size_t length)
{
    parcel *made = guildhall_block_take(sizeof *made + length);
    if (!made) return NULL;
    made->length = length;
    made->reference_count = 0;
    return made;
}

static void parcel_give(parcel *p) { guildhall_block_give(p, sizeof *p + p->length); }

VALUE guildhall_parcel_of_result(const guildhall_decoder *decoder, guildhall_result *result)
{
    parcel *made = parcel_take(0);
    if (!made) {
        decoder->free(decoder->context, result);
        rb_memerror();
    }
    made->decoder = decoder;
    made->result = *result;
    return (VALUE)made + GUILDHALL_PARCEL_TAG;
}

VALUE guildhall_parcel_of_plain(VALUE object, bool freeze)
{
    guildhall_plain_writer writer;
    guildhall_plain_begin(&writer);
    size_t references = 0;
    parcel *made = NULL;
    if (guildhall_plain_write(&writer, object)) {
        references = writer.reference_count * sizeof(VALUE);
        made = parcel_take(references + writer.length);
    }
    if (made) {
        made->decoder = NULL;
        made->reference_count = writer.reference_count;
        memcpy(made->references, writer.references, references);
        memcpy(made->references + writer.reference_count, writer.bytes, writer.length);
        if (freeze) guildhall_plain_freeze(object);
    }
    guildhall_plain_end(&writer);
    RB_GC_GUARD(object);
    return made ? (VALUE)made + GUILDHALL_PARCEL_TAG : 0;
}

VALUE guildhall_parcel_open(VALUE slot, VALUE owner, const uint8_t *bytes, size_t length)
{
    parcel *p = parcel_of(slot);
    VALUE object;
    if (p->decoder) object = p->decoder->wrap(p->decoder->context, &p->result, owner, bytes, length);
    else object = guildhall_plain_read((const uint8_t *)(p->references + p->reference_count), p->references);
    parcel_give(p);
    return object;
}

void guildhall_parcel_mark(VALUE slot)
{
    if (!guildhall_parcel_p(slot)) return;
    const parcel *p = parcel_of(slot);
    for (size_t i = 0; i < p->reference_count; i++) rb_gc_mark(p->references[i]);
}

void guildhall_parcel_drop(VALUE slot)
{
    if (!guildhall_parcel_p(slot)) return;
    parcel *p = parcel_of(slot);
    if (p->decoder) p->decoder->free(p->decoder->context, &p->result);
    parcel_give(p);
}

size_t guildhall_parcel_size(VALUE slot)
{
    if (!guildhall_parcel_p(slot)) return 0;
    const parcel *p = parcel_of(slot);
    return sizeof *p + p->length + (p->decoder ? p->result.size : 0);
}
