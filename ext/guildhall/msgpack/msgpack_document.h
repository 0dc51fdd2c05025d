/* MessagePack Documents. */
#ifndef GUILDHALL_MSGPACK_DOCUMENT_H
#define GUILDHALL_MSGPACK_DOCUMENT_H

#include "../document/document.h"
#include "msgpack_codec.h"
#include "msgpack_walk.h"

extern guildhall_document_format guildhall_msgpack_documents;

VALUE guildhall_msgpack_document(const guildhall_msgpack_codec *codec, VALUE source);

void guildhall_init_msgpack_document(VALUE msgpack);

#endif
