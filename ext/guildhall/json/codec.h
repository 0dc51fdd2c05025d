/* A codec: options, fixed when it is made, and what C code needs to work with them. */
#ifndef GUILDHALL_JSON_CODEC_H
#define GUILDHALL_JSON_CODEC_H

#include <ruby.h>
#include "document/codec.h"
#include "document/structural_index.h"
#include "parse.h"

typedef struct {
    GUILDHALL_CODEC;
    guildhall_json_rules rules;
    unsigned symbolize_names : 1;
    VALUE decimal_receiver;    /* floats are receiver.method(text); nil: Float */
    ID decimal_method;
    guildhall_decoder value_decoder; /* of the whole value */
} guildhall_json_codec;

/* The struct of a Guildhall::JSON or Guildhall::JSON::Lazy. Its address does not change while the codec lives. */
const guildhall_json_codec *guildhall_json_codec_of(VALUE codec);

/* The codec behind Guildhall::JSON.decode and .document. */
const guildhall_json_codec *guildhall_json_codec_default(void);

/* The native decoder of whole values, of JSON itself or a codec of that class; NULL: it is none, or needs Ruby code for its values. */
const guildhall_decoder *guildhall_json_value_decoder(VALUE task);

/* The ParseError (not raised) for a text that was not valid. */
VALUE guildhall_json_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length);

/* A text's bytes as a frozen, shareable String; what was not frozen is copied. Other encodings become UTF-8. */
VALUE guildhall_json_bytes(VALUE source);

void guildhall_init_json_build(void);
void guildhall_init_json_encode(VALUE json, VALUE lazy);

#endif
