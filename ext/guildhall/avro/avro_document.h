/* Avro Documents. */
#ifndef GUILDHALL_AVRO_DOCUMENT_H
#define GUILDHALL_AVRO_DOCUMENT_H

#include "../document/document.h"
#include "avro_codec.h"
#include "avro_walk.h"

extern guildhall_document_format guildhall_avro_documents;

/* The value that begins at `from`. */
VALUE guildhall_avro_document(const guildhall_avro_codec *codec, VALUE source, size_t from);

/* For native decoders (guildhall/decoder.h) whose values begin at `from`. */
guildhall_decoded guildhall_avro_decoder_decode(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from,
                                                size_t length, guildhall_result *result);

void guildhall_init_avro_document(VALUE avro);
void guildhall_init_avro_directory(VALUE avro);

#endif
