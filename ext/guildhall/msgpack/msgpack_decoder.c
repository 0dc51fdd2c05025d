/* The codec's native decoder (guildhall/decoder.h): marks made without the GVL, wrapped as Documents with it. */
#include "msgpack_document.h"

static guildhall_decoded invalid(guildhall_result *result, guildhall_msgpack_outcome outcome)
{
    *result = (guildhall_result){.error_code = (int)outcome.status, .error_offset = outcome.fault};
    return GUILDHALL_INVALID;
}

static guildhall_decoded decode(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    const guildhall_msgpack_codec *codec = context;
    guildhall_notes *notes = guildhall_notes_of_thread();
    guildhall_msgpack_outcome short_of_memory = {GUILDHALL_MSGPACK_NO_MEMORY, 0};
    if (!notes) return invalid(result, short_of_memory);
    guildhall_msgpack_outcome outcome = guildhall_msgpack_read(bytes, length, &codec->rules, notes);
    if (outcome.status != GUILDHALL_MSGPACK_VALID) return invalid(result, outcome);
    guildhall_marks *marks = guildhall_marks_new(&guildhall_msgpack_documents, codec, 0, notes);
    guildhall_notes_trim(notes);
    return marks ? guildhall_document_decoded(marks, result) : invalid(result, short_of_memory);
}

static VALUE error(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    guildhall_msgpack_outcome outcome = {(guildhall_msgpack_status)result->error_code, result->error_offset};
    return guildhall_msgpack_error(context, outcome, bytes, length);
}

void guildhall_msgpack_decoder_setup(guildhall_msgpack_codec *codec)
{
    codec->decoder = (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI, .size = sizeof(guildhall_decoder), .context = codec, .decode = decode,
        .wrap = guildhall_document_wrap, .error = error, .free = guildhall_document_free};
}
