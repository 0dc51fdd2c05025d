/* Faults as Ruby exceptions. */
#include <ruby.h>
#include "../decode_error.h"
#include "msgpack_codec.h"

VALUE guildhall_msgpack_error(const guildhall_msgpack_codec *codec, guildhall_msgpack_outcome outcome,
                              const uint8_t *bytes, size_t length)
{
    if (outcome.status == GUILDHALL_MSGPACK_NO_MEMORY) return guildhall_no_memory(); /* nothing is wrong with the payload */
    guildhall_path path;
    guildhall_msgpack_locate(bytes, length, &codec->rules, &path);
    return guildhall_decode_error("MessagePack", guildhall_msgpack_status_text(outcome.status), outcome.fault, &path,
                                  bytes, length);
}
