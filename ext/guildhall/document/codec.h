/* Functions that the codecs written in C share, and the errors that they raise. */
#ifndef GUILDHALL_DOCUMENT_CODEC_H
#define GUILDHALL_DOCUMENT_CODEC_H

#include <ruby.h>
#include <guildhall/decoder.h>
#include <stdbool.h>
#include "path.h"

/* The struct of every codec begins with these. Its type has guildhall_codec_type as its parent, and is not EMBEDDABLE: native
 * callers keep the struct's address. */
#define GUILDHALL_CODEC                                                                                                \
    guildhall_decoder decoder;                     /* context: this struct */                                          \
    const struct guildhall_document_format *format; /* of the codec's Documents */                                     \
    VALUE self;                                    /* the codec object that this struct belongs to */                  \
    int ready                                      /* configured, frozen and shareable */

typedef struct guildhall_codec {
    GUILDHALL_CODEC;
} guildhall_codec;

extern const rb_data_type_t guildhall_codec_type;

#define GUILDHALL_CODEC_FLAGS (RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE)

/* Raises TypeError where the codec is not ready: its Documents refer to it, so it has to be shareable before there are any. */
const void *guildhall_codec_of(VALUE self, const rb_data_type_t *type);
/* The class's codecs, and the class itself where it decodes, return what was made by guildhall alone. Of subclasses that is not said. */
void guildhall_codec_native_values(VALUE class);
bool guildhall_codec_native_values_p(VALUE task);
/* A private method: freezes the codec with all that it refers to and what a subclass has added. */
VALUE guildhall_codec_share(VALUE self);
/* A method: the decoder's address. */
VALUE guildhall_codec_native_decoder(VALUE self);

/* Pins the object: Documents and native callers reach it by the struct's address. */
static inline void guildhall_codec_mark(const void *codec) { rb_gc_mark(((const guildhall_codec *)codec)->self); }

/* An option as Ruby has checked it: every one is there. */
static inline VALUE guildhall_option(VALUE options, const char *name) { return rb_hash_fetch(options, ID2SYM(rb_intern(name))); }

/* The exception, not raised. error_offset: in bytes. */
VALUE guildhall_decode_error(const char *codec, const char *reason, size_t error_offset, const guildhall_path *path,
                             const uint8_t *bytes, size_t length);
/* The class of what encoders raise. */
VALUE guildhall_encode_error(void);
/* The exception, not raised, for memory that was not to be had: a payload that is as good as any other. */
VALUE guildhall_no_memory(void);

#endif
