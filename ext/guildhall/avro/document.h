/* Avro Documents. */
#ifndef GUILDHALL_AVRO_DOCUMENT_H
#define GUILDHALL_AVRO_DOCUMENT_H

#include "codec.h"
#include "document/object.h"
#include "walk.h"

extern guildhall_document_format guildhall_avro_documents;

void guildhall_init_avro_document(VALUE avro);
void guildhall_init_avro_directory(VALUE avro);

#endif
