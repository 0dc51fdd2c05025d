/* Errors as Ruby exceptions. */
#include <ruby.h>
#include "codec.h"
#include "document/errors.h"

VALUE guildhall_msgpack_error(const void *context, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length)
{
    if (outcome.status == GUILDHALL_MSGPACK_NO_MEMORY) return guildhall_no_memory(); /* nothing is wrong with the payload */
    const guildhall_msgpack_codec *codec = context;
    guildhall_path path;
    guildhall_msgpack_locate(bytes, length, &codec->rules, &path);
    return guildhall_decode_error("MessagePack", guildhall_msgpack_status_text((guildhall_msgpack_status)outcome.status),
                                  outcome.error_offset, &path, bytes, length);
}
