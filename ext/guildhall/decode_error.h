/* Guildhall::DecodeError, made by decoders written in C. Needs the GVL. */
#ifndef GUILDHALL_DECODE_ERROR_H
#define GUILDHALL_DECODE_ERROR_H

#include <ruby.h>
#include "document/document_path.h"

/* The exception, not raised. fault: byte offset. */
VALUE guildhall_decode_error(const char *codec, const char *reason, size_t fault, const guildhall_path *path,
                             const uint8_t *bytes, size_t length);

/* The exception, not raised, for memory that was not to be had: a payload that is as good as any other. */
VALUE guildhall_no_memory(void);

#endif
