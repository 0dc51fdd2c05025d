/* What can be asked of a Document, as far as it pays to answer it in C; the rest is Ruby (lib/guildhall/document). */
#include <ruby.h>
#include <ruby/encoding.h>
#include "any.h"
#include "object.h"
#include "values/frozen.h"

typedef guildhall_cursor cursor;
typedef guildhall_position position;

static inline const guildhall_document_format *document_view_format_of(cursor c) { return c.payload->index->codec->format; }

static int document_view_member(cursor c, position map, VALUE key, position *found, VALUE *fallback)
{
    *fallback = Qundef;
    int there = document_view_format_of(c)->member(c.payload, map, key, found, fallback);
    guildhall_key_indexes_report(&c.payload->key_indexes);
    return there;
}

/* position: as Array#[] has it, negative from the end. */
static int document_view_element(cursor c, position array, long index, position *found)
{
    long count = (long)document_view_format_of(c)->count(c.payload, array);
    if (index < 0) index += count;
    if (index < 0 || index >= count) return 0;
    *found = document_view_format_of(c)->element(c.payload, array, (uint32_t)index);
    return 1;
}

static inline VALUE document_view_value_or(cursor c, position at, VALUE fallback)
{
    return fallback == Qundef ? guildhall_document_value(c, at) : fallback;
}

static VALUE document_view_map_aref(VALUE self, VALUE key)
{
    cursor c = guildhall_document_read(self);
    position found;
    VALUE fallback;
    return document_view_member(c, c.position, key, &found, &fallback) ? document_view_value_or(c, found, fallback) : Qnil;
}

static VALUE document_view_map_has_key(VALUE self, VALUE key)
{
    cursor c = guildhall_document_read(self);
    position found;
    VALUE fallback;
    return document_view_member(c, c.position, key, &found, &fallback) ? Qtrue : Qfalse;
}

static VALUE document_view_array_at(VALUE self, VALUE index)
{
    cursor c = guildhall_document_read(self);
    position found;
    return document_view_element(c, c.position, NUM2LONG(index), &found) ? guildhall_document_value(c, found) : Qnil;
}

static VALUE document_view_dig(int count, VALUE *keys, VALUE self)
{
    rb_check_arity(count, 1, UNLIMITED_ARGUMENTS);
    cursor c = guildhall_document_read(self);
    position at = c.position;
    for (int i = 0; i < count; i++) {
        VALUE fallback = Qundef;
        guildhall_kind kind = document_view_format_of(c)->resolve(c.payload, &at);
        if (kind == GUILDHALL_SCALAR) return guildhall_document_dig_on(guildhall_document_value(c, at), count - i, keys + i);
        if (kind == GUILDHALL_ARRAY ? !document_view_element(c, at, NUM2LONG(keys[i]), &at)
                                    : !document_view_member(c, at, keys[i], &at, &fallback)) return Qnil;
        if (fallback != Qundef) return guildhall_document_dig_on(fallback, count - i - 1, keys + i + 1);
    }
    return guildhall_document_value(c, at);
}

static VALUE document_view_size(VALUE self)
{
    cursor c = guildhall_document_read(self);
    return UINT2NUM(document_view_format_of(c)->count(c.payload, c.position));
}

static VALUE document_view_size_for_enumerator(VALUE self, VALUE arguments, VALUE enumerator) { return document_view_size(self); }

typedef struct {
    cursor cursor;
    VALUE array; /* that is filled */
} visitor;

static void document_view_yield_pair(VALUE key, position at, VALUE fallback, void *context)
{
    rb_yield(rb_assoc_new(key, document_view_value_or(((visitor *)context)->cursor, at, fallback)));
}

static void document_view_yield_element(VALUE key, position at, VALUE fallback, void *context)
{
    rb_yield(guildhall_document_value(((visitor *)context)->cursor, at));
}

static void document_view_push_key(VALUE key, position at, VALUE fallback, void *context)
{
    rb_ary_push(((visitor *)context)->array, key);
}

static void document_view_push_value(VALUE key, position at, VALUE fallback, void *context)
{
    visitor *v = context;
    rb_ary_push(v->array, document_view_value_or(v->cursor, at, fallback));
}

static void document_view_each(VALUE self, guildhall_visit *visit, VALUE array)
{
    visitor v = {guildhall_document_read(self), array};
    document_view_format_of(v.cursor)->each(v.cursor.payload, v.cursor.position, visit, &v);
    RB_GC_GUARD(self);
    RB_GC_GUARD(array);
}

static VALUE document_view_map_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, document_view_size_for_enumerator);
    document_view_each(self, document_view_yield_pair, Qnil);
    return self;
}

static VALUE document_view_array_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, document_view_size_for_enumerator);
    document_view_each(self, document_view_yield_element, Qnil);
    return self;
}

static VALUE document_view_collected(VALUE self, guildhall_visit *visit)
{
    VALUE made = rb_ary_new();
    document_view_each(self, visit, made);
    return guildhall_share(made);
}

static VALUE document_view_map_keys(VALUE self) { return document_view_collected(self, document_view_push_key); }
static VALUE document_view_map_values(VALUE self) { return document_view_collected(self, document_view_push_value); }
static VALUE document_view_array_elements(VALUE self) { return document_view_collected(self, document_view_push_value); }

/* By an Integer without a detour, by anything else that Array#[] takes with one. */
static VALUE document_view_array_aref(int count, VALUE *arguments, VALUE self)
{
    if (count == 1 && RB_FIXNUM_P(arguments[0])) return document_view_array_at(self, arguments[0]);
    return rb_funcallv(document_view_array_elements(self), rb_intern("[]"), count, arguments);
}

static VALUE document_view_decode(VALUE self)
{
    cursor c = guildhall_document_read(self);
    VALUE made = document_view_format_of(c)->build(c.payload, c.position);
    RB_GC_GUARD(self);
    return made;
}

/* For pattern matching, whose keys are Symbols: what is not asked for is not made. */
static VALUE document_view_named_members(VALUE self, VALUE names)
{
    cursor c = guildhall_document_read(self);
    VALUE made = rb_hash_new();
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = rb_ary_entry(names, i), fallback = Qundef;
        position found;
        if (!RB_SYMBOL_P(name)) continue;
        VALUE text = rb_sym2str(name);
        if (document_view_format_of(c)->named(c.payload, c.position, text, &found, &fallback))
            rb_hash_aset(made, name, document_view_value_or(c, found, fallback));
        RB_GC_GUARD(text);
    }
    RB_GC_GUARD(self);
    return made;
}

void guildhall_init_document_view(VALUE document, VALUE map, VALUE array)
{
    rb_define_method(document, "dig", document_view_dig, -1);
    rb_define_method(document, "size", document_view_size, 0);
    rb_define_method(document, "decode", document_view_decode, 0);
    rb_define_method(map, "[]", document_view_map_aref, 1);
    rb_define_method(map, "key?", document_view_map_has_key, 1);
    rb_define_method(map, "each", document_view_map_each, 0);
    rb_define_method(map, "keys", document_view_map_keys, 0);
    rb_define_method(map, "values", document_view_map_values, 0);
    rb_define_private_method(map, "named_members", document_view_named_members, 1);
    rb_define_method(array, "at", document_view_array_at, 1);
    rb_define_method(array, "[]", document_view_array_aref, -1);
    rb_define_method(array, "each", document_view_array_each, 0);
    rb_define_method(array, "elements", document_view_array_elements, 0);
}
