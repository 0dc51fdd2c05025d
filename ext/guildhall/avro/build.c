/* Avro bytes → frozen Ruby objects, in one pass, as the program says: each value found is pushed on a stack, from which its container
 * takes it.
 *
 * Converters of logical types are Ruby code and may switch threads: all that a decode needs lies on its own C stack,
 * and the source is frozen where they run.
 */
#include <ruby.h>
#include <time.h>
#include "codec.h"
#include "memory/stack_check.h"
#include "values/builder.h"

typedef guildhall_avro_status status;
typedef guildhall_avro_node node;

typedef struct {
    guildhall_avro_input input;
    const guildhall_avro_program *program;
    uint32_t depth_left;
    const guildhall_avro_codec *codec;
    const uint8_t *bytes;
    guildhall_builder out;
    const char *mismatch; /* why the reader's schema has no place for what was found; NULL: it has */
    size_t steps;         /* at an error: of the path to it, on the stack, the innermost first */
} traversal;

typedef struct {
    uint64_t items;
    size_t base; /* where its values begin on the stack */
} container;

static ID id_decode;

#define AVRO(name) avro_build_##name

static inline status avro_build_push_text(traversal *t, VALUE made)
{
    return RB_UNLIKELY(made == Qundef) ? GUILDHALL_AVRO_INVALID_UTF8 : guildhall_builder_push(&t->out, made);
}

static inline status avro_build_null(traversal *t) { return guildhall_builder_push(&t->out, Qnil); }
static inline status avro_build_boolean(traversal *t, int value) { return guildhall_builder_push(&t->out, value ? Qtrue : Qfalse); }
static inline status avro_build_real(traversal *t, double number) { return guildhall_builder_push(&t->out, guildhall_float_new(number)); }
static inline status avro_build_symbol(traversal *t, uint32_t constant)
{
    return guildhall_builder_push(&t->out, t->codec->constants[constant]);
}
static inline status avro_build_field(traversal *t, uint32_t name) { return guildhall_builder_push(&t->out, t->codec->constants[name]); }

static inline status avro_build_integer(traversal *t, const node *node, int64_t number)
{
    int plain = node->meaning <= GUILDHALL_AVRO_CONVERTED;
    return guildhall_builder_push(&t->out, RB_LIKELY(plain) ? guildhall_integer_new(number) : guildhall_avro_time(node->meaning, number));
}

static inline status avro_build_text(traversal *t, const uint8_t *bytes, size_t length)
{
    return avro_build_push_text(t, guildhall_builder_text(&t->out, bytes, length, t->codec->rules.allow_invalid_utf8));
}

static inline status avro_build_key(traversal *t, const uint8_t *bytes, size_t length)
{
    return avro_build_push_text(t, guildhall_builder_key(&t->out, bytes, length, t->codec->rules.allow_invalid_utf8, 0));
}

static inline status avro_build_binary(traversal *t, const uint8_t *bytes, size_t length)
{
    return guildhall_builder_push(&t->out, guildhall_string_new(bytes, length, GUILDHALL_TEXT_BINARY));
}

static inline status avro_build_chosen(traversal *t, uint32_t branch)
{
    VALUE *made = &t->out.stack.values[t->out.stack.count - 1];
    if (RB_UNLIKELY(t->codec->tagged)) *made = guildhall_avro_tagged(t->codec, branch, *made);
    return GUILDHALL_AVRO_VALID;
}

static status avro_build_mismatch(traversal *t, const node *node)
{
    t->mismatch = t->program->texts[node->kept].bytes;
    return GUILDHALL_AVRO_NO_MATCH;
}

static inline void avro_build_begin(traversal *t, container *c)
{
    guildhall_check_stack(t->depth_left);
    c->base = t->out.stack.count;
}

#define avro_build_block(t, c) GUILDHALL_AVRO_VALID
#define avro_build_item(t, c, left) GUILDHALL_AVRO_VALID
#define avro_build_jump(t) GUILDHALL_AVRO_VALID

static inline status avro_build_end(traversal *t, const container *c, int map)
{
    return guildhall_builder_push(&t->out, guildhall_builder_close(&t->out, c->base, map));
}

/* With what the fields have that were not written. */
static inline status avro_build_end_record(traversal *t, const container *c, const node *node)
{
    const uint32_t *operand = t->program->operands + node->first + 2 * (size_t)node->count;
    for (; t->out.stack.count - c->base < 2 * (size_t)node->kept; operand += 2) {
        guildhall_builder_push(&t->out, t->codec->constants[operand[0]]);
        guildhall_builder_push(&t->out, t->codec->constants[operand[1]]);
    }
    return avro_build_end(t, c, 1);
}

static status avro_build_left_out(traversal *t, uint32_t index, int past)
{
    return guildhall_avro_leave_out(&t->input, t->program, index, t->depth_left);
}

static status avro_build_failed_at(traversal *t, VALUE step, status status)
{
    t->steps++;
    guildhall_builder_push(&t->out, step);
    return status;
}

#define avro_build_failed_field(t, name, status) avro_build_failed_at(t, (t)->codec->constants[name], status)

static status avro_build_failed_item(traversal *t, const container *c, int map, status status)
{
    return avro_build_failed_at(t, map ? t->out.stack.values[c->base + 2 * c->items] : ULL2NUM(c->items), status);
}

#include "traverse.inc.c"

/* Valid bytes need not be a value of the logical type (a time of day beyond 24 hours): the caller gets the value of the plain type. */
static status avro_build_converted(const traversal *t, const node *node)
{
    VALUE *value = &t->out.stack.values[t->out.stack.count - 1], made = rb_funcall(t->codec->constants[node->kept], id_decode, 1, *value);
    if (RB_LIKELY(!NIL_P(made))) *value = rb_ractor_make_shareable(made);
    return GUILDHALL_AVRO_VALID;
}

static status avro_build_inside(traversal *t, uint32_t index, purpose why)
{
    const node *node = &t->program->nodes[index];
    CHECK(avro_build_value(t, node, FIND));
    return RB_LIKELY(node->meaning != GUILDHALL_AVRO_CONVERTED) ? GUILDHALL_AVRO_VALID : avro_build_converted(t, node);
}

/* The exception, not raised. */
static VALUE avro_build_error(const traversal *t, status status)
{
    guildhall_path path;
    guildhall_path_init(&path);
    for (const VALUE *step = t->out.stack.values + t->out.stack.count - 1, *end = step - t->steps; step > end; step--) {
        VALUE name = RB_SYMBOL_P(*step) ? rb_sym2str(*step) : *step;
        if (RB_INTEGER_TYPE_P(name)) guildhall_path_index(&path, NUM2LL(name));
        else guildhall_path_key(&path, (const uint8_t *)RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    }
    const char *reason = t->mismatch ? t->mismatch : guildhall_avro_status_text(status);
    size_t offset = (size_t)(t->input.at - t->bytes), length = (size_t)(t->input.end - t->bytes);
    return guildhall_decode_error("Avro", reason, offset, &path, t->bytes, length);
}

static inline void avro_build_check(const traversal *t, status status)
{
    if (RB_UNLIKELY(status != GUILDHALL_AVRO_VALID)) rb_exc_raise(avro_build_error(t, status));
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

static status avro_build_start(traversal *t, const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from, size_t length)
{
    t->bytes = bytes;
    t->input = guildhall_avro_input_of(bytes, from, length, &codec->rules);
    t->codec = codec;
    t->program = &codec->program;
    t->depth_left = codec->rules.max_nesting;
    t->mismatch = NULL;
    t->steps = 0;
    guildhall_builder_init(&t->out);
    return length > codec->rules.max_bytes ? GUILDHALL_AVRO_TOO_LONG : GUILDHALL_AVRO_VALID;
}

static inline status avro_build_end_of_payload(const traversal *t)
{
    return t->input.at != t->input.end ? GUILDHALL_AVRO_AFTER_END : GUILDHALL_AVRO_VALID;
}

static inline VALUE avro_build_pop(traversal *t) { return t->out.stack.values[--t->out.stack.count]; }

/* One value, after which nothing comes. */
static status avro_build_payload(traversal *t, const guildhall_avro_codec *codec, const uint8_t *bytes, size_t from, size_t length)
{
    CHECK(avro_build_start(t, codec, bytes, from, length));
    CHECK(avro_build_inside(t, 0, FIND));
    return avro_build_end_of_payload(t);
}

VALUE guildhall_avro_decode(const guildhall_avro_codec *codec, VALUE source, size_t from)
{
    traversal t;
    source = rb_str_new_frozen(source);
    size_t length = (size_t)RSTRING_LEN(source);
    avro_build_check(&t, avro_build_payload(&t, codec, (const uint8_t *)RSTRING_PTR(source), from < length ? from : length, length));
    VALUE made = avro_build_pop(&t);
    guildhall_value_stack_release(&t.out.stack);
    RB_GC_GUARD(source);
    return made;
}

VALUE guildhall_avro_decode_at(const guildhall_avro_codec *codec, const uint8_t *bytes, size_t length, size_t from, uint32_t node)
{
    traversal t;
    avro_build_start(&t, codec, bytes, from, length);
    t.input = guildhall_avro_input_again(bytes, from, length);
    avro_build_check(&t, avro_build_inside(&t, node, FIND));
    VALUE made = avro_build_pop(&t);
    guildhall_value_stack_release(&t.out.stack);
    return made;
}

/* Decodes once more, which finds the same error and the path to it. */
VALUE guildhall_avro_error(const void *codec, guildhall_outcome outcome, const uint8_t *bytes, size_t from, size_t length)
{
    if (outcome.status == GUILDHALL_AVRO_NO_MEMORY) return guildhall_no_memory(); /* nothing is wrong with the payload */
    traversal t;
    VALUE error = avro_build_error(&t, avro_build_payload(&t, codec, bytes, from, length));
    guildhall_value_stack_release(&t.out.stack);
    return error;
}

VALUE guildhall_avro_decode_many(const guildhall_avro_codec *codec, VALUE source, uint64_t count)
{
    traversal t;
    VALUE values = rb_ary_new();
    source = rb_str_new_frozen(source);
    avro_build_check(&t, avro_build_start(&t, codec, (const uint8_t *)RSTRING_PTR(source), 0, (size_t)RSTRING_LEN(source)));
    avro_build_check(&t, guildhall_avro_afford(&t.input, codec->program.nodes, 0, count));
    for (uint64_t place = 0; place < count; place++) {
        status found = avro_build_inside(&t, 0, FIND);
        if (RB_UNLIKELY(found != GUILDHALL_AVRO_VALID)) avro_build_check(&t, avro_build_failed_at(&t, ULL2NUM(place), found));
        rb_ary_push(values, avro_build_pop(&t));
    }
    avro_build_check(&t, avro_build_end_of_payload(&t));
    guildhall_value_stack_release(&t.out.stack);
    RB_GC_GUARD(source);
    return values;
}

void guildhall_init_avro_build(void)
{
    id_decode = rb_intern("decode");
}
