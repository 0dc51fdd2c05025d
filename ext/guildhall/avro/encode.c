/* Ruby objects → Avro bytes, as the writer's schema says, and as the gem avro writes them. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "codec.h"
#include "document/any.h"
#include "fit.h"
#include "memory/byte_buffer.h"
#include "memory/stack_check.h"
#include "values/frozen.h"

typedef struct {
    guildhall_byte_buffer bytes;
    const guildhall_avro_codec *codec;
    uint32_t depth;
    guildhall_avro_cost cost;
    guildhall_avro_search search;
} encoder;

typedef guildhall_avro_node node;

/* Where in the object it is: from the innermost container outwards. */
typedef struct place {
    const struct place *up;
    const char *text; /* a key; NULL: an index */
    uint64_t index;   /* or the key's length */
} place;

static void avro_encode_value(encoder *e, uint32_t index, VALUE object, const place *at);

static void avro_encode_path(const place *at, guildhall_path *path)
{
    if (!at) return guildhall_path_init(path);
    avro_encode_path(at->up, path);
    if (at->text) guildhall_path_key(path, (const uint8_t *)at->text, (size_t)at->index);
    else guildhall_path_index(path, (int64_t)at->index);
}

NORETURN(static void avro_encode_fail(const place *at, const char *reason));
static void avro_encode_fail(const place *at, const char *reason)
{
    guildhall_path path;
    avro_encode_path(at, &path);
    rb_raise(guildhall_encode_error(), "Avro: %s: %s", path.text, reason);
}

NORETURN(static void avro_encode_refuse_as(VALUE expected, VALUE object, const place *at));
static void avro_encode_refuse_as(VALUE expected, VALUE object, const place *at)
{
    guildhall_path path;
    avro_encode_path(at, &path);
    bool constant = NIL_P(object) || object == Qtrue || object == Qfalse;
    VALUE shown = constant ? rb_inspect(object) : rb_class_name(rb_obj_class(object));
    if (RB_TYPE_P(object, T_STRING)) shown = rb_sprintf("%" PRIsVALUE " of %ld bytes in %s", shown, RSTRING_LEN(object), rb_enc_name(rb_enc_get(object)));
    VALUE message = rb_sprintf("Avro: %s: %" PRIsVALUE " expected, got %" PRIsVALUE, path.text, expected, shown);
    VALUE error = rb_exc_new_str(guildhall_encode_error(), message);
    if (!constant && RB_SPECIAL_CONST_P(object)) rb_iv_set(error, "@excerpt", rb_inspect(object));
    rb_exc_raise(error);
}

/* The names that a Branch may have. */
static VALUE avro_encode_branch_names(const encoder *e, const node *node)
{
    VALUE names = rb_str_new_cstr("Branch named ");
    for (uint32_t i = 0; i < node->count; i++) {
        const guildhall_avro_node *branch = &e->codec->program.nodes[e->codec->program.operands[node->first + i]];
        if (i) rb_str_cat_cstr(names, i + 1 < node->count ? ", " : " or ");
        rb_str_append(names, guildhall_avro_label(e->codec, branch));
    }
    return names;
}

/* What would have been right, where the type alone does not say it. */
static VALUE avro_encode_expected(const encoder *e, const node *node, VALUE object)
{
    if (node->meaning != GUILDHALL_AVRO_PLAIN) return rb_funcall(e->codec->constants[node->kept], rb_intern("expected"), 0);
    if (node->type == GUILDHALL_AVRO_INT && RB_INTEGER_TYPE_P(object)) return rb_str_new_cstr("int within 32 bits");
    if (node->type == GUILDHALL_AVRO_FLOAT && guildhall_avro_is_real(object)) return rb_str_new_cstr("float within 32 bits");
    if (node->type == GUILDHALL_AVRO_DOUBLE && guildhall_avro_is_real(object)) return rb_str_new_cstr("double within 64 bits");
    if (node->type == GUILDHALL_AVRO_LONG && RB_INTEGER_TYPE_P(object)) return rb_str_new_cstr("long within 64 bits");
    if (node->type == GUILDHALL_AVRO_UNION && rb_obj_is_kind_of(object, guildhall_avro_branch_class())) return avro_encode_branch_names(e, node);
    return rb_str_new_cstr(guildhall_avro_type_name(node));
}

NORETURN(static void avro_encode_refuse(const encoder *e, const node *node, VALUE object, const place *at));
static void avro_encode_refuse(const encoder *e, const node *node, VALUE object, const place *at)
{
    avro_encode_refuse_as(avro_encode_expected(e, node, object), object, at);
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

static int avro_encode_is_utf8(VALUE string)
{
    int index = RB_ENCODING_GET(string);
    return index == guildhall_utf8_index || index == guildhall_ascii_index;
}

static VALUE avro_encode_in_utf8(VALUE string, const place *at)
{
    VALUE text = avro_encode_is_utf8(string) ? string : guildhall_in_utf8(string);
    if (NIL_P(text)) avro_encode_refuse_as(rb_str_new_cstr("string that can be converted to UTF-8"), string, at);
    return text;
}

static __attribute__((noinline, cold)) void avro_encode_check_utf8(VALUE string, const place *at)
{
    if (rb_enc_str_coderange(string) == ENC_CODERANGE_BROKEN) avro_encode_fail(at, "a String is not valid UTF-8 (allow_invalid_utf8: true writes it)");
}

static void avro_encode_text(encoder *e, VALUE string, const place *at)
{
    if (RB_UNLIKELY(!avro_encode_is_utf8(string))) string = avro_encode_in_utf8(string, at);
    if (RB_UNLIKELY(!e->codec->rules.allow_invalid_utf8)) avro_encode_check_utf8(string, at);
    avro_encode_span(e, string);
    RB_GC_GUARD(string);
}

/* Little-endian, as in guildhall_avro_double. */
static void avro_encode_real(encoder *e, VALUE object, int is_float)
{
    double wide = RB_FLOAT_TYPE_P(object) ? RFLOAT_VALUE(object) : NUM2DBL(object);
    float narrow = (float)wide;
    if (is_float) guildhall_byte_buffer_append(&e->bytes, &narrow, sizeof narrow);
    else guildhall_byte_buffer_append(&e->bytes, &wide, sizeof wide);
}

static void avro_encode_enter(encoder *e, const place *at)
{
    guildhall_check_stack(++e->depth);
    if (e->depth > e->codec->rules.max_nesting) avro_encode_fail(at, "nested deeper than max_nesting, or within itself");
}

/* Counts as guildhall_avro_afford does when they are read. */
static void avro_encode_afford(encoder *e, const node *item, uint64_t count, const place *at)
{
    if (item->minimum) return;
    e->cost.empty_items += count * ((uint64_t)item->inside + 1);
    if (e->cost.empty_items > e->codec->rules.max_empty_items) avro_encode_fail(at, guildhall_avro_status_text(GUILDHALL_AVRO_TOO_MANY_EMPTY));
}

static void avro_encode_array(encoder *e, const node *node, VALUE array, const place *at)
{
    uint32_t item = e->codec->program.operands[node->first];
    place inside = {at, NULL, 0};
    avro_encode_enter(e, at);
    long count = RARRAY_LEN(array);
    avro_encode_afford(e, &e->codec->program.nodes[item], (uint64_t)count, at);
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
    int kinds;            /* of keys */
    volatile VALUE texts; /* of keys, where two may be the same */
} pairs;

static int avro_encode_key_kind(VALUE key)
{
    if (RB_SYMBOL_P(key)) return GUILDHALL_SYMBOL_KEY;
    return RB_ENCODING_GET(key) == guildhall_utf8_index || rb_enc_str_asciionly_p(key) ? GUILDHALL_STRING_KEY : GUILDHALL_CONVERTED_KEY;
}

static VALUE avro_encode_key_text(VALUE key, const place *at)
{
    if (RB_SYMBOL_P(key)) return rb_sym2str(key);
    if (!RB_TYPE_P(key, T_STRING)) avro_encode_refuse_as(rb_str_new_cstr("String or Symbol as a map's key"), key, at);
    return key;
}

static int avro_encode_collect_text(VALUE key, VALUE value, VALUE pointer)
{
    const pairs *p = (const pairs *)pointer;
    VALUE text = avro_encode_in_utf8(avro_encode_key_text(key, p->inside.up), p->inside.up);
    rb_hash_aset(p->texts, rb_enc_str_new(RSTRING_PTR(text), RSTRING_LEN(text), rb_utf8_encoding()), Qtrue);
    RB_GC_GUARD(text);
    return ST_CONTINUE;
}

static void avro_encode_check_keys(pairs *p, VALUE hash)
{
    p->texts = rb_hash_new();
    rb_hash_foreach(hash, avro_encode_collect_text, (VALUE)p);
    if (RHASH_SIZE(p->texts) != RHASH_SIZE(hash)) avro_encode_fail(p->inside.up, "two keys of a map are the same text");
}

static int avro_encode_pair(VALUE key, VALUE value, VALUE pointer)
{
    pairs *p = (pairs *)pointer;
    VALUE given = key;
    key = avro_encode_key_text(key, p->inside.up);
    p->kinds |= avro_encode_key_kind(given);
    p->inside.text = RSTRING_PTR(key);
    p->inside.index = (uint64_t)RSTRING_LEN(key);
    avro_encode_text(p->e, key, p->inside.up);
    avro_encode_value(p->e, p->e->codec->program.operands[p->node->first], value, &p->inside);
    RB_GC_GUARD(key);
    return ST_CONTINUE;
}

static void avro_encode_map(encoder *e, const node *node, VALUE hash, const place *at)
{
    pairs p = {e, node, {at, NULL, 0}, 0, Qnil};
    avro_encode_enter(e, at);
    size_t count = RHASH_SIZE(hash);
    if (count) avro_encode_number(e, (int64_t)count);
    rb_hash_foreach(hash, avro_encode_pair, (VALUE)&p);
    if (RB_UNLIKELY(RHASH_SIZE(hash) != count)) rb_raise(guildhall_encode_error(), "Avro: a Hash was changed while it was written");
    if (RB_UNLIKELY(guildhall_keys_may_collide(p.kinds))) avro_encode_check_keys(&p, hash);
    avro_encode_number(e, 0);
    e->depth--;
}

/* Its own keys may be those that were not found. */
static void avro_encode_check_lookup(VALUE hash, const place *at)
{
    if (RTEST(rb_funcall(hash, rb_intern("compare_by_identity?"), 0))) avro_encode_fail(at, "a Hash that compares by identity cannot be written as a record; make another one of it");
}

static void avro_encode_record(encoder *e, const node *node, VALUE hash, const place *at)
{
    const guildhall_avro_program *program = &e->codec->program;
    const uint32_t *operand = program->operands + node->first, *end = operand + 2 * (size_t)node->count;
    size_t found = 0;
    avro_encode_enter(e, at);
    e->cost.unpaid_fields += node->unpaid;
    for (; operand < end; operand += 2) {
        place inside = {at, program->texts[operand[1]].bytes, program->texts[operand[1]].length};
        VALUE given = guildhall_avro_given(e->codec, hash, operand[1]);
        found += given != Qundef;
        avro_encode_value(e, operand[0], given == Qundef ? Qnil : given, &inside); /* nil as the gem has it */
    }
    if (RB_UNLIKELY(found < node->count && found < RHASH_SIZE(hash))) avro_encode_check_lookup(hash, at);
    e->depth--;
}

static void avro_encode_chosen(encoder *e, const node *node, VALUE object, const place *at)
{
    VALUE given = object;
    uint32_t found = guildhall_avro_branch_of(&e->search, node, &object, e->codec->rules.max_nesting - e->depth);
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
    case GUILDHALL_AVRO_STRING: avro_encode_text(e, object, at); break;
    case GUILDHALL_AVRO_FIXED: guildhall_byte_buffer_append_string(&e->bytes, object); break;
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

/* Whether the codec reads what it wrote. */
static void avro_encode_check_limits(const encoder *e, size_t prefix)
{
    const guildhall_avro_rules *rules = &e->codec->rules;
    size_t length = guildhall_byte_buffer_length(&e->bytes);
    if (length > rules->max_bytes) avro_encode_fail(NULL, "longer than max_bytes, that this codec reads");
    if (e->cost.unpaid_fields > guildhall_avro_unpaid_fields(rules, length - prefix)) {
        avro_encode_fail(NULL, guildhall_avro_status_text(GUILDHALL_AVRO_TOO_MANY_UNPAID));
    }
}

VALUE guildhall_avro_encode(const guildhall_avro_codec *codec, VALUE object, VALUE prefix, guildhall_avro_cost *cost)
{
    encoder e;
    guildhall_byte_buffer_init(&e.bytes);
    e.codec = codec;
    e.depth = 0;
    e.cost = (guildhall_avro_cost){0, 0};
    e.search = (guildhall_avro_search){.codec = codec};
    if (!NIL_P(prefix)) guildhall_byte_buffer_append_string(&e.bytes, prefix);
    avro_encode_value(&e, 0, object, NULL);
    avro_encode_check_limits(&e, NIL_P(prefix) ? 0 : (size_t)RSTRING_LEN(prefix));
    if (cost) *cost = e.cost;
    RB_GC_GUARD(object);
    RB_GC_GUARD(prefix);
    return guildhall_byte_buffer_finish(&e.bytes, GUILDHALL_TEXT_BINARY);
}
