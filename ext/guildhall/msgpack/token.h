/* One MessagePack value's head at a time: what it is, and where its bytes are. Without Ruby, from any thread. */
#ifndef GUILDHALL_MSGPACK_TOKEN_H
#define GUILDHALL_MSGPACK_TOKEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum {
    GUILDHALL_MSGPACK_VALID = 0,
    GUILDHALL_MSGPACK_EMPTY,
    GUILDHALL_MSGPACK_UNEXPECTED_END,
    GUILDHALL_MSGPACK_COUNT_TOO_LARGE, /* more elements than bytes are left */
    GUILDHALL_MSGPACK_RESERVED_BYTE,   /* 0xc1 */
    GUILDHALL_MSGPACK_AFTER_END,
    GUILDHALL_MSGPACK_TOO_DEEP,
    GUILDHALL_MSGPACK_TOO_LONG,
    GUILDHALL_MSGPACK_INVALID_UTF8,
    GUILDHALL_MSGPACK_UNKNOWN_EXTENSION,
    GUILDHALL_MSGPACK_BAD_TIMESTAMP,
    GUILDHALL_MSGPACK_NO_MEMORY
} guildhall_msgpack_status;

const char *guildhall_msgpack_status_text(guildhall_msgpack_status status);

typedef enum {
    GUILDHALL_MSGPACK_NIL,
    GUILDHALL_MSGPACK_FALSE,
    GUILDHALL_MSGPACK_TRUE,
    GUILDHALL_MSGPACK_INTEGER,  /* number */
    GUILDHALL_MSGPACK_UNSIGNED, /* number as uint64_t: above INT64_MAX */
    GUILDHALL_MSGPACK_FLOAT,    /* real */
    GUILDHALL_MSGPACK_STRING,   /* bytes, length */
    GUILDHALL_MSGPACK_BINARY,   /* bytes, length */
    GUILDHALL_MSGPACK_EXTENSION, /* bytes, length, extension */
    GUILDHALL_MSGPACK_ARRAY,    /* length: elements, which follow */
    GUILDHALL_MSGPACK_MAP       /* length: pairs, which follow */
} guildhall_msgpack_type;

typedef struct {
    guildhall_msgpack_type type;
    uint32_t length;
    int8_t extension;
    union {
        int64_t number;
        double real;
        const uint8_t *bytes;
    };
} guildhall_msgpack_token;

typedef struct {
    const uint8_t *at, *end;
} guildhall_msgpack_input;

static inline size_t guildhall_msgpack_left(const guildhall_msgpack_input *input)
{
    return (size_t)(input->end - input->at);
}

/* On a little-endian processor, as every one is that this is built for (extconf.rb). */
static inline uint64_t guildhall_msgpack_big_endian(const uint8_t *bytes, int size)
{
    uint64_t value = 0;
    memcpy(&value, bytes, (size_t)size);
    return __builtin_bswap64(value) >> (64 - 8 * size);
}

static inline guildhall_msgpack_status guildhall_msgpack_span(guildhall_msgpack_input *input, guildhall_msgpack_token *token,
                                                              guildhall_msgpack_type type, uint64_t length)
{
    if (guildhall_msgpack_left(input) < length) return GUILDHALL_MSGPACK_UNEXPECTED_END;
    token->type = type;
    token->length = (uint32_t)length;
    token->bytes = input->at;
    input->at += length;
    return GUILDHALL_MSGPACK_VALID;
}

/* Every element takes a byte at least, so a count beyond the bytes that are left is a lie. */
static inline guildhall_msgpack_status guildhall_msgpack_container(guildhall_msgpack_input *input, guildhall_msgpack_token *token,
                                                                   guildhall_msgpack_type type, uint64_t count)
{
    uint64_t items = type == GUILDHALL_MSGPACK_MAP ? count * 2 : count;
    if (guildhall_msgpack_left(input) < items) return GUILDHALL_MSGPACK_COUNT_TOO_LARGE;
    token->type = type;
    token->length = (uint32_t)count;
    return GUILDHALL_MSGPACK_VALID;
}

/* The types 0xc0 to 0xdf, after their first byte. */
guildhall_msgpack_status guildhall_msgpack_next_sized(guildhall_msgpack_input *input, guildhall_msgpack_token *token, uint8_t head);

/* Reads one head; the input is after it then (and after the bytes of a string, binary or extension). On an error the
 * input is anywhere; the caller knows where the value began. */
static inline guildhall_msgpack_status guildhall_msgpack_next(guildhall_msgpack_input *input, guildhall_msgpack_token *token)
{
    if (__builtin_expect(input->at == input->end, 0)) return GUILDHALL_MSGPACK_UNEXPECTED_END;
    uint8_t head = *input->at++;
    if ((head & 0xe0) == 0xa0) return guildhall_msgpack_span(input, token, GUILDHALL_MSGPACK_STRING, head & 31);
    if (head < 0x80 || head >= 0xe0) {
        token->type = GUILDHALL_MSGPACK_INTEGER;
        token->number = (int8_t)head;
        return GUILDHALL_MSGPACK_VALID;
    }
    if (head < 0x90) return guildhall_msgpack_container(input, token, GUILDHALL_MSGPACK_MAP, head & 15);
    if (head < 0xa0) return guildhall_msgpack_container(input, token, GUILDHALL_MSGPACK_ARRAY, head & 15);
    return guildhall_msgpack_next_sized(input, token, head);
}

typedef struct {
    int64_t seconds;
    uint32_t nanoseconds;
} guildhall_msgpack_timestamp;

#define GUILDHALL_MSGPACK_TIMESTAMP_TYPE (-1)

/* The timestamp in an extension of type -1; 0 when its size or its nanoseconds are not those of one. */
int guildhall_msgpack_read_timestamp(const uint8_t *bytes, uint32_t length, guildhall_msgpack_timestamp *timestamp);

#endif
