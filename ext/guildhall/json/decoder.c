/* The codec's native decoder (guildhall/decoder.h): tapes made without the GVL, wrapped as Documents with it. */
#include "codec.h"
#include "document.h"
#include "memory/block_pool.h"

static guildhall_decoded json_decoder_invalid(guildhall_result *result, guildhall_json_status status, size_t error_offset)
{
    *result = (guildhall_result){.error_code = (int)status, .error_offset = error_offset};
    return GUILDHALL_INVALID;
}

static guildhall_decoded json_decoder_decode(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    const guildhall_json_codec *codec = context;
    guildhall_json_scratch *scratch = guildhall_json_scratch_current();
    guildhall_json_outcome outcome = guildhall_json_parse(bytes, length, &codec->rules, scratch);
    if (outcome.status != GUILDHALL_JSON_VALID) return json_decoder_invalid(result, outcome.status, outcome.error_offset);
    size_t size = outcome.count * sizeof(guildhall_json_node);
    guildhall_json_node *nodes = guildhall_block_take(size);
    if (!nodes) return json_decoder_invalid(result, GUILDHALL_JSON_NO_MEMORY, 0);
    memcpy(nodes, scratch->nodes, size);
    guildhall_json_scratch_trim(scratch);
    *result = (guildhall_result){.data = nodes, .size = size, .error_code = outcome.deduplicated};
    return GUILDHALL_DECODED;
}

static VALUE json_decoder_wrap(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length)
{
    guildhall_json_text text = {.owner = owner, .bytes = bytes, .length = (uint32_t)length, .nodes = result->data,
                                .count = (uint32_t)(result->size / sizeof(guildhall_json_node)),
                                .deduplicated = (unsigned)result->error_code};
    VALUE made = guildhall_json_document_adopt(context, text);
    result->data = NULL;
    return made;
}

static VALUE json_decoder_error(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    return guildhall_json_error(context, (guildhall_json_status)result->error_code, result->error_offset, bytes, length);
}

static void json_decoder_release(const void *context, guildhall_result *result)
{
    if (result->data) guildhall_block_give(result->data, result->size);
    result->data = NULL;
}

static VALUE json_decoder_call(const void *context, VALUE bytes)
{
    return guildhall_json_document_of(context, bytes);
}

void guildhall_json_decoder_setup(guildhall_json_codec *codec)
{
    codec->decoder = (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI,
        .size = sizeof(guildhall_decoder),
        .context = codec,
        .decode = json_decoder_decode,
        .wrap = json_decoder_wrap,
        .error = json_decoder_error,
        .free = json_decoder_release,
        .call = json_decoder_call,
    };
}
