/* A codec: options, fixed when it is made, and what C code needs to work with them. */
#ifndef GUILDHALL_JSON_CODEC_H
#define GUILDHALL_JSON_CODEC_H

#include <ruby.h>
#include "document/codec.h"
#include "document/structural_index.h"
#include "parse.h"

struct guildhall_caches; /* values/caches.h */

typedef struct {
    GUILDHALL_CODEC;
    guildhall_json_rules rules;
    unsigned symbolize_names : 1;
    VALUE decimal_receiver;    /* floats are receiver.method(text); nil: Float */
    ID decimal_method;
    guildhall_decoder value_decoder; /* of the whole value */
} guildhall_json_codec;

/* The struct of a Guildhall::JSON or Guildhall::JSON::Lazy; of a class that with the default options. Its address does not change while the
 * codec lives. */
const guildhall_json_codec *guildhall_json_codec_of(VALUE codec);

/* The native decoder of whole values, of JSON itself or a codec of that class; NULL: it is none, or needs Ruby code for its values. */
const guildhall_decoder *guildhall_json_value_decoder(VALUE task);

/* The ParseError (not raised) for a text that was not valid. */
VALUE guildhall_json_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length);

/* A text's bytes as a frozen, shareable String; what was not frozen is copied. Other encodings become UTF-8. */
VALUE guildhall_json_bytes(VALUE source);

/* The value at `index` with everything in it, frozen and shareable; the same for what is no container. Run Ruby code only where the codec has a
 * decimal_class. */
VALUE guildhall_json_build(const guildhall_json_codec *codec, guildhall_json_view view, uint32_t index);
VALUE guildhall_json_scalar(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node);
/* The same, but short strings perhaps from the caches. */
VALUE guildhall_json_cached_scalar(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node,
                                   struct guildhall_caches *caches);

/* A key as the codec wants it: an interned String or a Symbol. */
VALUE guildhall_json_key(const guildhall_json_codec *codec, guildhall_json_view view, guildhall_json_node node);

void guildhall_init_json_build(void);
void guildhall_init_json_encode(VALUE json, VALUE lazy);

#endif
