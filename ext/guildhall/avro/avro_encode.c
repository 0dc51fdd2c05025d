/* Ruby objects → Avro bytes, as the writer's schema says, and as the gem avro writes them. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <time.h>
#include "../byte_buffer.h"
#include "../stack_check.h"
#include "../values.h"
#include "avro_codec.h"

typedef struct {
    guildhall_byte_buffer bytes;
    const guildhall_avro_codec *codec;
    uint32_t depth;
    uint64_t *looks; /* left to find the branch of a union that fits */
} encoder;

typedef guildhall_avro_place place;
typedef guildhall_avro_node node;

static ID id_encode;
static int utf8_index, ascii_index;

static void write_value(encoder *e, uint32_t index, VALUE object, const place *at);

static VALUE guildhall(const char *name)
{
    return rb_const_get_at(rb_const_get_at(rb_cObject, rb_intern("Guildhall")), rb_intern(name));
}

static const char *names[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum",
                              "array", "map", "union", "record"};

NORETURN(static void refuse(const encoder *e, const node *node, VALUE object, const place *at));
static void refuse(const encoder *e, const node *node, VALUE object, const place *at)
{
    guildhall_path path;
    guildhall_avro_path(at, &path);
    VALUE shown = RB_SPECIAL_CONST_P(object) || RB_FLOAT_TYPE_P(object) ? rb_inspect(object) : rb_class_name(rb_obj_class(object));
    rb_raise(guildhall("EncodeError"), "Avro: %s: %s expected, got %" PRIsVALUE, path.text,
             node->type < sizeof names / sizeof *names ? names[node->type] : "nothing", shown);
}

static inline void number(encoder *e, int64_t number)
{
    uint8_t *out = guildhall_byte_buffer_room(&e->bytes, 10);
    uint64_t bits = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    while (bits > 0x7f) {
        *out++ = (uint8_t)(bits | 0x80);
        bits >>= 7;
    }
    *out++ = (uint8_t)bits;
    e->bytes.at = out;
}

static inline int integer_fits(VALUE object, int is_int)
{
    if (RB_FIXNUM_P(object)) return !is_int || (FIX2LONG(object) >= INT32_MIN && FIX2LONG(object) <= INT32_MAX);
    if (is_int || !RB_TYPE_P(object, T_BIGNUM)) return 0;
    return rb_absint_size(object, NULL) < 8 || (rb_big_cmp(object, LL2NUM(INT64_MIN)) != INT2FIX(-1) &&
                                                rb_big_cmp(object, LL2NUM(INT64_MAX)) != INT2FIX(1));
}

static inline int is_real(VALUE object)
{
    if (RB_FLOAT_TYPE_P(object) || RB_INTEGER_TYPE_P(object)) return 1;
    return !RB_SPECIAL_CONST_P(object) && !strcmp(rb_obj_classname(object), "BigDecimal");
}

static void span(encoder *e, VALUE string)
{
    size_t length = (size_t)RSTRING_LEN(string);
    uint8_t *out = guildhall_byte_buffer_room(&e->bytes, length + 10);
    if (RB_LIKELY(length < 64)) {
        *out = (uint8_t)(length << 1);
        e->bytes.at++;
    } else {
        number(e, (int64_t)length);
    }
    memcpy(e->bytes.at, RSTRING_PTR(string), length);
    e->bytes.at += length;
}

static void text(encoder *e, VALUE string)
{
    int index = RB_ENCODING_GET(string);
    if (RB_UNLIKELY(index != utf8_index && index != ascii_index)) {
        string = rb_str_encode(string, rb_enc_from_encoding(rb_utf8_encoding()), 0, Qnil);
    }
    span(e, string);
    RB_GC_GUARD(string);
}

static void little_endian(encoder *e, uint64_t bits, int size)
{
    uint8_t *out = guildhall_byte_buffer_room(&e->bytes, 8);
    for (int i = 0; i < 8; i++, bits >>= 8) out[i] = (uint8_t)bits;
    e->bytes.at += size;
}

static void real(encoder *e, VALUE object, int is_float)
{
    double wide = RB_FLOAT_TYPE_P(object) ? RFLOAT_VALUE(object) : NUM2DBL(object);
    if (is_float) {
        float narrow = (float)wide;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        little_endian(e, bits, 4);
    } else {
        uint64_t bits;
        memcpy(&bits, &wide, sizeof bits);
        little_endian(e, bits, 8);
    }
}

/* The number of the symbol; -1: there is no such symbol. */
static int64_t symbol_index(const encoder *e, const node *node, VALUE object)
{
    if (!RB_TYPE_P(object, T_STRING)) return -1;
    for (uint32_t i = 0; i < node->count; i++) {
        if (rb_str_equal(e->codec->constants[e->codec->program.operands[node->first + i]], object)) return i;
    }
    return -1;
}

static void enter(encoder *e, const place *at)
{
    guildhall_check_stack(++e->depth);
    if (e->depth <= e->codec->rules.max_nesting) return;
    guildhall_path path;
    guildhall_avro_path(at, &path);
    rb_raise(guildhall("EncodeError"), "Avro: %s: nested deeper than max_nesting, or within itself", path.text);
}

static void array(encoder *e, const node *node, VALUE array, const place *at)
{
    uint32_t item = e->codec->program.operands[node->first];
    place inside = {at, NULL, 0};
    enter(e, at);
    long count = RARRAY_LEN(array);
    if (count) number(e, count);
    for (; inside.index < (uint64_t)count; inside.index++) {
        write_value(e, item, rb_ary_entry(array, (long)inside.index), &inside);
    }
    number(e, 0);
    e->depth--;
}

typedef struct {
    encoder *e;
    const node *node;
    place inside;
} pairs;

static int pair(VALUE key, VALUE value, VALUE pointer)
{
    pairs *p = (pairs *)pointer;
    if (RB_SYMBOL_P(key)) key = rb_sym2str(key);
    if (!RB_TYPE_P(key, T_STRING)) refuse(p->e, p->node, key, p->inside.up);
    p->inside.text = RSTRING_PTR(key);
    p->inside.index = (uint64_t)RSTRING_LEN(key);
    text(p->e, key);
    write_value(p->e, p->e->codec->program.operands[p->node->first], value, &p->inside);
    RB_GC_GUARD(key);
    return ST_CONTINUE;
}

static void map(encoder *e, const node *node, VALUE hash, const place *at)
{
    pairs p = {e, node, {at, NULL, 0}};
    enter(e, at);
    size_t count = RHASH_SIZE(hash);
    if (count) number(e, (int64_t)count);
    rb_hash_foreach(hash, pair, (VALUE)&p);
    if (RB_UNLIKELY(RHASH_SIZE(hash) != count)) rb_raise(guildhall("EncodeError"), "Avro: a Hash was changed while it was written");
    number(e, 0);
    e->depth--;
}

/* By name, else by Symbol; nil where there is neither, as the gem has it. */
static inline VALUE member(const encoder *e, VALUE hash, uint32_t name)
{
    VALUE found = rb_hash_lookup2(hash, e->codec->constants[name], Qundef);
    if (RB_LIKELY(found != Qundef)) return found;
    return rb_hash_lookup2(hash, rb_str_intern(e->codec->constants[name]), Qnil);
}

static void record(encoder *e, const node *node, VALUE hash, const place *at)
{
    const guildhall_avro_program *program = &e->codec->program;
    const uint32_t *operand = program->operands + node->first, *end = operand + 2 * (size_t)node->count;
    enter(e, at);
    for (; operand < end; operand += 2) {
        place inside = {at, program->texts[operand[1]].bytes, program->texts[operand[1]].length};
        write_value(e, operand[0], member(e, hash, operand[1]), &inside);
    }
    e->depth--;
}

static inline int is_timestamp(const node *node) { return node->meaning >= GUILDHALL_AVRO_MILLIS; }

/* What a logical type's value is in the bytes: Integer or String; Qundef when it is no value of the type. Ruby decides
 * all but Times. */
static VALUE raw(const encoder *e, const node *node, VALUE object)
{
    if (is_timestamp(node) && rb_obj_is_kind_of(object, rb_cTime)) {
        struct timespec spec = rb_time_timespec(object);
        int64_t units = node->meaning == GUILDHALL_AVRO_MILLIS ? 1000 : node->meaning == GUILDHALL_AVRO_MICROS ? 1000000 : 1000000000;
        int64_t whole;
        if (__builtin_mul_overflow((int64_t)spec.tv_sec, units, &whole) ||
            __builtin_add_overflow(whole, spec.tv_nsec / (1000000000 / units), &whole)) return Qundef;
        return LL2NUM(whole);
    }
    VALUE converter = e->codec->constants[node->kept];
    return rb_funcall(converter, id_encode, 1, object);
}

/* Can it be of this type, as far as one look shows? */
static int resembles(const encoder *e, const node *node, VALUE object)
{
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: return NIL_P(object);
    case GUILDHALL_AVRO_BOOLEAN: return object == Qtrue || object == Qfalse;
    case GUILDHALL_AVRO_INT: return integer_fits(object, 1);
    case GUILDHALL_AVRO_LONG: return integer_fits(object, 0);
    case GUILDHALL_AVRO_FLOAT: case GUILDHALL_AVRO_DOUBLE: return is_real(object);
    case GUILDHALL_AVRO_BYTES: case GUILDHALL_AVRO_STRING: return RB_TYPE_P(object, T_STRING);
    case GUILDHALL_AVRO_FIXED: return RB_TYPE_P(object, T_STRING) && RSTRING_LEN(object) == (long)node->count;
    case GUILDHALL_AVRO_ENUM: return symbol_index(e, node, object) >= 0;
    case GUILDHALL_AVRO_ARRAY: return RB_TYPE_P(object, T_ARRAY);
    case GUILDHALL_AVRO_MAP: case GUILDHALL_AVRO_RECORD: return RB_TYPE_P(object, T_HASH);
    case GUILDHALL_AVRO_UNION: return 1;
    default: return 0;
    }
}

static int fits(const encoder *e, uint32_t index, VALUE object, uint32_t depth);

/* The value under a node's logical type; 0 when it is none. */
static int reduce(const encoder *e, const node *node, VALUE *object)
{
    if (node->meaning == GUILDHALL_AVRO_PLAIN) return 1;
    *object = raw(e, node, *object);
    return *object != Qundef && !NIL_P(*object);
}

static int resembles_converted(const encoder *e, const node *node, VALUE object)
{
    return reduce(e, node, &object) && resembles(e, node, object);
}

typedef struct {
    const encoder *e;
    uint32_t item, depth;
    int fits;
} search;

static int pair_fits(VALUE key, VALUE value, VALUE pointer)
{
    search *s = (search *)pointer;
    s->fits = (RB_TYPE_P(key, T_STRING) || RB_SYMBOL_P(key)) && fits(s->e, s->item, value, s->depth);
    return s->fits ? ST_CONTINUE : ST_STOP;
}

#define LOOKS 20000000   /* half a second */
#define LOOKS_BETWEEN 65536 /* two looks at whether the thread is wanted elsewhere */

/* Where branches resemble each other at every level, there are more ways down than anybody can go. */
static void look(const encoder *e)
{
    if (!--*e->looks) rb_raise(guildhall("EncodeError"), "Avro: which branches of unions fit is not found out in %d looks", LOOKS);
    if (*e->looks % LOOKS_BETWEEN == 0) rb_thread_check_ints();
}

/* All the way down: only where more than one branch of a union resembles the object. */
static int fits(const encoder *e, uint32_t index, VALUE object, uint32_t depth)
{
    look(e);
    const guildhall_avro_program *program = &e->codec->program;
    const node *node = &program->nodes[index];
    const uint32_t *operand = program->operands + node->first;
    if (!depth || !reduce(e, node, &object) || !resembles(e, node, object)) return 0;
    search s = {e, node->type == GUILDHALL_AVRO_MAP ? *operand : 0, depth - 1, 1};
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_ARRAY:
        for (long i = 0; i < RARRAY_LEN(object); i++) if (!fits(e, *operand, rb_ary_entry(object, i), depth - 1)) return 0;
        return 1;
    case GUILDHALL_AVRO_MAP:
        rb_hash_foreach(object, pair_fits, (VALUE)&s);
        return s.fits;
    case GUILDHALL_AVRO_RECORD:
        for (uint32_t i = 0; i < node->count; i++, operand += 2) {
            if (!fits(e, operand[0], member(e, object, operand[1]), depth - 1)) return 0;
        }
        return 1;
    case GUILDHALL_AVRO_UNION:
        for (uint32_t i = 0; i < node->count; i++) if (fits(e, operand[i], object, depth - 1)) return 1;
        return 0;
    default: return 1;
    }
}

/* The first branch that the object fits. Where only one resembles it, what does not fit inside is reported there. */
static void chosen(encoder *e, const node *node, VALUE object, const place *at)
{
    const guildhall_avro_program *program = &e->codec->program;
    const uint32_t *branches = program->operands + node->first;
    uint32_t found = UINT32_MAX, candidates = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        if (!resembles_converted(e, &program->nodes[branches[i]], object)) continue;
        if (!candidates++) found = i;
        if (program->nodes[branches[i]].type < GUILDHALL_AVRO_ARRAY && candidates == 1) break; /* a scalar: nothing deeper */
    }
    if (candidates > 1) {
        *e->looks = LOOKS;
        for (found = 0; found < node->count; found++) {
            if (fits(e, branches[found], object, e->codec->rules.max_nesting - e->depth)) break;
        }
    }
    if (found >= node->count) refuse(e, node, object, at);
    number(e, found);
    write_value(e, branches[found], object, at);
}

static void write_raw(encoder *e, const node *node, VALUE object, const place *at)
{
    if (!resembles(e, node, object)) refuse(e, node, object, at);
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: break;
    case GUILDHALL_AVRO_BOOLEAN:
        *guildhall_byte_buffer_room(&e->bytes, 1) = object == Qtrue;
        e->bytes.at++;
        break;
    case GUILDHALL_AVRO_INT: case GUILDHALL_AVRO_LONG: number(e, NUM2LL(object)); break;
    case GUILDHALL_AVRO_FLOAT: real(e, object, 1); break;
    case GUILDHALL_AVRO_DOUBLE: real(e, object, 0); break;
    case GUILDHALL_AVRO_BYTES: span(e, object); break;
    case GUILDHALL_AVRO_STRING: text(e, object); break;
    case GUILDHALL_AVRO_FIXED: guildhall_byte_buffer_append(&e->bytes, RSTRING_PTR(object), node->count); break;
    case GUILDHALL_AVRO_ENUM: number(e, symbol_index(e, node, object)); break;
    case GUILDHALL_AVRO_ARRAY: array(e, node, object, at); break;
    case GUILDHALL_AVRO_MAP: map(e, node, object, at); break;
    case GUILDHALL_AVRO_UNION: chosen(e, node, object, at); break;
    case GUILDHALL_AVRO_RECORD: record(e, node, object, at); break;
    default: break;
    }
}

static void write_value(encoder *e, uint32_t index, VALUE object, const place *at)
{
    const node *node = &e->codec->program.nodes[index];
    VALUE given = object;
    if (RB_UNLIKELY(node->meaning != GUILDHALL_AVRO_PLAIN) && !reduce(e, node, &object)) refuse(e, node, given, at);
    write_raw(e, node, object, at);
    RB_GC_GUARD(object);
}

VALUE guildhall_avro_encode(const guildhall_avro_codec *codec, VALUE object, VALUE prefix)
{
    encoder e;
    uint64_t looks = LOOKS;
    guildhall_byte_buffer_init(&e.bytes);
    e.codec = codec;
    e.depth = 0;
    e.looks = &looks;
    if (!NIL_P(prefix)) guildhall_byte_buffer_append(&e.bytes, RSTRING_PTR(prefix), (size_t)RSTRING_LEN(prefix));
    write_value(&e, 0, object, NULL);
    RB_GC_GUARD(object);
    RB_GC_GUARD(prefix);
    return guildhall_byte_buffer_finish(&e.bytes);
}

void guildhall_init_avro_encode(void)
{
    id_encode = rb_intern("encode");
    utf8_index = rb_utf8_encindex();
    ascii_index = rb_usascii_encindex();
}
