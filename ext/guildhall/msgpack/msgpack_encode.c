/* Ruby objects → MessagePack, byte for byte as the gem msgpack writes it: the shortest form of everything. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <time.h>
#include "../byte_buffer.h"
#include "../stack_check.h"
#include "../values.h"
#include "msgpack_codec.h"

typedef struct {
    guildhall_byte_buffer bytes;
    const guildhall_msgpack_codec *codec;
    uint32_t depth;
} encoder;

static int utf8_index, ascii_index, binary_index;
static VALUE extension_class;
static ID id_convert, id_type, id_payload;

static void write_value(encoder *e, VALUE object);

NORETURN(static void fail(const char *message));
static void fail(const char *message)
{
    VALUE guildhall = rb_const_get_at(rb_cObject, rb_intern("Guildhall"));
    rb_raise(rb_const_get_at(guildhall, rb_intern("EncodeError")), "MessagePack: %s", message);
}

/* The number at the top of eight bytes, big end first. */
static inline uint64_t big_end(uint64_t number, int size)
{
    number <<= 64 - size * 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    return number;
}

/* A head byte and a number of `size` bytes after it. */
static inline void head_with(encoder *e, uint8_t head, uint64_t number, int size)
{
    uint8_t *out = guildhall_byte_buffer_room(&e->bytes, 9);
    uint64_t bytes = big_end(number, size);
    out[0] = head;
    memcpy(out + 1, &bytes, sizeof bytes);
    e->bytes.at += size + 1;
}

static inline void byte(encoder *e, uint8_t head)
{
    *guildhall_byte_buffer_room(&e->bytes, 1) = head;
    e->bytes.at++;
}

static inline void unsigned_integer(encoder *e, uint64_t number)
{
    if (number < 0x80) byte(e, (uint8_t)number);
    else if (number <= UINT8_MAX) head_with(e, 0xcc, number, 1);
    else if (number <= UINT16_MAX) head_with(e, 0xcd, number, 2);
    else if (number <= UINT32_MAX) head_with(e, 0xce, number, 4);
    else head_with(e, 0xcf, number, 8);
}

static inline void integer(encoder *e, int64_t number)
{
    if (number >= 0) unsigned_integer(e, (uint64_t)number);
    else if (number >= -32) byte(e, (uint8_t)number);
    else if (number >= INT8_MIN) head_with(e, 0xd0, (uint64_t)number, 1);
    else if (number >= INT16_MIN) head_with(e, 0xd1, (uint64_t)number, 2);
    else if (number >= INT32_MIN) head_with(e, 0xd2, (uint64_t)number, 4);
    else head_with(e, 0xd3, (uint64_t)number, 8);
}

static void real(encoder *e, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    head_with(e, 0xcb, bits, 8);
}

/* A length or count in the shortest of the forms at hand: fix (0: there is none), one byte (0: none), two, four. */
static inline void sized(encoder *e, size_t length, uint8_t fix, size_t fix_limit, uint8_t head8, uint8_t head16)
{
    if (length < fix_limit) byte(e, (uint8_t)(fix | length));
    else if (head8 && length <= UINT8_MAX) head_with(e, head8, length, 1);
    else if (length <= UINT16_MAX) head_with(e, head16, length, 2);
    else if (length <= UINT32_MAX) head_with(e, (uint8_t)(head16 + 1), length, 4);
    else fail("longer than MessagePack can say: 4 GiB");
}

/* Less than 32 bytes, without a call: the head and the tail, which may overlap. */
static inline void copy_short(uint8_t *out, const char *bytes, size_t length)
{
    if (length >= 16) {
        memcpy(out, bytes, 16);
        memcpy(out + length - 16, bytes + length - 16, 16);
    } else if (length >= 8) {
        memcpy(out, bytes, 8);
        memcpy(out + length - 8, bytes + length - 8, 8);
    } else if (length >= 4) {
        memcpy(out, bytes, 4);
        memcpy(out + length - 4, bytes + length - 4, 4);
    } else if (length) {
        out[0] = (uint8_t)bytes[0];
        out[length / 2] = (uint8_t)bytes[length / 2];
        out[length - 1] = (uint8_t)bytes[length - 1];
    }
}

static inline void text_bytes(encoder *e, VALUE string)
{
    size_t length = (size_t)RSTRING_LEN(string);
    if (RB_LIKELY(length < 32)) { /* most texts are short: one look at the room */
        uint8_t *out = guildhall_byte_buffer_room(&e->bytes, length + 1);
        *out = (uint8_t)(0xa0 | length);
        copy_short(out + 1, RSTRING_PTR(string), length);
        e->bytes.at += length + 1;
        return;
    }
    sized(e, length, 0xa0, 32, 0xd9, 0xda);
    guildhall_byte_buffer_append(&e->bytes, RSTRING_PTR(string), length);
}

static inline void string(encoder *e, VALUE string)
{
    int index = RB_ENCODING_GET(string);
    if (RB_LIKELY(index == utf8_index || index == ascii_index)) {
        text_bytes(e, string);
    } else if (index == binary_index) {
        size_t length = (size_t)RSTRING_LEN(string);
        sized(e, length, 0, 0, 0xc4, 0xc5);
        guildhall_byte_buffer_append(&e->bytes, RSTRING_PTR(string), length);
    } else {
        text_bytes(e, rb_str_encode(string, rb_enc_from_encoding(rb_utf8_encoding()), 0, Qnil));
    }
}

static void open_container(encoder *e)
{
    if (++e->depth > e->codec->rules.max_nesting) fail("nested deeper than max_nesting, or within itself");
    guildhall_check_stack(e->depth);
}

static void array(encoder *e, VALUE array)
{
    open_container(e);
    long count = RARRAY_LEN(array);
    sized(e, (size_t)count, 0x90, 16, 0, 0xdc);
    for (long i = 0; i < count; i++) { /* what changes it meanwhile gives nils */
        write_value(e, RB_LIKELY(i < RARRAY_LEN(array)) ? RARRAY_AREF(array, i) : Qnil);
    }
    e->depth--;
}

static int pair(VALUE key, VALUE value, VALUE pointer)
{
    encoder *e = (encoder *)pointer;
    if (RB_LIKELY(!RB_SPECIAL_CONST_P(key) && RBASIC_CLASS(key) == rb_cString)) string(e, key);
    else write_value(e, key);
    write_value(e, value);
    return ST_CONTINUE;
}

static void map(encoder *e, VALUE hash)
{
    open_container(e);
    size_t count = RHASH_SIZE(hash);
    sized(e, count, 0x80, 16, 0, 0xde);
    rb_hash_foreach(hash, pair, (VALUE)e);
    if (RB_UNLIKELY(RHASH_SIZE(hash) != count)) fail("a Hash was changed while it was written");
    e->depth--;
}

static void extension_bytes(encoder *e, int8_t type, const void *bytes, size_t length)
{
    switch (length) {
    case 1: byte(e, 0xd4); break;
    case 2: byte(e, 0xd5); break;
    case 4: byte(e, 0xd6); break;
    case 8: byte(e, 0xd7); break;
    case 16: byte(e, 0xd8); break;
    default: sized(e, length, 0, 0, 0xc7, 0xc8);
    }
    byte(e, (uint8_t)type);
    guildhall_byte_buffer_append(&e->bytes, bytes, length);
}

static void extension(encoder *e, VALUE extension)
{
    VALUE payload = rb_funcall(extension, id_payload, 0);
    int type = NUM2INT(rb_funcall(extension, id_type, 0));
    StringValue(payload);
    extension_bytes(e, (int8_t)type, RSTRING_PTR(payload), (size_t)RSTRING_LEN(payload));
    RB_GC_GUARD(payload);
}

static void timestamp(encoder *e, VALUE time)
{
    struct timespec spec = rb_time_timespec(time);
    uint64_t seconds = (uint64_t)spec.tv_sec, nanoseconds = (uint64_t)spec.tv_nsec;
    uint64_t bytes[2];
    int size = 12;
    if (seconds >> 34) {
        bytes[0] = big_end(nanoseconds, 4);
        seconds = big_end(seconds, 8);
        memcpy((uint8_t *)bytes + 4, &seconds, sizeof seconds);
    } else {
        size = nanoseconds || seconds > UINT32_MAX ? 8 : 4;
        bytes[0] = big_end(nanoseconds << 34 | seconds, size);
    }
    extension_bytes(e, GUILDHALL_MSGPACK_TIMESTAMP_TYPE, bytes, (size_t)size);
}

/* What MessagePack has no form for: Ruby makes an Extension of it, or something that has one, or raises. */
static void converted(encoder *e, VALUE object)
{
    int plain = rb_obj_class(object) == extension_class ||
                (!e->codec->types && rb_obj_is_kind_of(object, rb_cTime));
    VALUE made = plain ? object : rb_funcall(e->codec->self, id_convert, 1, object);
    if (rb_obj_class(made) == extension_class) {
        extension(e, made);
    } else if (rb_obj_is_kind_of(made, rb_cTime)) {
        timestamp(e, made);
    } else {
        open_container(e);
        write_value(e, made);
        e->depth--;
    }
    RB_GC_GUARD(made);
}

static void big_integer(encoder *e, VALUE number)
{
    int sign = rb_big_sign(number);
    uint64_t magnitude;
    int overflow = rb_integer_pack(number, &magnitude, 1, sizeof magnitude, 0,
                                   INTEGER_PACK_NATIVE_BYTE_ORDER | INTEGER_PACK_LSWORD_FIRST);
    /* abs(overflow) is 2 when the number takes more than 64 bits. */
    if (sign && overflow == 1) unsigned_integer(e, magnitude);
    else if (!sign && overflow == -1 && magnitude <= (uint64_t)1 << 63) integer(e, (int64_t)(0 - magnitude));
    else converted(e, number);
}

/* Has somebody registered an extension type for this subclass of a class that MessagePack knows? */
static inline int special(const encoder *e, VALUE object, VALUE klass)
{
    return RB_UNLIKELY(e->codec->types) && rb_obj_class(object) != klass;
}

static void symbol(encoder *e, VALUE symbol)
{
    VALUE made = e->codec->types ? rb_funcall(e->codec->self, id_convert, 1, symbol) : symbol;
    if (RB_SYMBOL_P(made)) string(e, rb_sym2str(made));
    else extension(e, made);
}

static int registered(encoder *e, VALUE object, VALUE klass)
{
    if (!special(e, object, klass)) return 0;
    VALUE made = rb_funcall(e->codec->self, id_convert, 1, object);
    if (rb_obj_class(made) != extension_class) return 0;
    extension(e, made);
    return 1;
}

static void write_heap(encoder *e, VALUE object)
{
    if (RB_LIKELY(RBASIC_CLASS(object) == rb_cString)) { /* what payloads are made of */
        string(e, object);
        return;
    }
    switch (RB_BUILTIN_TYPE(object)) {
    case T_STRING: if (!registered(e, object, rb_cString)) string(e, object); break;
    case T_ARRAY: if (!registered(e, object, rb_cArray)) array(e, object); break;
    case T_HASH: if (!registered(e, object, rb_cHash)) map(e, object); break;
    case T_FLOAT: real(e, RFLOAT_VALUE(object)); break;
    case T_BIGNUM: big_integer(e, object); break;
    case T_SYMBOL: symbol(e, object); break;
    default: converted(e, object);
    }
}

static void write_value(encoder *e, VALUE object)
{
    if (RB_FIXNUM_P(object)) integer(e, FIX2LONG(object));
    else if (!RB_SPECIAL_CONST_P(object)) write_heap(e, object);
    else if (RB_FLONUM_P(object)) real(e, rb_float_value(object));
    else if (NIL_P(object)) byte(e, 0xc0);
    else if (object == Qtrue) byte(e, 0xc3);
    else if (object == Qfalse) byte(e, 0xc2);
    else symbol(e, object);
}

VALUE guildhall_msgpack_encode(const guildhall_msgpack_codec *codec, VALUE object)
{
    encoder e;
    guildhall_byte_buffer_init(&e.bytes);
    e.codec = codec;
    e.depth = 0;
    write_value(&e, object);
    RB_GC_GUARD(object);
    return guildhall_byte_buffer_finish(&e.bytes);
}

void guildhall_init_msgpack_encode(VALUE msgpack)
{
    utf8_index = rb_utf8_encindex();
    ascii_index = rb_usascii_encindex();
    binary_index = rb_ascii8bit_encindex();
    id_convert = rb_intern("convert");
    id_type = rb_intern("type");
    id_payload = rb_intern("payload");
    extension_class = rb_data_define(0, "type", "payload", NULL);
    rb_gc_register_mark_object(extension_class);
    rb_const_set(msgpack, rb_intern("Extension"), extension_class);
}
