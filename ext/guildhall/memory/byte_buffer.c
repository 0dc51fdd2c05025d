/* Growing beyond the C stack, and the end. */
#include "byte_buffer.h"

/* A String: the collector does not look into it, and in the end it is the result. */
void guildhall_byte_buffer_grow(guildhall_byte_buffer *buffer, size_t needed)
{
    size_t used = guildhall_byte_buffer_length(buffer), capacity = (size_t)(buffer->end - buffer->begin) * 2;
    if (capacity - used < needed) capacity = used + needed;
    VALUE holder = buffer->holder;
    if (holder) {
        rb_str_set_len(holder, (long)used);
        rb_str_modify_expand(holder, (long)(capacity - used));
    } else {
        buffer->holder = holder = rb_str_buf_new((long)capacity);
        memcpy(RSTRING_PTR(holder), buffer->begin, used);
    }
    buffer->begin = (uint8_t *)RSTRING_PTR(holder);
    buffer->at = buffer->begin + used;
    buffer->end = buffer->begin + capacity;
}

VALUE guildhall_byte_buffer_finish(guildhall_byte_buffer *buffer, guildhall_text text)
{
    size_t length = guildhall_byte_buffer_length(buffer);
    VALUE string = buffer->holder;
    if (!string) return guildhall_string_new(buffer->begin, length, text);
    rb_str_set_len(string, (long)length);
    guildhall_byte_buffer_init(buffer);
    return guildhall_string_finish(rb_str_resize(string, (long)length), text);
}
