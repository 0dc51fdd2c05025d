/* Ruby objects from a tape. */
#ifndef GUILDHALL_JSON_BUILD_H
#define GUILDHALL_JSON_BUILD_H

#include "codec.h"
#include "tape.h"

/* The value at `index` with everything in it, frozen and shareable. Runs Ruby code only where the codec has a
 * decimal_class. */
VALUE guildhall_json_build(const guildhall_json_codec *codec, guildhall_json_view view, uint32_t index);

/* The same for a value that is not a container. */
VALUE guildhall_json_scalar(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node);

/* A key as the codec wants it: an interned String or a Symbol. */
VALUE guildhall_json_key(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node);

#endif
