/* What can be asked of a Document, as far as it pays to answer it in C; the rest is Ruby (lib/guildhall/document). */
#include <ruby.h>
#include <ruby/encoding.h>
#include "../values.h"
#include "document.h"

typedef guildhall_cursor cursor;
typedef guildhall_spot spot;

static inline const guildhall_document_format *format_of(cursor c) { return c.payload->marks->format; }

VALUE guildhall_document_text(VALUE key)
{
    if (!RB_TYPE_P(key, T_STRING)) return 0;
    if (RB_LIKELY(RB_ENCODING_GET_INLINED(key) == rb_utf8_encindex())) return key;
    return rb_enc_asciicompat(rb_enc_get(key)) && rb_enc_str_asciionly_p(key) ? key : 0;
}

static int member(cursor c, spot map, VALUE key, spot *found, VALUE *fallback)
{
    *fallback = Qundef;
    int there = format_of(c)->member(c.payload, map, key, found, fallback);
    guildhall_document_report(c.payload);
    return there;
}

/* position: as Array#[] has it, negative from the end. */
static int element(cursor c, spot array, long position, spot *found)
{
    long count = (long)format_of(c)->count(c.payload, array);
    if (position < 0) position += count;
    if (position < 0 || position >= count) return 0;
    *found = format_of(c)->element(c.payload, array, (uint32_t)position);
    return 1;
}

static inline VALUE value_or(cursor c, spot at, VALUE fallback)
{
    return fallback == Qundef ? guildhall_document_value(c, at) : fallback;
}

static VALUE map_aref(VALUE self, VALUE key)
{
    cursor c = guildhall_document_read(self);
    spot found;
    VALUE fallback;
    return member(c, c.spot, key, &found, &fallback) ? value_or(c, found, fallback) : Qnil;
}

static VALUE map_has_key(VALUE self, VALUE key)
{
    cursor c = guildhall_document_read(self);
    spot found;
    VALUE fallback;
    return member(c, c.spot, key, &found, &fallback) ? Qtrue : Qfalse;
}

static VALUE array_at(VALUE self, VALUE position)
{
    cursor c = guildhall_document_read(self);
    spot found;
    return element(c, c.spot, NUM2LONG(position), &found) ? guildhall_document_value(c, found) : Qnil;
}

/* Ruby's own dig decides what it means for a value that is no Document. */
static VALUE dig_on(VALUE value, int count, VALUE *keys)
{
    return NIL_P(value) || !count ? value : rb_funcallv(value, rb_intern("dig"), count, keys);
}

static VALUE dig(int count, VALUE *keys, VALUE self)
{
    rb_check_arity(count, 1, UNLIMITED_ARGUMENTS);
    cursor c = guildhall_document_read(self);
    spot at = c.spot;
    for (int i = 0; i < count; i++) {
        VALUE fallback = Qundef;
        guildhall_kind kind = format_of(c)->resolve(c.payload, &at);
        if (kind == GUILDHALL_SCALAR) return dig_on(guildhall_document_value(c, at), count - i, keys + i);
        if (kind == GUILDHALL_ARRAY ? !element(c, at, NUM2LONG(keys[i]), &at) : !member(c, at, keys[i], &at, &fallback)) return Qnil;
        if (fallback != Qundef) return dig_on(fallback, count - i - 1, keys + i + 1);
    }
    return guildhall_document_value(c, at);
}

static VALUE size(VALUE self)
{
    cursor c = guildhall_document_read(self);
    return UINT2NUM(format_of(c)->count(c.payload, c.spot));
}

static VALUE size_for_enumerator(VALUE self, VALUE arguments, VALUE enumerator) { return size(self); }

typedef struct {
    cursor cursor;
    VALUE array; /* that is filled */
} visitor;

static void yield_pair(VALUE key, spot at, VALUE fallback, void *context)
{
    rb_yield(rb_assoc_new(key, value_or(((visitor *)context)->cursor, at, fallback)));
}

static void yield_element(VALUE key, spot at, VALUE fallback, void *context)
{
    rb_yield(guildhall_document_value(((visitor *)context)->cursor, at));
}

static void push_key(VALUE key, spot at, VALUE fallback, void *context)
{
    rb_ary_push(((visitor *)context)->array, key);
}

static void push_value(VALUE key, spot at, VALUE fallback, void *context)
{
    visitor *v = context;
    rb_ary_push(v->array, value_or(v->cursor, at, fallback));
}

static void each(VALUE self, guildhall_visit *visit, VALUE array)
{
    visitor v = {guildhall_document_read(self), array};
    format_of(v.cursor)->each(v.cursor.payload, v.cursor.spot, visit, &v);
    RB_GC_GUARD(self);
    RB_GC_GUARD(array);
}

static VALUE map_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    each(self, yield_pair, Qnil);
    return self;
}

static VALUE array_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    each(self, yield_element, Qnil);
    return self;
}

static VALUE collected(VALUE self, guildhall_visit *visit)
{
    VALUE made = rb_ary_new();
    each(self, visit, made);
    return guildhall_share(made);
}

static VALUE map_keys(VALUE self) { return collected(self, push_key); }
static VALUE map_values(VALUE self) { return collected(self, push_value); }
static VALUE array_elements(VALUE self) { return collected(self, push_value); }

/* By an Integer without a detour, by anything else that Array#[] takes with one. */
static VALUE array_aref(int count, VALUE *arguments, VALUE self)
{
    if (count == 1 && RB_FIXNUM_P(arguments[0])) return array_at(self, arguments[0]);
    return rb_funcallv(array_elements(self), rb_intern("[]"), count, arguments);
}

static VALUE decode(VALUE self)
{
    cursor c = guildhall_document_read(self);
    VALUE made = format_of(c)->build(c.payload, c.spot);
    RB_GC_GUARD(self);
    return made;
}

/* For pattern matching, whose keys are Symbols: what is not asked for is not made. */
static VALUE named_members(VALUE self, VALUE names)
{
    cursor c = guildhall_document_read(self);
    VALUE made = rb_hash_new();
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = rb_ary_entry(names, i), fallback = Qundef;
        spot found;
        if (!RB_SYMBOL_P(name)) continue;
        VALUE text = rb_sym2str(name);
        if (format_of(c)->named(c.payload, c.spot, text, &found, &fallback)) rb_hash_aset(made, name, value_or(c, found, fallback));
        RB_GC_GUARD(text);
    }
    RB_GC_GUARD(self);
    return made;
}

void guildhall_init_document_view(VALUE document, VALUE map, VALUE array)
{
    rb_define_method(document, "dig", dig, -1);
    rb_define_method(document, "size", size, 0);
    rb_define_method(document, "decode", decode, 0);
    rb_define_method(map, "[]", map_aref, 1);
    rb_define_method(map, "key?", map_has_key, 1);
    rb_define_method(map, "each", map_each, 0);
    rb_define_method(map, "keys", map_keys, 0);
    rb_define_method(map, "values", map_values, 0);
    rb_define_private_method(map, "named_members", named_members, 1);
    rb_define_method(array, "at", array_at, 1);
    rb_define_method(array, "[]", array_aref, -1);
    rb_define_method(array, "each", array_each, 0);
    rb_define_method(array, "elements", array_elements, 0);
}
