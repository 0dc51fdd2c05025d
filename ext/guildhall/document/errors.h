/* What decoders and encoders written in C raise. Needs the GVL. */
#ifndef GUILDHALL_DOCUMENT_ERRORS_H
#define GUILDHALL_DOCUMENT_ERRORS_H

#include <ruby.h>
#include "path.h"

/* The exception, not raised. error_offset: in bytes. */
VALUE guildhall_decode_error(const char *codec, const char *reason, size_t error_offset, const guildhall_path *path,
                             const uint8_t *bytes, size_t length);

/* The class of what encoders raise. */
VALUE guildhall_encode_error(void);

/* The exception, not raised, for memory that was not to be had: a payload that is as good as any other. */
VALUE guildhall_no_memory(void);

#endif
