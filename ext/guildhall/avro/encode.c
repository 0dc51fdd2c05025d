/* Ruby objects → Avro bytes, as the writer's schema says, and as the gem avro writes them. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "document.h"
#include "document/any.h"
#include "document/errors.h"
#include "fit.h"
#include "memory/byte_buffer.h"
#include "memory/stack_check.h"
#include "values/frozen.h"

typedef struct {
    guildhall_byte_buffer bytes;
    const guildhall_avro_codec *codec;
    uint32_t depth;
    guildhall_avro_search search;
} encoder;

typedef guildhall_avro_place place;
typedef guildhall_avro_node node;

static void avro_encode_value(encoder *e, uint32_t index, VALUE object, const place *at);

NORETURN(static void avro_encode_refuse(const encoder *e, const node *node, VALUE object, const place *at));
static void avro_encode_refuse(const encoder *e, const node *node, VALUE object, const place *at)
{
    guildhall_path path;
    guildhall_avro_path(at, &path);
    bool constant = NIL_P(object) || object == Qtrue || object == Qfalse;
    VALUE shown = constant ? rb_inspect(object) : rb_class_name(rb_obj_class(object));
    if (RB_TYPE_P(object, T_STRING)) shown = rb_sprintf("%" PRIsVALUE " of %ld bytes in %s", shown, RSTRING_LEN(object), rb_enc_name(rb_enc_get(object)));
    VALUE message = rb_sprintf("Avro: %s: %s expected, got %" PRIsVALUE, path.text, guildhall_avro_type_name(node), shown);
    VALUE error = rb_exc_new_str(guildhall_encode_error(), message);
    if (!constant && RB_SPECIAL_CONST_P(object)) rb_iv_set(error, "@excerpt", rb_inspect(object));
    rb_exc_raise(error);
}

static inline void avro_encode_number(encoder *e, int64_t number)
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

static void avro_encode_span(encoder *e, VALUE string)
{
    size_t length = (size_t)RSTRING_LEN(string);
    uint8_t *out = guildhall_byte_buffer_room(&e->bytes, length + 10);
    if (RB_LIKELY(length < 64)) {
        *out = (uint8_t)(length << 1);
        e->bytes.at++;
    } else {
        avro_encode_number(e, (int64_t)length);
    }
    memcpy(e->bytes.at, RSTRING_PTR(string), length);
    e->bytes.at += length;
}

static void avro_encode_text(encoder *e, const node *node, VALUE string, const place *at)
{
    int index = RB_ENCODING_GET(string);
    if (RB_UNLIKELY(index != guildhall_utf8_index && index != guildhall_ascii_index)) {
        VALUE given = string;
        if (NIL_P(string = guildhall_in_utf8(given))) avro_encode_refuse(e, node, given, at);
    }
    avro_encode_span(e, string);
    RB_GC_GUARD(string);
}

static void avro_encode_little_endian(encoder *e, uint64_t bits, int size)
{
    uint8_t *out = guildhall_byte_buffer_room(&e->bytes, 8);
    for (int i = 0; i < 8; i++, bits >>= 8) out[i] = (uint8_t)bits;
    e->bytes.at += size;
}

static void avro_encode_real(encoder *e, VALUE object, int is_float)
{
    double wide = RB_FLOAT_TYPE_P(object) ? RFLOAT_VALUE(object) : NUM2DBL(object);
    if (is_float) {
        float narrow = (float)wide;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        avro_encode_little_endian(e, bits, 4);
    } else {
        uint64_t bits;
        memcpy(&bits, &wide, sizeof bits);
        avro_encode_little_endian(e, bits, 8);
    }
}

static void avro_encode_enter(encoder *e, const place *at)
{
    guildhall_check_stack(++e->depth);
    if (e->depth <= e->codec->rules.max_nesting) return;
    guildhall_path path;
    guildhall_avro_path(at, &path);
    rb_raise(guildhall_encode_error(), "Avro: %s: nested deeper than max_nesting, or within itself", path.text);
}

static void avro_encode_array(encoder *e, const node *node, VALUE array, const place *at)
{
    uint32_t item = e->codec->program.operands[node->first];
    place inside = {at, NULL, 0};
    avro_encode_enter(e, at);
    long count = RARRAY_LEN(array);
    if (count) avro_encode_number(e, count);
    for (; inside.index < (uint64_t)count; inside.index++) {
        avro_encode_value(e, item, rb_ary_entry(array, (long)inside.index), &inside);
    }
    avro_encode_number(e, 0);
    e->depth--;
}

typedef struct {
    encoder *e;
    const node *node;
    place inside;
} pairs;

static int avro_encode_pair(VALUE key, VALUE value, VALUE pointer)
{
    pairs *p = (pairs *)pointer;
    if (RB_SYMBOL_P(key)) key = rb_sym2str(key);
    if (!RB_TYPE_P(key, T_STRING)) avro_encode_refuse(p->e, p->node, key, p->inside.up);
    p->inside.text = RSTRING_PTR(key);
    p->inside.index = (uint64_t)RSTRING_LEN(key);
    avro_encode_text(p->e, p->node, key, p->inside.up);
    avro_encode_value(p->e, p->e->codec->program.operands[p->node->first], value, &p->inside);
    RB_GC_GUARD(key);
    return ST_CONTINUE;
}

static void avro_encode_map(encoder *e, const node *node, VALUE hash, const place *at)
{
    pairs p = {e, node, {at, NULL, 0}};
    avro_encode_enter(e, at);
    size_t count = RHASH_SIZE(hash);
    if (count) avro_encode_number(e, (int64_t)count);
    rb_hash_foreach(hash, avro_encode_pair, (VALUE)&p);
    if (RB_UNLIKELY(RHASH_SIZE(hash) != count)) rb_raise(guildhall_encode_error(), "Avro: a Hash was changed while it was written");
    avro_encode_number(e, 0);
    e->depth--;
}

static void avro_encode_record(encoder *e, const node *node, VALUE hash, const place *at)
{
    const guildhall_avro_program *program = &e->codec->program;
    const uint32_t *operand = program->operands + node->first, *end = operand + 2 * (size_t)node->count;
    avro_encode_enter(e, at);
    for (; operand < end; operand += 2) {
        place inside = {at, program->texts[operand[1]].bytes, program->texts[operand[1]].length};
        avro_encode_value(e, operand[0], guildhall_avro_given(e->codec, hash, operand[1], Qnil), &inside); /* nil as the gem has it */
    }
    e->depth--;
}

static void avro_encode_chosen(encoder *e, const node *node, VALUE object, const place *at)
{
    VALUE given = object;
    uint32_t found = guildhall_avro_branch_of(e->codec, node, &object, e->codec->rules.max_nesting - e->depth, &e->search);
    if (found >= node->count) avro_encode_refuse(e, node, given, at);
    avro_encode_number(e, found);
    avro_encode_value(e, e->codec->program.operands[node->first + found], object, at);
    RB_GC_GUARD(given);
    RB_GC_GUARD(object);
}

/* The Hash or Array of a Document. What is nested in one of Avro's stays a Document, which knows the branch of a union, if there
 * are any to tell apart. */
static VALUE avro_encode_opened(const encoder *e, VALUE object)
{
    if (!e->codec->alternatives) return guildhall_document_plain(object);
    if (!guildhall_document_p(object)) return object;
    if (rb_obj_is_kind_of(object, guildhall_avro_documents.map_class)) return rb_funcall(object, rb_intern("pairs"), 0);
    if (rb_obj_is_kind_of(object, guildhall_avro_documents.array_class)) return rb_funcall(object, rb_intern("elements"), 0);
    return guildhall_document_decoded_value(object);
}

static void avro_encode_raw_bytes(encoder *e, const node *node, VALUE object, const place *at)
{
    if (RB_UNLIKELY(!guildhall_avro_resembles(e->codec, node, object))) {
        VALUE given = object;
        object = avro_encode_opened(e, object);
        if (!guildhall_avro_resembles(e->codec, node, object)) avro_encode_refuse(e, node, given, at);
    }
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: break;
    case GUILDHALL_AVRO_BOOLEAN:
        *guildhall_byte_buffer_room(&e->bytes, 1) = object == Qtrue;
        e->bytes.at++;
        break;
    case GUILDHALL_AVRO_INT: case GUILDHALL_AVRO_LONG: avro_encode_number(e, NUM2LL(object)); break;
    case GUILDHALL_AVRO_FLOAT: avro_encode_real(e, object, 1); break;
    case GUILDHALL_AVRO_DOUBLE: avro_encode_real(e, object, 0); break;
    case GUILDHALL_AVRO_BYTES: avro_encode_span(e, object); break;
    case GUILDHALL_AVRO_STRING: avro_encode_text(e, node, object, at); break;
    case GUILDHALL_AVRO_FIXED: guildhall_byte_buffer_append(&e->bytes, RSTRING_PTR(object), node->count); break;
    case GUILDHALL_AVRO_ENUM: avro_encode_number(e, guildhall_avro_symbol_index(e->codec, node, object)); break;
    case GUILDHALL_AVRO_ARRAY: avro_encode_array(e, node, object, at); break;
    case GUILDHALL_AVRO_MAP: avro_encode_map(e, node, object, at); break;
    case GUILDHALL_AVRO_UNION: avro_encode_chosen(e, node, object, at); break;
    case GUILDHALL_AVRO_RECORD: avro_encode_record(e, node, object, at); break;
    default: break;
    }
    RB_GC_GUARD(object);
}

static void avro_encode_value(encoder *e, uint32_t index, VALUE object, const place *at)
{
    const node *node = &e->codec->program.nodes[index];
    VALUE given = object;
    if (RB_UNLIKELY(node->meaning != GUILDHALL_AVRO_PLAIN) && !guildhall_avro_reduce(e->codec, node, &object)) avro_encode_refuse(e, node, given, at);
    avro_encode_raw_bytes(e, node, object, at);
    RB_GC_GUARD(object);
}

VALUE guildhall_avro_encode(const guildhall_avro_codec *codec, VALUE object, VALUE prefix)
{
    encoder e;
    guildhall_byte_buffer_init(&e.bytes);
    e.codec = codec;
    e.depth = 0;
    e.search = (guildhall_avro_search){0};
    if (!NIL_P(prefix)) guildhall_byte_buffer_append(&e.bytes, RSTRING_PTR(prefix), (size_t)RSTRING_LEN(prefix));
    avro_encode_value(&e, 0, object, NULL);
    RB_GC_GUARD(object);
    RB_GC_GUARD(prefix);
    return guildhall_byte_buffer_finish(&e.bytes, GUILDHALL_TEXT_BINARY);
}
