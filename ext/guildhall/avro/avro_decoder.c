/* A schema's native decoder (guildhall/decoder.h): marks made without the GVL, wrapped as Documents with it. */
#include <stdlib.h>
#include "avro_document.h"

static guildhall_decoded invalid(guildhall_result *result, guildhall_avro_status status, size_t fault)
{
    *result = (guildhall_result){.error_code = (int)status, .error_offset = fault};
    return GUILDHALL_INVALID;
}

guildhall_decoded guildhall_avro_decoder_decode(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from,
                                                size_t length, guildhall_result *result)
{
    guildhall_avro_notes *notes = guildhall_avro_notes_of_thread();
    if (!notes) return invalid(result, GUILDHALL_AVRO_NO_MEMORY, 0);
    guildhall_avro_outcome outcome = guildhall_avro_read(bytes, from, length, &codec->program, &codec->rules, notes);
    if (outcome.status != GUILDHALL_AVRO_VALID) return invalid(result, outcome.status, outcome.fault);
    uint32_t count = (uint32_t)notes->marks.count;
    size_t size = guildhall_avro_marks_size(count);
    guildhall_avro_marks *marks = malloc(size);
    if (!marks) return invalid(result, GUILDHALL_AVRO_NO_MEMORY, 0);
    *marks = (guildhall_avro_marks){codec, (uint32_t)from, count};
    if (count) memcpy(marks->words, notes->marks.words, count * sizeof *marks->words);
    guildhall_avro_notes_trim(notes);
    *result = (guildhall_result){.data = marks, .size = size};
    return GUILDHALL_DECODED;
}

VALUE guildhall_avro_decoder_wrap(const void *context, guildhall_result *result, VALUE owner, const uint8_t *bytes,
                                  size_t length)
{
    guildhall_avro_marks *marks = result->data;
    result->data = NULL;
    return guildhall_avro_document_new(owner, bytes, length, marks, 1);
}

void guildhall_avro_decoder_free(const void *context, guildhall_result *result)
{
    free(result->data);
    result->data = NULL;
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
        .wrap = guildhall_avro_decoder_wrap, .error = error, .free = guildhall_avro_decoder_free};
}
