/* Heads with a size, and timestamps. */
#include "token.h"

typedef guildhall_msgpack_input input;
typedef guildhall_msgpack_token token;
typedef guildhall_msgpack_status status;

/* An unsigned number of `size` bytes; 0 when they are not there. */
static inline int msgpack_token_take(input *input, int size, uint64_t *value)
{
    size_t left = guildhall_msgpack_left(input);
    if (left < (size_t)size) return 0;
    /* Eight bytes are there nearly always: then neither a jump nor a call depends on the size. */
    *value = left >= 8 ? guildhall_msgpack_big_endian(input->at, 8) >> (64 - 8 * size) : guildhall_msgpack_big_endian(input->at, size);
    input->at += size;
    return 1;
}

static status msgpack_token_integer(token *token, int64_t number)
{
    token->type = GUILDHALL_MSGPACK_INTEGER;
    token->number = number;
    return GUILDHALL_MSGPACK_VALID;
}

static status msgpack_token_unsigned_integer(token *token, uint64_t number)
{
    token->type = number > INT64_MAX ? GUILDHALL_MSGPACK_UNSIGNED : GUILDHALL_MSGPACK_INTEGER;
    token->number = (int64_t)number;
    return GUILDHALL_MSGPACK_VALID;
}

static status msgpack_token_number(input *input, token *token, uint8_t head)
{
    uint64_t bits;
    int size = head <= 0xcb ? (head == 0xca ? 4 : 8) : 1 << (head & 3);
    if (!msgpack_token_take(input, size, &bits)) return GUILDHALL_MSGPACK_UNEXPECTED_END;
    switch (head) {
    case 0xca: {
        float real;
        uint32_t half = (uint32_t)bits;
        memcpy(&real, &half, sizeof real);
        token->type = GUILDHALL_MSGPACK_FLOAT;
        token->real = real;
        return GUILDHALL_MSGPACK_VALID;
    }
    case 0xcb:
        token->type = GUILDHALL_MSGPACK_FLOAT;
        memcpy(&token->real, &bits, sizeof token->real);
        return GUILDHALL_MSGPACK_VALID;
    case 0xd0: return msgpack_token_integer(token, (int8_t)bits);
    case 0xd1: return msgpack_token_integer(token, (int16_t)bits);
    case 0xd2: return msgpack_token_integer(token, (int32_t)bits);
    case 0xd3: return msgpack_token_integer(token, (int64_t)bits);
    default: return msgpack_token_unsigned_integer(token, bits);
    }
}

static status msgpack_token_extension(input *input, token *token, uint64_t length)
{
    uint64_t type;
    if (!msgpack_token_take(input, 1, &type)) return GUILDHALL_MSGPACK_UNEXPECTED_END;
    token->extension = (int8_t)type;
    return guildhall_msgpack_span(input, token, GUILDHALL_MSGPACK_EXTENSION, length);
}

/* Types whose length or count takes 1 << power bytes. */
static status msgpack_token_sized(input *input, token *token, uint8_t head, int power)
{
    uint64_t length;
    if (!msgpack_token_take(input, 1 << power, &length)) return GUILDHALL_MSGPACK_UNEXPECTED_END;
    if (head <= 0xc6) return guildhall_msgpack_span(input, token, GUILDHALL_MSGPACK_BINARY, length);
    if (head <= 0xc9) return msgpack_token_extension(input, token, length);
    if (head <= 0xdb) return guildhall_msgpack_span(input, token, GUILDHALL_MSGPACK_STRING, length);
    if (head <= 0xdd) return guildhall_msgpack_container(input, token, GUILDHALL_MSGPACK_ARRAY, length);
    return guildhall_msgpack_container(input, token, GUILDHALL_MSGPACK_MAP, length);
}

status guildhall_msgpack_next_sized(input *input, token *token, uint8_t head)
{
    switch (head) {
    case 0xc0: token->type = GUILDHALL_MSGPACK_NIL; return GUILDHALL_MSGPACK_VALID;
    case 0xc1: return GUILDHALL_MSGPACK_RESERVED_BYTE;
    case 0xc2: token->type = GUILDHALL_MSGPACK_FALSE; return GUILDHALL_MSGPACK_VALID;
    case 0xc3: token->type = GUILDHALL_MSGPACK_TRUE; return GUILDHALL_MSGPACK_VALID;
    case 0xc4: case 0xc5: case 0xc6: return msgpack_token_sized(input, token, head, head - 0xc4);
    case 0xc7: case 0xc8: case 0xc9: return msgpack_token_sized(input, token, head, head - 0xc7);
    case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: return msgpack_token_extension(input, token, 1u << (head - 0xd4));
    case 0xd9: case 0xda: case 0xdb: return msgpack_token_sized(input, token, head, head - 0xd9);
    case 0xdc: case 0xdd: return msgpack_token_sized(input, token, head, head - 0xdb);
    case 0xde: case 0xdf: return msgpack_token_sized(input, token, head, head - 0xdd);
    default: return msgpack_token_number(input, token, head);
    }
}

int guildhall_msgpack_read_timestamp(const uint8_t *bytes, uint32_t length, guildhall_msgpack_timestamp *timestamp)
{
    uint64_t bits;
    switch (length) {
    case 4:
        timestamp->seconds = (int64_t)guildhall_msgpack_big_endian(bytes, 4);
        timestamp->nanoseconds = 0;
        return 1;
    case 8:
        bits = guildhall_msgpack_big_endian(bytes, 8);
        timestamp->seconds = (int64_t)(bits & 0x3ffffffffull);
        timestamp->nanoseconds = (uint32_t)(bits >> 34);
        break;
    case 12:
        timestamp->nanoseconds = (uint32_t)guildhall_msgpack_big_endian(bytes, 4);
        timestamp->seconds = (int64_t)guildhall_msgpack_big_endian(bytes + 4, 8);
        break;
    default: return 0;
    }
    return timestamp->nanoseconds < 1000000000;
}

const char *guildhall_msgpack_status_text(status status)
{
    static const char *const texts[] = {
        [GUILDHALL_MSGPACK_VALID] = "valid",
        [GUILDHALL_MSGPACK_EMPTY] = "the input is empty",
        [GUILDHALL_MSGPACK_UNEXPECTED_END] = "unexpected end of input",
        [GUILDHALL_MSGPACK_COUNT_TOO_LARGE] = "unexpected end of input: more elements announced than bytes are left",
        [GUILDHALL_MSGPACK_RESERVED_BYTE] = "0xc1 is not a MessagePack type",
        [GUILDHALL_MSGPACK_AFTER_END] = "bytes after the end of the value",
        [GUILDHALL_MSGPACK_TOO_DEEP] = "nested deeper than max_nesting",
        [GUILDHALL_MSGPACK_TOO_LONG] = "longer than max_bytes",
        [GUILDHALL_MSGPACK_INVALID_UTF8] = "a string is not valid UTF-8",
        [GUILDHALL_MSGPACK_UNKNOWN_EXTENSION] = "extension of a type that is not registered (types: registers it, "
                                                     "allow_unknown_ext: true accepts it)",
        [GUILDHALL_MSGPACK_BAD_TIMESTAMP] = "invalid timestamp",
        [GUILDHALL_MSGPACK_NO_MEMORY] = "out of memory"};
    return texts[status];
}
