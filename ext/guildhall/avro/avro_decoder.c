/* A schema's native decoder (guildhall/decoder.h): marks made without the GVL, wrapped as Documents with it. */
#include "avro_document.h"

static guildhall_decoded invalid(guildhall_result *result, guildhall_avro_status status, size_t fault)
{
    *result = (guildhall_result){.error_code = (int)status, .error_offset = fault};
    return GUILDHALL_INVALID;
}

guildhall_decoded guildhall_avro_decoder_decode(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from,
                                                size_t length, guildhall_result *result)
{
    guildhall_notes *notes = guildhall_notes_of_thread();
    if (!notes) return invalid(result, GUILDHALL_AVRO_NO_MEMORY, 0);
    guildhall_avro_outcome outcome = guildhall_avro_read(bytes, from, length, &codec->program, &codec->rules, notes);
    if (outcome.status != GUILDHALL_AVRO_VALID) return invalid(result, outcome.status, outcome.fault);
    guildhall_marks *marks = guildhall_marks_new(&guildhall_avro_documents, codec, from, notes);
    guildhall_notes_trim(notes);
    return marks ? guildhall_document_decoded(marks, result) : invalid(result, GUILDHALL_AVRO_NO_MEMORY, 0);
}

static guildhall_decoded decode(const void *context, const uint8_t *bytes, size_t length, guildhall_result *result)
{
    return guildhall_avro_decoder_decode(context, bytes, 0, length, result);
}

static VALUE error(const void *context, const guildhall_result *result, const uint8_t *bytes, size_t length)
{
    guildhall_avro_outcome outcome = {(guildhall_avro_status)result->error_code, result->error_offset};
    return guildhall_avro_error(context, outcome, bytes, 0, length);
}

void guildhall_avro_decoder_setup(guildhall_avro_codec *codec)
{
    codec->decoder = (guildhall_decoder){
        .abi = GUILDHALL_DECODER_ABI, .size = sizeof(guildhall_decoder), .context = codec, .decode = decode,
        .wrap = guildhall_document_wrap, .error = error, .free = guildhall_document_free};
}
