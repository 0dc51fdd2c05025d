/* Payloads as Documents: at once, or in the two steps of a native decoder (guildhall/decoder.h), of which the first one needs no
 * GVL. */
#include <ruby.h>
#include <string.h>
#include "any.h"
#include "memory/block_pool.h"
#include "object.h"

VALUE guildhall_document_of(const void *context, VALUE source, size_t from)
{
    const guildhall_codec *codec = context;
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_index index;
    guildhall_outcome outcome = codec->format->read(codec, bytes, from, length, &index);
    if (RB_UNLIKELY(outcome.status)) rb_exc_raise(codec->format->error(codec, outcome, bytes, from, length));
    VALUE made = guildhall_document_new(codec, source, from, &index);
    codec->format->trim();
    RB_GC_GUARD(source);
    return made;
}

guildhall_decoded guildhall_document_decode(const void *context, const uint8_t *bytes, size_t from, size_t length,
                                            guildhall_result *result)
{
    const guildhall_codec *codec = context;
    guildhall_index index;
    guildhall_outcome outcome = codec->format->read(codec, bytes, from, length, &index);
    bool scalar = !outcome.status && guildhall_document_scalar_p(codec, bytes, from, length, &index);
    guildhall_root_document *root = outcome.status || scalar ? NULL : guildhall_document_block(codec, from, &index);
    codec->format->trim();
    if (scalar) return GUILDHALL_DEFER; /* the codec may have Ruby code for it */
    if (root) {
        *result = (guildhall_result){.data = root, .size = guildhall_document_bytes(root)};
        return GUILDHALL_DECODED;
    }
    *result = (guildhall_result){.error_code = outcome.status ? outcome.status : codec->format->no_memory,
                                 .error_offset = outcome.error_offset};
    return GUILDHALL_INVALID;
}

VALUE guildhall_document_error(const void *codec, const guildhall_result *result, const uint8_t *bytes, size_t from, size_t length)
{
    guildhall_outcome outcome = {result->error_code, result->error_offset};
    return ((const guildhall_codec *)codec)->format->error(codec, outcome, bytes, from, length);
}

static guildhall_decoded document_decoder_decode(const void *codec, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    return guildhall_document_decode(codec, bytes, 0, length, result);
}

static VALUE document_decoder_error(const void *codec, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    return guildhall_document_error(codec, result, bytes, 0, length);
}

static VALUE document_decoder_wrap(const void *codec, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length)
{
    return guildhall_document_adopt(&result->data, owner, bytes, length);
}

static void document_decoder_free(const void *codec, guildhall_result *result)
{
    if (result->data) guildhall_block_give(result->data, result->size);
    result->data = NULL;
}

static VALUE document_decoder_build(const void *codec, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length)
{
    VALUE made = guildhall_document_build(result->data, bytes, length);
    document_decoder_free(codec, result);
    RB_GC_GUARD(owner);
    return made;
}

bool guildhall_document_decoder_p(const guildhall_decoder *decoder) { return decoder->free == document_decoder_free; }

guildhall_decoder guildhall_value_decoder(const void *context)
{
    guildhall_decoder decoder = guildhall_document_decoder(context);
    decoder.wrap = document_decoder_build;
    return decoder;
}

guildhall_decoder guildhall_document_decoder(const void *context)
{
    return (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI, .size = sizeof(guildhall_decoder), .context = context, .decode = document_decoder_decode,
        .wrap = document_decoder_wrap, .error = document_decoder_error, .free = document_decoder_free};
}
