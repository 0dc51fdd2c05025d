/* MessagePack Documents. */
#ifndef GUILDHALL_MSGPACK_DOCUMENT_H
#define GUILDHALL_MSGPACK_DOCUMENT_H

#include "codec.h"
#include "document/object.h"
#include "walk.h"

extern guildhall_document_format guildhall_msgpack_documents;

void guildhall_init_msgpack_document(VALUE msgpack);

#endif
