/* Avro bytes → frozen Ruby objects, in one pass, as the program says.
 *
 * Converters of logical types are Ruby code and may switch threads: all that a decode needs lies on its own C stack,
 * and the source is frozen where they run.
 */
#include <ruby.h>
#include <time.h>
#include "../ascii.h"
#include "../decode_error.h"
#include "../stack_check.h"
#include "../utf8.h"
#include "../value_stack.h"
#include "../values.h"
#include "avro_codec.h"

typedef struct {
    guildhall_avro_input input;
    const guildhall_avro_codec *codec;
    guildhall_keys *keys;
    guildhall_repeats *repeats;
    uint32_t hint, depth;
    const uint8_t *bytes;
    guildhall_value_stack stack;
} builder;

typedef guildhall_avro_place place;
typedef guildhall_avro_status status;

static ID id_decode;

static VALUE value(builder *b, uint32_t index, const place *at);

NORETURN(static void raise_at(const builder *b, const place *at, const char *reason));
static void raise_at(const builder *b, const place *at, const char *reason)
{
    guildhall_path path;
    guildhall_avro_path(at, &path);
    rb_exc_raise(guildhall_decode_error("Avro", reason, (size_t)(b->input.at - b->bytes), &path, b->bytes,
                                        (size_t)(b->input.end - b->bytes)));
}

NORETURN(static void fail(const builder *b, const place *at, status status));
static void fail(const builder *b, const place *at, status status)
{
    raise_at(b, at, guildhall_avro_status_text(status));
}

static inline void check(const builder *b, const place *at, status status)
{
    if (RB_UNLIKELY(status != GUILDHALL_AVRO_VALID)) fail(b, at, status);
}

static VALUE string(builder *b, const place *at)
{
    const uint8_t *bytes;
    size_t length;
    check(b, at, guildhall_avro_span(&b->input, &bytes, &length));
    if (RB_LIKELY(guildhall_ascii(bytes, length))) {
        return guildhall_string_repeated(b->repeats, bytes, length, GUILDHALL_TEXT_ASCII);
    }
    if (b->codec->rules.allow_invalid_utf8) return guildhall_string_new(bytes, length, GUILDHALL_TEXT_UNCHECKED);
    if (guildhall_utf8_classify(bytes, length) == GUILDHALL_UTF8_INVALID) fail(b, at, GUILDHALL_AVRO_INVALID_UTF8);
    return guildhall_string_new(bytes, length, GUILDHALL_TEXT_UTF8);
}

static VALUE bytes(builder *b, const place *at)
{
    const uint8_t *bytes;
    size_t length;
    check(b, at, guildhall_avro_span(&b->input, &bytes, &length));
    return guildhall_string_new(bytes, length, GUILDHALL_TEXT_BINARY);
}

static VALUE fixed(builder *b, const guildhall_avro_node *node, const place *at)
{
    const uint8_t *bytes;
    check(b, at, guildhall_avro_take(&b->input, node->count, &bytes));
    return guildhall_string_new(bytes, node->count, GUILDHALL_TEXT_BINARY);
}

static int64_t number(builder *b, int is_int, const place *at)
{
    int64_t number;
    check(b, at, is_int ? guildhall_avro_int(&b->input, &number) : guildhall_avro_number(&b->input, &number));
    return number;
}

static VALUE real(builder *b, int is_float, const place *at)
{
    double number;
    check(b, at, is_float ? guildhall_avro_float(&b->input, &number) : guildhall_avro_double(&b->input, &number));
    return guildhall_float_new(number);
}

static VALUE boolean(builder *b, const place *at)
{
    const uint8_t *byte;
    check(b, at, guildhall_avro_take(&b->input, 1, &byte));
    return *byte == 1 ? Qtrue : Qfalse;
}

static VALUE enum_symbol(builder *b, const guildhall_avro_node *node, const place *at)
{
    const uint8_t *head = b->input.at;
    int64_t index = number(b, 1, at);
    status status = GUILDHALL_AVRO_BAD_SYMBOL;
    if (index >= 0 && index < node->count) {
        uint32_t constant = b->codec->program.operands[node->first + (uint32_t)index];
        if (RB_LIKELY(constant != GUILDHALL_AVRO_SKIPPED)) return b->codec->constants[constant];
        status = GUILDHALL_AVRO_UNKNOWN_SYMBOL;
    }
    b->input.at = head;
    fail(b, at, status);
}

static VALUE chosen(builder *b, const guildhall_avro_node *node, const place *at)
{
    const uint8_t *head = b->input.at;
    int64_t index = number(b, 0, at);
    if (RB_UNLIKELY(index < 0 || index >= node->count)) {
        b->input.at = head;
        fail(b, at, GUILDHALL_AVRO_BAD_BRANCH);
    }
    return value(b, b->codec->program.operands[node->first + (uint32_t)index], at);
}

static void enter(builder *b, const place *at)
{
    if (RB_UNLIKELY(++b->depth > b->codec->rules.max_nesting)) fail(b, at, GUILDHALL_AVRO_TOO_DEEP);
    guildhall_check_stack(b->depth);
}

static VALUE array(builder *b, const guildhall_avro_node *node, const place *at)
{
    uint32_t item = b->codec->program.operands[node->first], minimum = b->codec->program.nodes[item].minimum;
    size_t base = b->stack.count;
    place inside = {at, NULL, 0};
    uint64_t count;
    enter(b, at);
    for (;;) {
        check(b, at, guildhall_avro_block(&b->input, minimum, &count));
        if (!count) break;
        for (; count; count--, inside.index++) guildhall_value_stack_push(&b->stack, value(b, item, &inside));
    }
    VALUE made = guildhall_array_repeated(b->repeats, (long)(b->stack.count - base), b->stack.values + base);
    b->stack.count = base;
    b->depth--;
    return made;
}

static VALUE map_key(builder *b, place *inside)
{
    const uint8_t *bytes;
    size_t length;
    check(b, inside->up, guildhall_avro_span(&b->input, &bytes, &length));
    inside->text = (const char *)bytes;
    inside->index = length;
    if (RB_UNLIKELY(!b->codec->rules.allow_invalid_utf8) &&
        guildhall_utf8_classify(bytes, length) == GUILDHALL_UTF8_INVALID) fail(b, inside->up, GUILDHALL_AVRO_INVALID_UTF8);
    return guildhall_key_string(b->keys, &b->hint, bytes, length, GUILDHALL_TEXT_UNCHECKED);
}

static VALUE map(builder *b, const guildhall_avro_node *node, const place *at)
{
    uint32_t item = b->codec->program.operands[node->first], minimum = b->codec->program.nodes[item].minimum + 1;
    size_t base = b->stack.count;
    place inside = {at, NULL, 0};
    uint64_t count;
    enter(b, at);
    for (;;) {
        check(b, at, guildhall_avro_block(&b->input, minimum, &count));
        if (!count) break;
        for (; count; count--) {
            guildhall_value_stack_push(&b->stack, map_key(b, &inside));
            guildhall_value_stack_push(&b->stack, value(b, item, &inside));
        }
    }
    VALUE made = guildhall_hash_repeated(b->repeats, (long)(b->stack.count - base) / 2, b->stack.values + base);
    b->stack.count = base;
    b->depth--;
    return made;
}

static VALUE record(builder *b, const guildhall_avro_node *node, const place *at)
{
    const guildhall_avro_program *program = &b->codec->program;
    const uint32_t *operand = program->operands + node->first, *fields_end = operand + 2 * (size_t)node->count;
    size_t base = b->stack.count;
    enter(b, at);
    for (; operand < fields_end; operand += 2) {
        if (RB_UNLIKELY(operand[1] == GUILDHALL_AVRO_SKIPPED)) {
            check(b, at, guildhall_avro_skip(&b->input, program, operand[0], b->codec->rules.max_nesting - b->depth));
            continue;
        }
        place inside = {at, program->texts[operand[1]].bytes, program->texts[operand[1]].length};
        guildhall_value_stack_push(&b->stack, b->codec->constants[operand[1]]);
        guildhall_value_stack_push(&b->stack, value(b, operand[0], &inside));
    }
    for (; b->stack.count - base < 2 * (size_t)node->kept; operand += 2) {
        guildhall_value_stack_push(&b->stack, b->codec->constants[operand[0]]);
        guildhall_value_stack_push(&b->stack, b->codec->constants[operand[1]]);
    }
    VALUE made = guildhall_hash_repeated(b->repeats, node->kept, b->stack.values + base);
    b->stack.count = base;
    b->depth--;
    return made;
}

VALUE guildhall_avro_key(const uint8_t *bytes, size_t length)
{
    uint32_t hint = 0;
    return guildhall_key_string(guildhall_keys_current(), &hint, bytes, length, GUILDHALL_TEXT_UNCHECKED);
}

#define NEAR (FIXNUM_MAX / 1000000000) /* seconds: the years 1824 to 2116 */

/* Times that are farther away hold a big Integer of nanoseconds, which has to be made shareable with them. */
VALUE guildhall_avro_time(guildhall_avro_meaning meaning, int64_t number)
{
    int64_t units = meaning == GUILDHALL_AVRO_MILLIS ? 1000 : meaning == GUILDHALL_AVRO_MICROS ? 1000000 : 1000000000;
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
    case GUILDHALL_AVRO_BOOLEAN: return boolean(b, at);
    case GUILDHALL_AVRO_INT: return guildhall_integer_new(number(b, 1, at));
    case GUILDHALL_AVRO_LONG: return guildhall_integer_new(number(b, 0, at));
    case GUILDHALL_AVRO_FLOAT: return real(b, 1, at);
    case GUILDHALL_AVRO_DOUBLE: return real(b, 0, at);
    case GUILDHALL_AVRO_BYTES: return bytes(b, at);
    case GUILDHALL_AVRO_STRING: return string(b, at);
    case GUILDHALL_AVRO_FIXED: return fixed(b, node, at);
    case GUILDHALL_AVRO_ENUM: return enum_symbol(b, node, at);
    case GUILDHALL_AVRO_ARRAY: return array(b, node, at);
    case GUILDHALL_AVRO_MAP: return map(b, node, at);
    case GUILDHALL_AVRO_UNION: return chosen(b, node, at);
    case GUILDHALL_AVRO_RECORD: return record(b, node, at);
    case GUILDHALL_AVRO_INT_AS_REAL: return guildhall_float_new((double)number(b, 1, at));
    case GUILDHALL_AVRO_LONG_AS_REAL: return guildhall_float_new((double)number(b, 0, at));
    case GUILDHALL_AVRO_MISMATCH: break;
    }
    raise_at(b, at, b->codec->program.texts[node->kept].bytes);
}

typedef struct {
    VALUE converter, raw;
} conversion;

static VALUE convert(VALUE pointer)
{
    conversion *c = (conversion *)pointer;
    return rb_ractor_make_shareable(rb_funcall(c->converter, id_decode, 1, c->raw));
}

static VALUE refuse(VALUE pointer, VALUE error) { return Qundef; }

/* Bytes can be of the right length and yet be no value of the logical type. */
static VALUE converted(builder *b, const guildhall_avro_node *node, VALUE raw, const uint8_t *head, const place *at)
{
    conversion c = {b->codec->constants[node->kept], raw};
    VALUE made = rb_rescue2(convert, (VALUE)&c, refuse, 0, rb_eArgError, rb_eRangeError, (VALUE)0);
    if (made != Qundef) return made;
    b->input.at = head;
    fail(b, at, GUILDHALL_AVRO_BAD_VALUE);
}

static VALUE value(builder *b, uint32_t index, const place *at)
{
    const guildhall_avro_node *node = &b->codec->program.nodes[index];
    if (RB_LIKELY(node->meaning == GUILDHALL_AVRO_PLAIN)) return plain(b, node, at);
    const uint8_t *head = b->input.at;
    if (node->meaning == GUILDHALL_AVRO_CONVERTED) return converted(b, node, plain(b, node, at), head, at);
    return guildhall_avro_time(node->meaning, number(b, 0, at));
}

static void begin(builder *b, const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from, size_t length)
{
    b->bytes = bytes;
    b->input = (guildhall_avro_input){bytes + from, bytes + length, codec->rules.max_empty_items};
    b->codec = codec;
    b->keys = guildhall_keys_current();
    b->repeats = guildhall_repeats_current();
    b->hint = 0;
    b->depth = 0;
    guildhall_value_stack_init(&b->stack);
    if (RB_UNLIKELY(length > codec->rules.max_bytes)) fail(b, NULL, GUILDHALL_AVRO_TOO_LONG);
}

static void begin_with(builder *b, const guildhall_avro_codec *codec, VALUE source, size_t from)
{
    size_t length = (size_t)RSTRING_LEN(source);
    begin(b, codec, (const uint8_t *)RSTRING_PTR(source), from < length ? from : length, length);
}

static void finish(builder *b)
{
    if (RB_UNLIKELY(b->input.at != b->input.end)) fail(b, NULL, GUILDHALL_AVRO_AFTER_END);
    guildhall_value_stack_release(&b->stack);
}

VALUE guildhall_avro_decode(const guildhall_avro_codec *codec, VALUE source, size_t from)
{
    builder b;
    source = rb_str_new_frozen(source);
    begin_with(&b, codec, source, from);
    VALUE made = value(&b, 0, NULL);
    finish(&b);
    RB_GC_GUARD(source);
    return made;
}

VALUE guildhall_avro_decode_at(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t length, size_t from,
                               uint32_t node)
{
    builder b;
    begin(&b, codec, bytes, from, length);
    VALUE made = value(&b, node, NULL);
    guildhall_value_stack_release(&b.stack);
    return made;
}

typedef struct {
    const guildhall_avro_codec *codec;
    const uint8_t *bytes;
    size_t from, length;
} attempt;

static VALUE decode_again(VALUE pointer)
{
    const attempt *a = (const attempt *)pointer;
    builder b;
    begin(&b, a->codec, a->bytes, a->from, a->length);
    value(&b, 0, NULL);
    finish(&b);
    return Qnil;
}

/* Decodes once more, which finds the same fault and the path to it. */
VALUE guildhall_avro_error(const guildhall_avro_codec *codec, guildhall_avro_outcome outcome, const uint8_t *bytes,
                           size_t from, size_t length)
{
    if (outcome.status == GUILDHALL_AVRO_NO_MEMORY) return guildhall_no_memory(); /* nothing is wrong with the payload */
    attempt a = {codec, bytes, from, length};
    int state = 0;
    rb_protect(decode_again, (VALUE)&a, &state);
    VALUE error = rb_errinfo();
    if (state && !rb_obj_is_kind_of(error, rb_eStandardError)) rb_jump_tag(state);
    rb_set_errinfo(Qnil);
    if (state) return error;
    guildhall_path path;
    guildhall_path_init(&path);
    return guildhall_decode_error("Avro", guildhall_avro_status_text(outcome.status), outcome.fault, &path, bytes, length);
}

VALUE guildhall_avro_decode_many(const guildhall_avro_codec *codec, VALUE source, uint64_t count)
{
    builder b;
    VALUE values = rb_ary_new();
    source = rb_str_new_frozen(source);
    begin_with(&b, codec, source, 0);
    uint32_t minimum = codec->program.nodes[0].minimum;
    if (minimum ? count > guildhall_avro_left(&b.input) / minimum : count > b.input.empty_left) {
        fail(&b, NULL, GUILDHALL_AVRO_BAD_COUNT);
    }
    for (place at = {NULL, NULL, 0}; at.index < count; at.index++) rb_ary_push(values, value(&b, 0, &at));
    finish(&b);
    RB_GC_GUARD(source);
    return values;
}

void guildhall_init_avro_build(void)
{
    id_decode = rb_intern("decode");
}
