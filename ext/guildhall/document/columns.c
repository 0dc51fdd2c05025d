/* Guildhall::Columns: paths that were compiled once, and rows made of what lies at them. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <guildhall/columns.h>
#include "any.h"
#include "init.h"
#include "memory/value_stack.h"
#include "object.h"
#include "values/caches.h"
#include "values/frozen.h"

#define VALUES_ON_STACK 64

/* A path, or (`other`) what a source knows. */
typedef struct {
    VALUE other; /* 0: a path */
    long first, count; /* of the steps */
} column;

typedef struct {
    VALUE *names; /* of a Hash's keys; NULL: rows are Arrays, or one value each */
    column *columns;
    VALUE *steps;
    long count, step_count;
} columns;

static VALUE class;

/* Pins, as pointers into the Strings' bytes and the names are kept. */
static void columns_mark(void *pointer)
{
    const columns *c = pointer;
    for (long i = 0; i < c->count; i++) {
        if (c->names && c->names[i]) rb_gc_mark(c->names[i]);
        if (c->columns[i].other) rb_gc_mark(c->columns[i].other);
    }
    for (long i = 0; i < c->step_count; i++) rb_gc_mark(c->steps[i]);
}

static void columns_release(void *pointer)
{
    columns *c = pointer;
    ruby_xfree(c->names);
    ruby_xfree(c->columns);
    ruby_xfree(c->steps);
    ruby_xfree(c);
}

static size_t columns_memsize(const void *pointer)
{
    const columns *c = pointer;
    return sizeof *c + (size_t)c->count * (sizeof *c->columns + (c->names ? sizeof *c->names : 0)) + (size_t)c->step_count * sizeof *c->steps;
}

static const rb_data_type_t type = {"Guildhall::Columns", {columns_mark, columns_release, columns_memsize}, 0, 0,
                                    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE};

static VALUE columns_allocate(VALUE klass)
{
    columns *c;
    return TypedData_Make_Struct(klass, columns, &type, c);
}

static const columns *columns_of(VALUE self)
{
    const columns *c = rb_check_typeddata(self, &type);
    if (RB_UNLIKELY(!c->count)) rb_raise(rb_eTypeError, "%" PRIsVALUE " is not initialized", rb_obj_class(self));
    return c;
}

/* configure(names or nil, columns): a column is an Array of steps (Strings and Integers), or anything else that a source knows. All of it is
 * frozen and shareable. */
static VALUE columns_configure(VALUE self, VALUE names, VALUE list)
{
    rb_check_frozen(self);
    columns *c = rb_check_typeddata(self, &type);
    long count = RARRAY_LEN(list), steps = 0;
    if (count < 1) rb_raise(rb_eArgError, "no columns");
    for (long i = 0; i < count; i++) {
        VALUE given = RARRAY_AREF(list, i);
        if (RB_TYPE_P(given, T_ARRAY)) steps += RARRAY_LEN(given);
    }
    c->columns = ruby_xcalloc((size_t)count, sizeof *c->columns);
    if (!NIL_P(names)) c->names = ruby_xcalloc((size_t)count, sizeof *c->names);
    c->steps = ruby_xcalloc((size_t)steps + 1, sizeof *c->steps);
    for (long i = 0; i < count; i++) {
        VALUE given = RARRAY_AREF(list, i);
        if (c->names) RB_OBJ_WRITE(self, &c->names[i], RARRAY_AREF(names, i));
        c->count = i + 1;
        if (!RB_TYPE_P(given, T_ARRAY)) {
            RB_OBJ_WRITE(self, &c->columns[i].other, given);
            continue;
        }
        c->columns[i].first = c->step_count;
        c->columns[i].count = RARRAY_LEN(given);
        for (long step = 0; step < RARRAY_LEN(given); step++) {
            RB_OBJ_WRITE(self, &c->steps[c->step_count], RARRAY_AREF(given, step));
            c->step_count++;
        }
    }
    return self;
}

static inline VALUE columns_value(const columns *c, const column *of, const guildhall_columns_source *source)
{
    if (of->other) return source->other(of->other, source->argument);
    const VALUE *steps = c->steps + of->first;
    if (RB_LIKELY(source->data != NULL))
        return guildhall_document_data_column(source->data, source->bytes, source->length, of->count, steps, source->caches);
    return NIL_P(source->document) ? Qnil : guildhall_document_column(source->document, of->count, steps, source->caches);
}

/* The values lie on the stack meanwhile, where the garbage collector sees them. */
static VALUE columns_row_of(const columns *c, const guildhall_columns_source *source, VALUE *values)
{
    if (!c->names) {
        for (long i = 0; i < c->count; i++) values[i] = columns_value(c, &c->columns[i], source);
        VALUE row = rb_ary_new_from_values(c->count, values);
        return source->frozen ? guildhall_share(row) : row;
    }
    for (long i = 0; i < c->count; i++) {
        values[2 * i] = c->names[i];
        values[2 * i + 1] = columns_value(c, &c->columns[i], source);
    }
    guildhall_hash_templates *templates = &((guildhall_caches *)source->caches)->templates;
    return source->frozen ? guildhall_hash_from_template(templates, c->count, values) : guildhall_open_hash_from_template(templates, c->count, values);
}

static VALUE columns_row(VALUE self, guildhall_columns_source *source)
{
    const columns *c = columns_of(self);
    if (!source->caches) source->caches = guildhall_caches_current();
    VALUE on_stack[VALUES_ON_STACK], buffer = 0, row;
    if (c->count == 1 && !c->names) {
        row = columns_value(c, c->columns, source);
    } else {
        VALUE *values = 2 * c->count <= VALUES_ON_STACK ? on_stack : ALLOCV_N(VALUE, buffer, 2 * c->count);
        if (buffer) rb_mem_clear(values, 2 * c->count);
        row = columns_row_of(c, source, values);
        ALLOCV_END(buffer);
    }
    RB_GC_GUARD(self);
    return row;
}

VALUE guildhall_columns_of_plain(VALUE value, long count, const VALUE *steps)
{
    return rb_funcall(class, rb_intern("dig"), 2, value, rb_ary_new_from_values(count, steps));
}

/* at_path(Document, steps). */
static VALUE columns_at_path(VALUE self, VALUE document, VALUE steps)
{
    Check_Type(steps, T_ARRAY);
    if (!guildhall_document_view_p(document)) rb_raise(rb_eTypeError, "not a Document that this extension has made");
    VALUE value = guildhall_document_column(document, RARRAY_LEN(steps), RARRAY_CONST_PTR(steps), guildhall_caches_current());
    RB_GC_GUARD(steps);
    return value;
}

/* ---- of bytes: decoded, read and dropped */

typedef struct {
    VALUE columns;
    const guildhall_decoder *decoder;
    guildhall_result result;
    guildhall_columns_source source;
} reading;

static VALUE columns_read_row(VALUE pointer)
{
    reading *r = (reading *)pointer;
    r->source.data = r->result.data;
    return columns_row(r->columns, &r->source);
}

static VALUE columns_read_end(VALUE pointer)
{
    reading *r = (reading *)pointer;
    r->decoder->free(r->decoder->context, &r->result);
    return Qnil;
}

/* decoded(codec, bytes): the frozen row of a payload; self where only Ruby can decode it. Raises what the codec has for what cannot be
 * decoded. Every column is a path. */
static VALUE columns_decoded(VALUE self, VALUE codec, VALUE bytes)
{
    const guildhall_decoder *decoder = guildhall_decoder_at(rb_funcall(codec, rb_intern("native_decoder"), 0));
    if (!decoder || !guildhall_document_decoder_p(decoder) || !RB_TYPE_P(bytes, T_STRING)) return self;
    int encoding = RB_ENCODING_GET_INLINED(bytes);
    if (encoding != guildhall_utf8_index && encoding != guildhall_binary_index && encoding != guildhall_ascii_index) return self;
    VALUE source = guildhall_frozen_bytes(bytes);
    const uint8_t *from = (const uint8_t *)RSTRING_PTR(source);
    reading r = {self, decoder, {0}, {.document = Qnil, .bytes = from, .length = (size_t)RSTRING_LEN(source), .frozen = true}};
    guildhall_decoded verdict = decoder->decode(decoder->context, from, r.source.length, &r.result);
    if (verdict == GUILDHALL_DEFER) return self;
    if (verdict == GUILDHALL_INVALID) rb_exc_raise(decoder->error(decoder->context, &r.result, from, r.source.length));
    VALUE row = rb_ensure(columns_read_row, (VALUE)&r, columns_read_end, (VALUE)&r);
    RB_GC_GUARD(source);
    RB_GC_GUARD(codec);
    return row;
}

static const guildhall_columns interface = {GUILDHALL_COLUMNS_ABI, guildhall_document_decoder_p, columns_row};

void guildhall_init_columns(VALUE guildhall)
{
    class = rb_define_class_under(guildhall, "Columns", rb_cObject);
    rb_gc_register_mark_object(class);
    rb_define_alloc_func(class, columns_allocate);
    rb_define_private_method(class, "configure", columns_configure, 2);
    rb_define_private_method(class, "decoded", columns_decoded, 2);
    rb_define_private_method(rb_singleton_class(class), "at_path", columns_at_path, 2);
    rb_define_const(guildhall, "NATIVE_COLUMNS", ULL2NUM((uint64_t)(uintptr_t)&interface));
    rb_funcall(guildhall, rb_intern("private_constant"), 1, ID2SYM(rb_intern("NATIVE_COLUMNS")));
}
