/* Ruby objects → MessagePack, byte for byte as the gem msgpack writes it: the shortest form of everything. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <time.h>
#include "codec.h"
#include "document/any.h"
#include "memory/byte_buffer.h"
#include "memory/stack_check.h"
#include "text/hash.h"
#include "values/frozen.h"

typedef struct {
    guildhall_byte_buffer bytes;
    const guildhall_msgpack_codec *codec;
    uint32_t depth;
} encoder;

static VALUE extension_class;
static ID id_convert, id_type, id_payload;

static void msgpack_encode_value(encoder *e, VALUE object);

NORETURN(static void msgpack_encode_fail(const char *message));
static void msgpack_encode_fail(const char *message)
{
    rb_raise(guildhall_encode_error(), "MessagePack: %s", message);
}

/* The number at the top of eight bytes, big end first. */
static inline uint64_t msgpack_encode_big_end(uint64_t number, int size)
{
    return __builtin_bswap64(number << (64 - size * 8));
}

/* A head byte and a number of `size` bytes after it. */
static inline void msgpack_encode_head_with(encoder *e, uint8_t head, uint64_t number, int size)
{
    uint8_t *out = guildhall_byte_buffer_room(&e->bytes, 9);
    uint64_t bytes = msgpack_encode_big_end(number, size);
    out[0] = head;
    memcpy(out + 1, &bytes, sizeof bytes);
    e->bytes.at += size + 1;
}

static inline void msgpack_encode_byte(encoder *e, uint8_t head)
{
    *guildhall_byte_buffer_room(&e->bytes, 1) = head;
    e->bytes.at++;
}

static inline void msgpack_encode_unsigned_integer(encoder *e, uint64_t number)
{
    if (number < 0x80) msgpack_encode_byte(e, (uint8_t)number);
    else if (number <= UINT8_MAX) msgpack_encode_head_with(e, 0xcc, number, 1);
    else if (number <= UINT16_MAX) msgpack_encode_head_with(e, 0xcd, number, 2);
    else if (number <= UINT32_MAX) msgpack_encode_head_with(e, 0xce, number, 4);
    else msgpack_encode_head_with(e, 0xcf, number, 8);
}

static inline void msgpack_encode_integer(encoder *e, int64_t number)
{
    if (number >= 0) msgpack_encode_unsigned_integer(e, (uint64_t)number);
    else if (number >= -32) msgpack_encode_byte(e, (uint8_t)number);
    else if (number >= INT8_MIN) msgpack_encode_head_with(e, 0xd0, (uint64_t)number, 1);
    else if (number >= INT16_MIN) msgpack_encode_head_with(e, 0xd1, (uint64_t)number, 2);
    else if (number >= INT32_MIN) msgpack_encode_head_with(e, 0xd2, (uint64_t)number, 4);
    else msgpack_encode_head_with(e, 0xd3, (uint64_t)number, 8);
}

static void msgpack_encode_real(encoder *e, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    msgpack_encode_head_with(e, 0xcb, bits, 8);
}

/* A length or count in the shortest of the forms at hand: fix (0: there is none), one byte (0: none), two, four. */
static inline void msgpack_encode_sized(encoder *e, size_t length, uint8_t fix, size_t fix_limit, uint8_t head8, uint8_t head16)
{
    if (length < fix_limit) msgpack_encode_byte(e, (uint8_t)(fix | length));
    else if (head8 && length <= UINT8_MAX) msgpack_encode_head_with(e, head8, length, 1);
    else if (length <= UINT16_MAX) msgpack_encode_head_with(e, head16, length, 2);
    else if (length <= UINT32_MAX) msgpack_encode_head_with(e, (uint8_t)(head16 + 1), length, 4);
    else msgpack_encode_fail("longer than MessagePack can say: 4 GiB");
}

#define SHORT 32 /* bytes of a text that fewer of are copied without a call */

_Static_assert(sizeof(struct RString) - offsetof(struct RString, as.embed.ary) >= 16, "an embedded String has 16 bytes at least");

/* Less than SHORT bytes; `out` has room for SHORT. The processor could not foresee the length of a short text, so no jump
 * depends on it where a String has its bytes in its slot: what comes after them is written over. */
static inline void msgpack_encode_copy_short(uint8_t *out, VALUE string, size_t length)
{
    if (RB_UNLIKELY(RB_FL_TEST_RAW(string, RSTRING_NOEMBED))) {
        const uint8_t *bytes = (const uint8_t *)RSTRING(string)->as.heap.ptr;
        if (length <= GUILDHALL_ENDS_BYTES) return guildhall_ends_copy(out, guildhall_ends_of(bytes, length), length);
        memcpy(out, bytes, 16);
        memcpy(out + length - 16, bytes + length - 16, 16);
        return;
    }
    const char *bytes = RSTRING(string)->as.embed.ary;
    memcpy(out, bytes, 16);
    if (length > 16) memcpy(out + length - 16, bytes + length - 16, 16);
}

static inline void msgpack_encode_text_bytes(encoder *e, VALUE string)
{
    size_t length = (size_t)RSTRING_LEN(string);
    if (RB_LIKELY(length < SHORT)) { /* most texts are: one look at the room */
        uint8_t *out = guildhall_byte_buffer_room(&e->bytes, SHORT + 1);
        *out = (uint8_t)(0xa0 | length);
        msgpack_encode_copy_short(out + 1, string, length);
        e->bytes.at += length + 1;
        return;
    }
    msgpack_encode_sized(e, length, 0xa0, 32, 0xd9, 0xda);
    guildhall_byte_buffer_append_string(&e->bytes, string);
}

static __attribute__((noinline, cold)) void msgpack_encode_check_utf8(VALUE string)
{
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN)
        msgpack_encode_fail("a String is not valid UTF-8 (allow_invalid_utf8: true writes it; String#b makes it binary)");
}

static inline void msgpack_encode_string(encoder *e, VALUE string)
{
    int index = RB_ENCODING_GET(string);
    if (RB_LIKELY(index == guildhall_utf8_index || index == guildhall_ascii_index)) {
        if (RB_UNLIKELY(!e->codec->rules.allow_invalid_utf8)) msgpack_encode_check_utf8(string);
        msgpack_encode_text_bytes(e, string);
    } else if (index == guildhall_binary_index) {
        msgpack_encode_sized(e, (size_t)RSTRING_LEN(string), 0, 0, 0xc4, 0xc5);
        guildhall_byte_buffer_append_string(&e->bytes, string);
    } else {
        VALUE text = guildhall_in_utf8(string);
        if (NIL_P(text)) msgpack_encode_fail("a String cannot be converted to UTF-8");
        msgpack_encode_text_bytes(e, text);
        RB_GC_GUARD(text);
    }
}

static void msgpack_encode_open_container(encoder *e)
{
    if (++e->depth > e->codec->rules.max_nesting) msgpack_encode_fail("nested deeper than max_nesting, or within itself");
    guildhall_check_stack(e->depth);
}

static void msgpack_encode_array(encoder *e, VALUE array)
{
    msgpack_encode_open_container(e);
    long count = RARRAY_LEN(array);
    msgpack_encode_sized(e, (size_t)count, 0x90, 16, 0, 0xdc);
    for (long i = 0; i < count; i++) { /* what changes it meanwhile gives nils */
        msgpack_encode_value(e, RB_LIKELY(i < RARRAY_LEN(array)) ? RARRAY_AREF(array, i) : Qnil);
    }
    e->depth--;
}

typedef struct {
    encoder *encoder;
    int kinds; /* of keys */
    VALUE keys;
} map_walk;

static inline int msgpack_encode_kind_of_string(VALUE key)
{
    int index = RB_ENCODING_GET(key);
    if (RB_LIKELY(index == guildhall_utf8_index || index == guildhall_ascii_index)) return GUILDHALL_STRING_KEY;
    return index == guildhall_binary_index ? GUILDHALL_STRING_KEY : GUILDHALL_CONVERTED_KEY;
}

static inline int msgpack_encode_kind(VALUE key)
{
    if (RB_SYMBOL_P(key)) return GUILDHALL_SYMBOL_KEY;
    if (RB_SPECIAL_CONST_P(key) || RB_FLOAT_TYPE_P(key) || RB_TYPE_P(key, T_BIGNUM)) return 0;
    return RB_TYPE_P(key, T_STRING) ? msgpack_encode_kind_of_string(key) : GUILDHALL_CONVERTED_KEY;
}

/* Will be read as a Symbol, and there is none of invalid text. */
static __attribute__((noinline, cold)) void msgpack_encode_check_symbol(VALUE key)
{
    if (RB_TYPE_P(key, T_STRING) && rb_enc_str_coderange(key) == ENC_CODERANGE_BROKEN) msgpack_encode_fail("a key is not valid UTF-8, which symbolize_names needs");
}

static int msgpack_encode_pair(VALUE key, VALUE value, VALUE pointer)
{
    map_walk *walk = (map_walk *)pointer;
    encoder *e = walk->encoder;
    if (RB_UNLIKELY(e->codec->rules.symbol_keys)) msgpack_encode_check_symbol(key);
    if (RB_LIKELY(!RB_SPECIAL_CONST_P(key) && RBASIC_CLASS(key) == rb_cString)) {
        msgpack_encode_string(e, key);
        walk->kinds |= msgpack_encode_kind_of_string(key);
    } else {
        msgpack_encode_value(e, key);
        walk->kinds |= msgpack_encode_kind(key);
    }
    msgpack_encode_value(e, value);
    return ST_CONTINUE;
}

/* The key as it is written, behind what is written already; that stays. */
static int msgpack_encode_collect_key(VALUE key, VALUE value, VALUE pointer)
{
    map_walk *walk = (map_walk *)pointer;
    guildhall_byte_buffer *bytes = &walk->encoder->bytes;
    size_t before = guildhall_byte_buffer_length(bytes);
    msgpack_encode_value(walk->encoder, key);
    VALUE written = rb_str_new((const char *)bytes->begin + before, (long)(guildhall_byte_buffer_length(bytes) - before));
    bytes->at = bytes->begin + before;
    rb_hash_aset(walk->keys, written, Qtrue);
    return ST_CONTINUE;
}

static void msgpack_encode_check_keys(map_walk *walk, VALUE hash)
{
    walk->keys = rb_hash_new();
    rb_hash_foreach(hash, msgpack_encode_collect_key, (VALUE)walk);
    if (RHASH_SIZE(walk->keys) != RHASH_SIZE(hash)) msgpack_encode_fail("two keys of a Hash are the same when they are written");
}

static void msgpack_encode_map(encoder *e, VALUE hash)
{
    map_walk walk = {e, 0, Qnil};
    msgpack_encode_open_container(e);
    size_t count = RHASH_SIZE(hash);
    msgpack_encode_sized(e, count, 0x80, 16, 0, 0xde);
    rb_hash_foreach(hash, msgpack_encode_pair, (VALUE)&walk);
    if (RB_UNLIKELY(RHASH_SIZE(hash) != count)) msgpack_encode_fail("a Hash was changed while it was written");
    if (RB_UNLIKELY(guildhall_keys_may_collide(walk.kinds))) msgpack_encode_check_keys(&walk, hash);
    e->depth--;
}

static void msgpack_encode_extension_bytes(encoder *e, int8_t type, const void *bytes, size_t length)
{
    switch (length) {
    case 1: msgpack_encode_byte(e, 0xd4); break;
    case 2: msgpack_encode_byte(e, 0xd5); break;
    case 4: msgpack_encode_byte(e, 0xd6); break;
    case 8: msgpack_encode_byte(e, 0xd7); break;
    case 16: msgpack_encode_byte(e, 0xd8); break;
    default: msgpack_encode_sized(e, length, 0, 0, 0xc7, 0xc8);
    }
    msgpack_encode_byte(e, (uint8_t)type);
    guildhall_byte_buffer_append(&e->bytes, bytes, length);
}

/* Would the codec read it? */
static void msgpack_encode_check_extension(const encoder *e, int8_t type, VALUE payload)
{
    const guildhall_msgpack_rules *rules = &e->codec->rules;
    guildhall_msgpack_timestamp timestamp;
    if (type == GUILDHALL_MSGPACK_TIMESTAMP_TYPE && !rules->own_timestamps) {
        if (RSTRING_LEN(payload) > 12 || !guildhall_msgpack_read_timestamp((const uint8_t *)RSTRING_PTR(payload), (uint32_t)RSTRING_LEN(payload), &timestamp))
            msgpack_encode_fail("an Extension of type -1 is no valid timestamp");
    } else if (!guildhall_msgpack_knows(rules, type)) {
        msgpack_encode_fail("an Extension is of a type that is not registered (types: registers it, allow_unknown_ext: true writes it)");
    }
}

static void msgpack_encode_extension(encoder *e, VALUE extension)
{
    VALUE payload = rb_funcall(extension, id_payload, 0);
    int type = NUM2INT(rb_funcall(extension, id_type, 0));
    if (type < INT8_MIN || type > INT8_MAX) msgpack_encode_fail("the type of an Extension is from -128 to 127");
    StringValue(payload);
    msgpack_encode_check_extension(e, (int8_t)type, payload);
    msgpack_encode_extension_bytes(e, (int8_t)type, RSTRING_PTR(payload), (size_t)RSTRING_LEN(payload));
    RB_GC_GUARD(payload);
}

static VALUE msgpack_encode_read_time(VALUE argument)
{
    VALUE *arguments = (VALUE *)argument;
    *(struct timespec *)arguments[1] = rb_time_timespec(arguments[0]);
    return Qtrue;
}

static VALUE msgpack_encode_no_time(VALUE argument, VALUE error) { return Qfalse; }

static void msgpack_encode_timestamp(encoder *e, VALUE time)
{
    struct timespec spec;
    VALUE arguments[] = {time, (VALUE)&spec};
    if (!RTEST(rb_rescue2(msgpack_encode_read_time, (VALUE)arguments, msgpack_encode_no_time, Qnil, rb_eRangeError, rb_eArgError, (VALUE)0)))
        msgpack_encode_fail("the seconds of a Time do not fit 64 bits");
    uint64_t seconds = (uint64_t)spec.tv_sec, nanoseconds = (uint64_t)spec.tv_nsec;
    uint64_t bytes[2];
    int size = 12;
    if (seconds >> 34) {
        bytes[0] = msgpack_encode_big_end(nanoseconds, 4);
        seconds = msgpack_encode_big_end(seconds, 8);
        memcpy((uint8_t *)bytes + 4, &seconds, sizeof seconds);
    } else {
        size = nanoseconds || seconds > UINT32_MAX ? 8 : 4;
        bytes[0] = msgpack_encode_big_end(nanoseconds << 34 | seconds, size);
    }
    msgpack_encode_extension_bytes(e, GUILDHALL_MSGPACK_TIMESTAMP_TYPE, bytes, (size_t)size);
}

/* What MessagePack has no form for: Ruby makes an Extension of it, or something that has one, or raises. */
static void msgpack_encode_converted(encoder *e, VALUE object)
{
    int plain = rb_obj_class(object) == extension_class || (!e->codec->types && rb_obj_is_kind_of(object, rb_cTime));
    VALUE made = plain ? object : guildhall_document_p(object) ? guildhall_document_decoded_value(object)
                                                               : rb_funcall(e->codec->self, id_convert, 1, object);
    if (rb_obj_class(made) == extension_class) {
        msgpack_encode_extension(e, made);
    } else if (rb_obj_is_kind_of(made, rb_cTime)) {
        msgpack_encode_timestamp(e, made);
    } else {
        msgpack_encode_open_container(e);
        msgpack_encode_value(e, made);
        e->depth--;
    }
    RB_GC_GUARD(made);
}

static void msgpack_encode_big_integer(encoder *e, VALUE number)
{
    int sign = rb_big_sign(number);
    uint64_t magnitude;
    int overflow = rb_integer_pack(number, &magnitude, 1, sizeof magnitude, 0, INTEGER_PACK_NATIVE_BYTE_ORDER | INTEGER_PACK_LSWORD_FIRST);
    /* abs(overflow) is 2 when the number takes more than 64 bits. */
    if (sign && overflow == 1) msgpack_encode_unsigned_integer(e, magnitude);
    else if (!sign && overflow == -1 && magnitude <= (uint64_t)1 << 63) msgpack_encode_integer(e, (int64_t)(0 - magnitude));
    else msgpack_encode_converted(e, number);
}

/* Is an extension type registered for this subclass of a class that MessagePack knows? */
static inline int msgpack_encode_special(const encoder *e, VALUE object, VALUE klass)
{
    return RB_UNLIKELY(e->codec->types) && rb_obj_class(object) != klass;
}

static void msgpack_encode_symbol(encoder *e, VALUE symbol)
{
    VALUE made = e->codec->types ? rb_funcall(e->codec->self, id_convert, 1, symbol) : symbol;
    if (RB_SYMBOL_P(made)) msgpack_encode_string(e, rb_sym2str(made));
    else msgpack_encode_extension(e, made);
}

static int msgpack_encode_registered(encoder *e, VALUE object, VALUE klass)
{
    if (!msgpack_encode_special(e, object, klass)) return 0;
    VALUE made = rb_funcall(e->codec->self, id_convert, 1, object);
    if (rb_obj_class(made) != extension_class) return 0;
    msgpack_encode_extension(e, made);
    return 1;
}

static void msgpack_encode_heap(encoder *e, VALUE object)
{
    if (RB_LIKELY(RBASIC_CLASS(object) == rb_cString)) { /* what payloads are made of */
        msgpack_encode_string(e, object);
        return;
    }
    switch (RB_BUILTIN_TYPE(object)) {
    case T_STRING: if (!msgpack_encode_registered(e, object, rb_cString)) msgpack_encode_string(e, object); break;
    case T_ARRAY: if (!msgpack_encode_registered(e, object, rb_cArray)) msgpack_encode_array(e, object); break;
    case T_HASH: if (!msgpack_encode_registered(e, object, rb_cHash)) msgpack_encode_map(e, object); break;
    case T_FLOAT: msgpack_encode_real(e, RFLOAT_VALUE(object)); break;
    case T_BIGNUM: msgpack_encode_big_integer(e, object); break;
    case T_SYMBOL: msgpack_encode_symbol(e, object); break;
    default: msgpack_encode_converted(e, object);
    }
}

static void msgpack_encode_value(encoder *e, VALUE object)
{
    if (RB_FIXNUM_P(object)) msgpack_encode_integer(e, FIX2LONG(object));
    else if (!RB_SPECIAL_CONST_P(object)) msgpack_encode_heap(e, object);
    else if (RB_FLONUM_P(object)) msgpack_encode_real(e, rb_float_value(object));
    else if (NIL_P(object)) msgpack_encode_byte(e, 0xc0);
    else if (object == Qtrue) msgpack_encode_byte(e, 0xc3);
    else if (object == Qfalse) msgpack_encode_byte(e, 0xc2);
    else msgpack_encode_symbol(e, object);
}

VALUE guildhall_msgpack_encode(const guildhall_msgpack_codec *codec, VALUE object)
{
    encoder e;
    guildhall_byte_buffer_init(&e.bytes);
    e.codec = codec;
    e.depth = 0;
    msgpack_encode_value(&e, object);
    RB_GC_GUARD(object);
    if (RB_UNLIKELY(guildhall_byte_buffer_length(&e.bytes) > codec->rules.max_bytes)) msgpack_encode_fail("longer than max_bytes, that this codec reads");
    return guildhall_byte_buffer_finish(&e.bytes, GUILDHALL_TEXT_BINARY);
}

void guildhall_init_msgpack_encode(VALUE msgpack)
{
    id_convert = rb_intern("convert");
    id_type = rb_intern("type");
    id_payload = rb_intern("payload");
    extension_class = rb_data_define(0, "type", "payload", NULL);
    rb_gc_register_mark_object(extension_class);
    rb_const_set(msgpack, rb_intern("Extension"), extension_class);
}
