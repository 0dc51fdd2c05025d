/* How a codec offers its decoder to C code that knows no codec by name: a Kafka reader that decodes whole batches
 * without the GVL, the pool's batch path, or an extension of a third party.
 *
 * A codec's Ruby method `native_decoder` returns the address of a guildhall_decoder as an Integer. The codec object
 * owns the struct: keep the codec alive while the address is in use.
 */
#ifndef GUILDHALL_DECODER_H
#define GUILDHALL_DECODER_H

#include <ruby.h>
#include <stddef.h>
#include <stdint.h>

#define GUILDHALL_DECODER_ABI 1

typedef enum {
    GUILDHALL_DECODED = 0, /* result->data is set; wrap or free it */
    GUILDHALL_INVALID = 1, /* result->error_* are set; there is nothing to free */
    GUILDHALL_DEFER = 2    /* only Ruby can decode this one, by the codec's `call` (an unknown schema, say, or a root that is neither a
                            * map nor an array, for which a codec may have Ruby code); there is nothing to free */
} guildhall_decoded;

typedef struct {
    void *data;            /* the decoder's own; opaque to the caller */
    size_t size;           /* bytes of memory that `data` holds */
    size_t error_offset;   /* byte offset of the first error */
    int error_code;        /* the decoder's own numbering; `error` makes an exception of it */
} guildhall_result;

typedef struct guildhall_decoder {
    uint32_t abi;          /* GUILDHALL_DECODER_ABI */
    uint32_t size;         /* sizeof(guildhall_decoder) of the codec's build */
    const void *context;   /* passed to every function below; owned by the codec */

    /* Without the GVL, from several native threads at once. Never raises, never allocates from Ruby. */
    guildhall_decoded (*decode)(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result);
    /* With the GVL. Makes a frozen, shareable object, and leaves result->data NULL where that takes it over; else, or where this raises
     * NoMemoryError, `free` still has to be called. `bytes` lie in memory that `owner` keeps alive, unmoved and unchanged for as long as
     * `owner` lives. Runs no Ruby code: a reader calls it between two polls. */
    VALUE (*wrap)(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length);
    /* With the GVL. The exception (not raised) for a result that is GUILDHALL_INVALID. */
    VALUE (*error)(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length);
    /* Drops a decoded result that nothing has taken over. With or without the GVL. The context is NULL where the codec may be gone. */
    void (*free)(const void *context, guildhall_result *result);
    /* With the GVL. All at once, where no other thread could use the GVL meanwhile: what the codec's `call` returns for the
     * frozen String, or raises. NULL: decode, then wrap or error, do as well. */
    VALUE (*call)(const void *context, VALUE bytes);
} guildhall_decoder;

typedef struct {
    const guildhall_decoder *decoder;
    guildhall_result *result;
    VALUE owner;
    const uint8_t *bytes;
    size_t length;
} guildhall_wrapping;

static inline VALUE guildhall_decoder_wrap_now(VALUE argument)
{
    const guildhall_wrapping *of = (const guildhall_wrapping *)argument;
    return of->decoder->wrap(of->decoder->context, of->result, of->owner, of->bytes, of->length);
}

/* With the GVL. The decoder at the address that a codec's `native_decoder` has returned; NULL: nil, or one of another version. */
static inline const guildhall_decoder *guildhall_decoder_at(VALUE address)
{
    const guildhall_decoder *decoder = NIL_P(address) ? NULL : (const guildhall_decoder *)(uintptr_t)NUM2ULL(address);
    return decoder && decoder->abi == GUILDHALL_DECODER_ABI && decoder->size >= sizeof(guildhall_decoder) ? decoder : NULL;
}

/* With the GVL. As `wrap`; nothing of the result is left. */
static inline VALUE guildhall_decoder_wrap(const guildhall_decoder *decoder, guildhall_result *result, VALUE owner, const uint8_t *bytes,
                                           size_t length)
{
    guildhall_wrapping of = {decoder, result, owner, bytes, length};
    int state = 0;
    VALUE value = rb_protect(guildhall_decoder_wrap_now, (VALUE)&of, &state);
    if (result->data) decoder->free(decoder->context, result);
    if (state) rb_jump_tag(state);
    return value;
}

/* With the GVL. What the codec's `call` returns, or raises, for bytes that lie in `owner`; Qundef where only that can decode them. */
static inline VALUE guildhall_decoder_decode(const guildhall_decoder *decoder, VALUE owner, const uint8_t *bytes, size_t length)
{
    guildhall_result result = {0};
    guildhall_decoded verdict = decoder->decode(decoder->context, bytes, length, &result);
    if (verdict == GUILDHALL_DEFER) return Qundef;
    if (verdict == GUILDHALL_INVALID) rb_exc_raise(decoder->error(decoder->context, &result, bytes, length));
    return guildhall_decoder_wrap(decoder, &result, owner, bytes, length);
}

#endif
