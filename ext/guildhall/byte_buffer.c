/* Growing beyond the C stack, and the end. */
#include "byte_buffer.h"
#include "values.h"

void guildhall_byte_buffer_grow(guildhall_byte_buffer *buffer, size_t needed)
{
    size_t used = guildhall_byte_buffer_length(buffer), capacity = (size_t)(buffer->end - buffer->begin);
    while (capacity - used < needed) capacity *= 4;
    VALUE holder = 0, before = buffer->holder;
    uint8_t *bytes = rb_alloc_tmp_buffer(&holder, (long)capacity);
    memcpy(bytes, buffer->begin, used);
    buffer->begin = bytes;
    buffer->at = bytes + used;
    buffer->end = bytes + capacity;
    buffer->holder = holder;
    if (before) rb_free_tmp_buffer(&before);
}

VALUE guildhall_byte_buffer_finish(guildhall_byte_buffer *buffer)
{
    VALUE string = guildhall_string_new(buffer->begin, guildhall_byte_buffer_length(buffer), GUILDHALL_TEXT_BINARY);
    if (buffer->holder) rb_free_tmp_buffer(&buffer->holder);
    guildhall_byte_buffer_init(buffer);
    return string;
}
