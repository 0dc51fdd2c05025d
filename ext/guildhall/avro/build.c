/* Avro bytes → frozen Ruby objects, in one pass, as the program says.
 *
 * Converters of logical types are Ruby code and may switch threads: all that a decode needs lies on its own C stack,
 * and the source is frozen where they run.
 */
#include <ruby.h>
#include <time.h>
#include "codec.h"
#include "document/errors.h"
#include "values/builder.h"

typedef struct {
    guildhall_avro_input input;
    const guildhall_avro_codec *codec;
    const uint8_t *bytes;
    guildhall_builder out;
} builder;

typedef guildhall_avro_place place;
typedef guildhall_avro_status status;

static ID id_decode;

static VALUE avro_build_value(builder *b, uint32_t index, const place *at);

NORETURN(static void avro_build_raise_at(const builder *b, const place *at, const char *reason));
static void avro_build_raise_at(const builder *b, const place *at, const char *reason)
{
    guildhall_path path;
    guildhall_avro_path(at, &path);
    rb_exc_raise(guildhall_decode_error("Avro", reason, (size_t)(b->input.at - b->bytes), &path, b->bytes,
                                        (size_t)(b->input.end - b->bytes)));
}

NORETURN(static void avro_build_fail(const builder *b, const place *at, status status));
static void avro_build_fail(const builder *b, const place *at, status status)
{
    avro_build_raise_at(b, at, guildhall_avro_status_text(status));
}

static inline void avro_build_check(const builder *b, const place *at, status status)
{
    if (RB_UNLIKELY(status != GUILDHALL_AVRO_VALID)) avro_build_fail(b, at, status);
}

static VALUE avro_build_string(builder *b, const place *at)
{
    const uint8_t *bytes;
    size_t length;
    avro_build_check(b, at, guildhall_avro_span(&b->input, &bytes, &length));
    VALUE text = guildhall_builder_text(&b->out, bytes, length, b->codec->rules.allow_invalid_utf8);
    if (RB_UNLIKELY(text == Qundef)) avro_build_fail(b, at, GUILDHALL_AVRO_INVALID_UTF8);
    return text;
}

static VALUE avro_build_bytes(builder *b, const place *at)
{
    const uint8_t *bytes;
    size_t length;
    avro_build_check(b, at, guildhall_avro_span(&b->input, &bytes, &length));
    return guildhall_string_new(bytes, length, GUILDHALL_TEXT_BINARY);
}

static VALUE avro_build_fixed(builder *b, const guildhall_avro_node *node, const place *at)
{
    const uint8_t *bytes;
    avro_build_check(b, at, guildhall_avro_take(&b->input, node->count, &bytes));
    return guildhall_string_new(bytes, node->count, GUILDHALL_TEXT_BINARY);
}

static int64_t avro_build_number(builder *b, int is_int, const place *at)
{
    int64_t number;
    avro_build_check(b, at, is_int ? guildhall_avro_int(&b->input, &number) : guildhall_avro_number(&b->input, &number));
    return number;
}

static VALUE avro_build_real(builder *b, int is_float, const place *at)
{
    double number;
    avro_build_check(b, at, is_float ? guildhall_avro_float(&b->input, &number) : guildhall_avro_double(&b->input, &number));
    return guildhall_float_new(number);
}

static VALUE avro_build_boolean(builder *b, const place *at)
{
    const uint8_t *byte;
    avro_build_check(b, at, guildhall_avro_take(&b->input, 1, &byte));
    return *byte == 1 ? Qtrue : Qfalse;
}

static VALUE avro_build_enum_symbol(builder *b, const guildhall_avro_node *node, const place *at)
{
    const uint8_t *head = b->input.at;
    int64_t index = avro_build_number(b, 1, at);
    status status = GUILDHALL_AVRO_BAD_SYMBOL;
    if (index >= 0 && index < node->count) {
        uint32_t constant = b->codec->program.operands[node->first + (uint32_t)index];
        if (RB_LIKELY(constant != GUILDHALL_AVRO_SKIPPED)) return b->codec->constants[constant];
        status = GUILDHALL_AVRO_UNKNOWN_SYMBOL;
    }
    b->input.at = head;
    avro_build_fail(b, at, status);
}

static VALUE avro_build_chosen(builder *b, const guildhall_avro_node *node, const place *at)
{
    const uint8_t *head = b->input.at;
    int64_t index = avro_build_number(b, 0, at);
    if (RB_UNLIKELY(index < 0 || index >= node->count)) {
        b->input.at = head;
        avro_build_fail(b, at, GUILDHALL_AVRO_BAD_BRANCH);
    }
    uint32_t branch = b->codec->program.operands[node->first + (uint32_t)index];
    VALUE made = avro_build_value(b, branch, at);
    return RB_LIKELY(!b->codec->tagged) ? made : guildhall_avro_tagged(b->codec, branch, made);
}

static void avro_build_enter(builder *b, const place *at)
{
    if (RB_UNLIKELY(!guildhall_builder_open(&b->out, b->codec->rules.max_nesting))) avro_build_fail(b, at, GUILDHALL_AVRO_TOO_DEEP);
}

static VALUE avro_build_map_key(builder *b, place *inside)
{
    const uint8_t *bytes;
    size_t length;
    avro_build_check(b, inside->up, guildhall_avro_span(&b->input, &bytes, &length));
    inside->text = (const char *)bytes;
    inside->index = length;
    VALUE key = guildhall_builder_key(&b->out, bytes, length, b->codec->rules.allow_invalid_utf8, 0);
    if (RB_UNLIKELY(key == Qundef)) avro_build_fail(b, inside->up, GUILDHALL_AVRO_INVALID_UTF8);
    return key;
}

static inline VALUE avro_build_items(builder *b, const guildhall_avro_node *node, int map, const place *at)
{
    uint32_t item = b->codec->program.operands[node->first];
    size_t base = b->out.stack.count;
    place inside = {at, NULL, 0};
    uint64_t count;
    avro_build_enter(b, at);
    for (;;) {
        avro_build_check(b, at, guildhall_avro_block(&b->input, &b->codec->program.nodes[item], map, &count));
        if (!count) break;
        for (; count; count--) {
            if (map) guildhall_builder_push(&b->out, avro_build_map_key(b, &inside));
            guildhall_builder_push(&b->out, avro_build_value(b, item, &inside));
            if (!map) inside.index++;
        }
    }
    return guildhall_builder_close(&b->out, base, map);
}

static VALUE avro_build_array(builder *b, const guildhall_avro_node *node, const place *at) { return avro_build_items(b, node, 0, at); }
static VALUE avro_build_map(builder *b, const guildhall_avro_node *node, const place *at) { return avro_build_items(b, node, 1, at); }

static VALUE avro_build_record(builder *b, const guildhall_avro_node *node, const place *at)
{
    const guildhall_avro_program *program = &b->codec->program;
    const uint32_t *operand = program->operands + node->first, *fields_end = operand + 2 * (size_t)node->count;
    size_t base = b->out.stack.count;
    avro_build_enter(b, at);
    avro_build_check(b, at, guildhall_avro_pay_for(&b->input, node));
    for (; operand < fields_end; operand += 2) {
        if (RB_UNLIKELY(operand[1] == GUILDHALL_AVRO_SKIPPED)) {
            avro_build_check(b, at, guildhall_avro_skip(&b->input, program, operand[0], b->codec->rules.max_nesting - b->out.depth));
            continue;
        }
        place inside = {at, program->texts[operand[1]].bytes, program->texts[operand[1]].length};
        guildhall_builder_push(&b->out, b->codec->constants[operand[1]]);
        guildhall_builder_push(&b->out, avro_build_value(b, operand[0], &inside));
    }
    for (; b->out.stack.count - base < 2 * (size_t)node->kept; operand += 2) {
        guildhall_builder_push(&b->out, b->codec->constants[operand[0]]);
        guildhall_builder_push(&b->out, b->codec->constants[operand[1]]);
    }
    return guildhall_builder_close(&b->out, base, 1);
}

VALUE guildhall_avro_key(const uint8_t *bytes, size_t length)
{
    uint32_t hint = 0;
    return guildhall_key_cached(&guildhall_caches_current()->keys, &hint, bytes, length, GUILDHALL_TEXT_UNCHECKED, 0);
}

#define NEAR (FIXNUM_MAX / 1000000000) /* seconds: the years 1824 to 2116 */

/* Times that are farther away hold a big Integer of nanoseconds, which has to be made shareable with them. */
VALUE guildhall_avro_time(guildhall_avro_meaning meaning, int64_t number)
{
    int64_t units = guildhall_avro_units(meaning);
    int64_t seconds = number / units, rest = number % units;
    if (rest < 0) {
        rest += units;
        seconds--;
    }
    struct timespec spec = {(time_t)seconds, (long)(rest * (1000000000 / units))};
    VALUE time = rb_time_timespec_new(&spec, INT_MAX - 1); /* in UTC */
    if (RB_UNLIKELY(seconds >= NEAR || seconds <= -NEAR)) return rb_ractor_make_shareable(rb_obj_freeze(time));
    return guildhall_share(time);
}

static inline __attribute__((always_inline)) VALUE plain(builder *b, const guildhall_avro_node *node, const place *at)
{
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: return Qnil;
    case GUILDHALL_AVRO_BOOLEAN: return avro_build_boolean(b, at);
    case GUILDHALL_AVRO_INT: return guildhall_integer_new(avro_build_number(b, 1, at));
    case GUILDHALL_AVRO_LONG: return guildhall_integer_new(avro_build_number(b, 0, at));
    case GUILDHALL_AVRO_FLOAT: return avro_build_real(b, 1, at);
    case GUILDHALL_AVRO_DOUBLE: return avro_build_real(b, 0, at);
    case GUILDHALL_AVRO_BYTES: return avro_build_bytes(b, at);
    case GUILDHALL_AVRO_STRING: return avro_build_string(b, at);
    case GUILDHALL_AVRO_FIXED: return avro_build_fixed(b, node, at);
    case GUILDHALL_AVRO_ENUM: return avro_build_enum_symbol(b, node, at);
    case GUILDHALL_AVRO_ARRAY: return avro_build_array(b, node, at);
    case GUILDHALL_AVRO_MAP: return avro_build_map(b, node, at);
    case GUILDHALL_AVRO_UNION: return avro_build_chosen(b, node, at);
    case GUILDHALL_AVRO_RECORD: return avro_build_record(b, node, at);
    case GUILDHALL_AVRO_INT_AS_REAL: return guildhall_float_new((double)avro_build_number(b, 1, at));
    case GUILDHALL_AVRO_LONG_AS_REAL: return guildhall_float_new((double)avro_build_number(b, 0, at));
    case GUILDHALL_AVRO_MISMATCH: break;
    }
    avro_build_raise_at(b, at, b->codec->program.texts[node->kept].bytes);
}

/* Valid bytes need not be a value of the logical type (a time of day beyond 24 hours): the caller gets the value of the plain type. */
static VALUE avro_build_converted(const builder *b, const guildhall_avro_node *node, VALUE raw)
{
    VALUE made = rb_funcall(b->codec->constants[node->kept], id_decode, 1, raw);
    return RB_UNLIKELY(NIL_P(made)) ? raw : rb_ractor_make_shareable(made);
}

static VALUE avro_build_value(builder *b, uint32_t index, const place *at)
{
    const guildhall_avro_node *node = &b->codec->program.nodes[index];
    if (RB_LIKELY(node->meaning == GUILDHALL_AVRO_PLAIN)) return plain(b, node, at);
    if (node->meaning == GUILDHALL_AVRO_CONVERTED) return avro_build_converted(b, node, plain(b, node, at));
    return guildhall_avro_time(node->meaning, avro_build_number(b, node->type == GUILDHALL_AVRO_INT, at));
}

static void avro_build_begin(builder *b, const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from, size_t length)
{
    b->bytes = bytes;
    b->input = guildhall_avro_input_of(bytes, from, length, &codec->rules);
    b->codec = codec;
    guildhall_builder_init(&b->out);
    if (RB_UNLIKELY(length > codec->rules.max_bytes)) avro_build_fail(b, NULL, GUILDHALL_AVRO_TOO_LONG);
}

static void avro_build_begin_with(builder *b, const guildhall_avro_codec *codec, VALUE source, size_t from)
{
    size_t length = (size_t)RSTRING_LEN(source);
    avro_build_begin(b, codec, (const uint8_t *)RSTRING_PTR(source), from < length ? from : length, length);
}

static void avro_build_finish(builder *b)
{
    if (RB_UNLIKELY(b->input.at != b->input.end)) avro_build_fail(b, NULL, GUILDHALL_AVRO_AFTER_END);
    guildhall_value_stack_release(&b->out.stack);
}

VALUE guildhall_avro_decode(const guildhall_avro_codec *codec, VALUE source, size_t from)
{
    builder b;
    source = rb_str_new_frozen(source);
    avro_build_begin_with(&b, codec, source, from);
    VALUE made = avro_build_value(&b, 0, NULL);
    avro_build_finish(&b);
    RB_GC_GUARD(source);
    return made;
}

VALUE guildhall_avro_decode_at(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t length, size_t from,
                               uint32_t node)
{
    builder b;
    avro_build_begin(&b, codec, bytes, from, length);
    b.input = guildhall_avro_input_again(bytes, from, length);
    VALUE made = avro_build_value(&b, node, NULL);
    guildhall_value_stack_release(&b.out.stack);
    return made;
}

typedef struct {
    const guildhall_avro_codec *codec;
    const uint8_t *bytes;
    size_t from, length;
} attempt;

static VALUE avro_build_decode_again(VALUE pointer)
{
    const attempt *a = (const attempt *)pointer;
    builder b;
    avro_build_begin(&b, a->codec, a->bytes, a->from, a->length);
    avro_build_value(&b, 0, NULL);
    avro_build_finish(&b);
    return Qnil;
}

/* Decodes once more, which finds the same error and the path to it. */
VALUE guildhall_avro_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length)
{
    if (outcome.status == GUILDHALL_AVRO_NO_MEMORY) return guildhall_no_memory(); /* nothing is wrong with the payload */
    attempt a = {codec, bytes, from, length};
    int state = 0;
    rb_protect(avro_build_decode_again, (VALUE)&a, &state);
    VALUE error = rb_errinfo();
    if (state && !rb_obj_is_kind_of(error, rb_eStandardError)) rb_jump_tag(state);
    rb_set_errinfo(Qnil);
    if (state) return error;
    guildhall_path path;
    guildhall_path_init(&path);
    return guildhall_decode_error("Avro", guildhall_avro_status_text(outcome.status), outcome.error_offset, &path, bytes, length);
}

VALUE guildhall_avro_decode_many(const guildhall_avro_codec *codec, VALUE source, uint64_t count)
{
    builder b;
    VALUE values = rb_ary_new();
    source = rb_str_new_frozen(source);
    avro_build_begin_with(&b, codec, source, 0);
    avro_build_check(&b, NULL, guildhall_avro_afford(&b.input, codec->program.nodes, 0, count));
    for (place at = {NULL, NULL, 0}; at.index < count; at.index++) rb_ary_push(values, avro_build_value(&b, 0, &at));
    avro_build_finish(&b);
    RB_GC_GUARD(source);
    return values;
}

void guildhall_init_avro_build(void)
{
    id_decode = rb_intern("decode");
}
