/* Payloads of binary formats as Documents: at once, or in the two steps of a native decoder (guildhall/decoder.h), of which the
 * first one needs no GVL. */
#include <ruby.h>
#include <string.h>
#include "any.h"
#include "memory/block_pool.h"
#include "object.h"

typedef guildhall_document_format format;

/* In a block of its own; NULL when memory is short. */
static guildhall_structural_index *document_decoder_copy(const guildhall_codec *codec, size_t from, const guildhall_words *entries)
{
    size_t size = sizeof(guildhall_structural_index) + entries->count * sizeof *entries->words;
    guildhall_structural_index *index = guildhall_block_take(size);
    if (!index) return NULL;
    *index = (guildhall_structural_index){codec, (uint32_t)from, (uint32_t)entries->count};
    if (entries->count) memcpy(index->entries, entries->words, entries->count * sizeof *entries->words);
    return index;
}

static guildhall_outcome document_decoder_read(const guildhall_codec *codec, const uint8_t *bytes, size_t from, size_t length,
                                               guildhall_structural_index **index)
{
    guildhall_index_builder *builder = guildhall_index_builder_current();
    if (!builder) return (guildhall_outcome){codec->format->no_memory, 0};
    guildhall_outcome outcome = codec->format->read(codec, bytes, from, length, builder);
    if (outcome.status == 0) {
        *index = document_decoder_copy(codec, from, &builder->entries);
        if (!*index) outcome.status = codec->format->no_memory;
    }
    guildhall_index_builder_trim(builder);
    return outcome;
}

VALUE guildhall_document_of(const void *codec, VALUE source, size_t from)
{
    source = guildhall_frozen_bytes(source);
    const uint8_t *bytes = (const uint8_t *)RSTRING_PTR(source);
    size_t length = (size_t)RSTRING_LEN(source);
    guildhall_structural_index *index;
    guildhall_outcome outcome = document_decoder_read(codec, bytes, from, length, &index);
    if (RB_LIKELY(outcome.status == 0)) return guildhall_document_new(source, bytes, length, index);
    VALUE error = ((const guildhall_codec *)codec)->format->error(codec, outcome, bytes, from, length);
    RB_GC_GUARD(source);
    rb_exc_raise(error);
}

guildhall_decoded guildhall_document_decode(const void *codec, const uint8_t *bytes, size_t from, size_t length,
                                            guildhall_result *result)
{
    guildhall_structural_index *index;
    guildhall_outcome outcome = document_decoder_read(codec, bytes, from, length, &index);
    if (outcome.status) {
        *result = (guildhall_result){.error_code = outcome.status, .error_offset = outcome.error_offset};
        return GUILDHALL_INVALID;
    }
    *result = (guildhall_result){.data = index, .size = guildhall_structural_index_size(index)};
    return GUILDHALL_DECODED;
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
    guildhall_structural_index *index = result->data;
    result->data = NULL;
    return guildhall_document_new(owner, bytes, length, index);
}

static void document_decoder_free(const void *codec, guildhall_result *result)
{
    if (result->data) guildhall_block_give(result->data, result->size);
    result->data = NULL;
}

guildhall_decoder guildhall_document_decoder(const void *context)
{
    return (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI, .size = sizeof(guildhall_decoder), .context = context, .decode = document_decoder_decode,
        .wrap = document_decoder_wrap, .error = document_decoder_error, .free = document_decoder_free};
}
