/* Bytes that an encoder writes. Short results stay on the C stack; longer ones lie in a String, which the
 * garbage collector frees when an exception passes through. Needs the GVL. */
#ifndef GUILDHALL_MEMORY_BYTE_BUFFER_H
#define GUILDHALL_MEMORY_BYTE_BUFFER_H

#include <ruby.h>
#include <stdint.h>
#include <string.h>
#include "values/frozen.h"

#define GUILDHALL_BYTE_BUFFER_ON_C_STACK 8192

typedef struct {
    uint8_t *at, *end, *begin;
    volatile VALUE holder; /* owns the bytes once they have left the C stack */
    uint8_t first[GUILDHALL_BYTE_BUFFER_ON_C_STACK];
} guildhall_byte_buffer;

static inline void guildhall_byte_buffer_init(guildhall_byte_buffer *buffer)
{
    buffer->begin = buffer->at = buffer->first;
    buffer->end = buffer->first + sizeof buffer->first;
    buffer->holder = 0;
}

void guildhall_byte_buffer_grow(guildhall_byte_buffer *buffer, size_t needed);

/* Room for that many bytes, to be written from the pointer returned; advance buffer->at after that. */
static inline uint8_t *guildhall_byte_buffer_room(guildhall_byte_buffer *buffer, size_t needed)
{
    if (RB_UNLIKELY((size_t)(buffer->end - buffer->at) < needed)) guildhall_byte_buffer_grow(buffer, needed);
    return buffer->at;
}

static inline void guildhall_byte_buffer_append(guildhall_byte_buffer *buffer, const void *bytes, size_t length)
{
    memcpy(guildhall_byte_buffer_room(buffer, length), bytes, length);
    buffer->at += length;
}

/* Looks where the String's bytes are after the buffer has grown: an embedded String that nothing pins may move when memory is allocated. */
static inline void guildhall_byte_buffer_append_string(guildhall_byte_buffer *buffer, VALUE string)
{
    size_t length = (size_t)RSTRING_LEN(string);
    uint8_t *out = guildhall_byte_buffer_room(buffer, length);
    memcpy(out, RSTRING_PTR(string), length);
    buffer->at += length;
    RB_GC_GUARD(string);
}

static inline size_t guildhall_byte_buffer_length(const guildhall_byte_buffer *buffer)
{
    return (size_t)(buffer->at - buffer->begin);
}

/* A frozen, shareable String of what was written; the buffer must not be used after that. */
VALUE guildhall_byte_buffer_finish(guildhall_byte_buffer *buffer, guildhall_text text);

#endif
