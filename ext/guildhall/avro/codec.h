/* A compiled schema as a Ruby object: the program, and the Ruby values that it names. */
#ifndef GUILDHALL_AVRO_CODEC_H
#define GUILDHALL_AVRO_CODEC_H

#include <ruby.h>
#include "document/object.h"
#include "document/path.h"
#include "read.h"

typedef struct {
    GUILDHALL_CODEC;
    guildhall_avro_program program;
    guildhall_avro_rules rules;
    VALUE *constants;                    /* names (Strings or Symbols), symbols, defaults, converters */
    VALUE *names;                        /* of each constant that is a text, the String; else 0 */
    void *memory;                        /* of all of the above */
    size_t size;                         /* in bytes */
    unsigned tagged : 1;                 /* records of unions come as a Branch */
    unsigned alternatives : 1;           /* there are unions of several records */
} guildhall_avro_codec;

/* Raises where the program is not compiled yet. */
const guildhall_avro_codec *guildhall_avro_codec_of(VALUE program);
/* The value of the program's root node that begins at `from`, as frozen, shareable objects. */
VALUE guildhall_avro_decode(const guildhall_avro_codec *codec, VALUE source, size_t from);
/* The value of a node that begins at `from`; the bytes stay where they are meanwhile, and go on after it. */
VALUE guildhall_avro_decode_at(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t length, size_t from, uint32_t node);
/* The exception (not raised) for a payload that cannot be decoded. */
VALUE guildhall_avro_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length);
/* `count` values one after the other (a block of a container file), as an Array that is not frozen. */
VALUE guildhall_avro_decode_many(const guildhall_avro_codec *codec, VALUE source, uint64_t count);

/* What is limited because no bytes pay for it. */
typedef struct {
    uint64_t empty_items, unpaid_fields;
} guildhall_avro_cost;

/* The object as a frozen binary String, after `prefix` (a String, or nil); what it costs, if that is not NULL. */
VALUE guildhall_avro_encode(const guildhall_avro_codec *codec, VALUE object, VALUE prefix, guildhall_avro_cost *cost);
/* The name of a record, an enum or a fixed. */
VALUE guildhall_avro_name(const guildhall_avro_codec *codec, const guildhall_avro_node *node);
/* What a union's branch is to those who want to know which one it was. */
VALUE guildhall_avro_tagged(const guildhall_avro_codec *codec, uint32_t branch, VALUE value);
/* Guildhall::Avro::Branch */
VALUE guildhall_avro_branch_class(void);
/* A map's key, as the same String again and again. */
VALUE guildhall_avro_key(const uint8_t *bytes, size_t length);
/* A number of a timestamp as a Time in UTC. */
VALUE guildhall_avro_time(guildhall_avro_meaning meaning, int64_t number);

void guildhall_init_avro_build(void);
void guildhall_init_avro_document(VALUE avro);
void guildhall_init_avro_directory(VALUE avro);

extern guildhall_document_format guildhall_avro_documents;

#endif
