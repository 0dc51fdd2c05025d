/* The codec's native decoder (guildhall/decoder.h): tapes made without the GVL, wrapped as Documents with it. */
#include <stdlib.h>
#include "msgpack_document.h"

static guildhall_decoded invalid(guildhall_result *result, guildhall_msgpack_outcome outcome)
{
    *result = (guildhall_result){.error_code = (int)outcome.status, .error_offset = outcome.fault};
    return GUILDHALL_INVALID;
}

static guildhall_decoded decode(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    const guildhall_msgpack_codec *codec = context;
    guildhall_tape *tape = guildhall_tape_of_thread();
    guildhall_msgpack_outcome short_of_memory = {GUILDHALL_MSGPACK_NO_MEMORY, 0};
    if (!tape) return invalid(result, short_of_memory);
    guildhall_msgpack_outcome outcome = guildhall_msgpack_read(bytes, length, &codec->rules, tape);
    if (outcome.status != GUILDHALL_MSGPACK_VALID) return invalid(result, outcome);
    size_t size = tape->count * sizeof *tape->nodes;
    guildhall_tape_node *nodes = malloc(size);
    if (!nodes) return invalid(result, short_of_memory);
    memcpy(nodes, tape->nodes, size);
    guildhall_tape_trim(tape);
    *result = (guildhall_result){.data = nodes, .size = size};
    return GUILDHALL_DECODED;
}

/* A scalar's value may be made by Ruby code, which may raise: nothing is left to free by then. */
static VALUE wrap(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes, size_t length)
{
    guildhall_tape_node *nodes = result->data, first = nodes[0];
    if (!guildhall_tape_is_container(first)) {
        free(nodes);
        result->data = NULL;
        return guildhall_msgpack_document_new(context, owner, bytes, &first, 1, 0);
    }
    uint32_t count = (uint32_t)(result->size / sizeof *nodes);
    VALUE made = guildhall_msgpack_document_new(context, owner, bytes, nodes, count, 1);
    result->data = NULL;
    return made;
}

static VALUE error(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    guildhall_msgpack_outcome outcome = {(guildhall_msgpack_status)result->error_code, result->error_offset};
    return guildhall_msgpack_error(context, outcome, bytes, length);
}

static void release(const void *context, guildhall_result *result)
{
    free(result->data);
    result->data = NULL;
}

void guildhall_msgpack_decoder_setup(guildhall_msgpack_codec *codec)
{
    codec->decoder = (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI, .size = sizeof(guildhall_decoder), .context = codec,
        .decode = decode, .wrap = wrap, .error = error, .free = release};
}
