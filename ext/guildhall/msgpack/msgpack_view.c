/* What can be asked of a Document, as far as it pays to answer it in C; the rest is Ruby (lib/guildhall/document). */
#include <ruby.h>
#include <ruby/encoding.h>
#include "../values.h"
#include "msgpack_document.h"

typedef guildhall_msgpack_cursor cursor;

static int utf8_index;

static inline guildhall_tape_node node_of(cursor c) { return c.payload->nodes[c.index]; }
static inline uint32_t end_of(cursor c) { return guildhall_tape_offset(node_of(c)); }
static inline uint32_t next(cursor c, uint32_t index) { return guildhall_tape_next(c.payload->nodes, index); }

/* The String that a key given by the caller means for this codec; 0: no text key is meant. */
static VALUE key_text(cursor c, VALUE key)
{
    if (c.payload->codec->rules.symbol_keys) return RB_SYMBOL_P(key) ? rb_sym2str(key) : 0;
    if (!RB_TYPE_P(key, T_STRING)) return 0;
    if (RB_LIKELY(RB_ENCODING_GET_INLINED(key) == utf8_index)) return key;
    return rb_enc_asciicompat(rb_enc_get(key)) && rb_enc_str_asciionly_p(key) ? key : 0;
}

/* Keys that are no texts are rare: each is made and asked. */
static uint32_t other_member(cursor c, uint32_t map, VALUE key)
{
    uint32_t found = 0, end = guildhall_tape_offset(c.payload->nodes[map]);
    for (uint32_t index = map + 1, value; index < end; index = next(c, value)) {
        value = next(c, index);
        if (guildhall_msgpack_is_text(c.payload->nodes[index])) continue;
        if (rb_eql(guildhall_msgpack_document_build(c, index), key)) found = value;
    }
    return found;
}

static uint32_t member(cursor c, uint32_t map, VALUE key)
{
    VALUE text = key_text(c, key);
    if (!text) return other_member(c, map, key);
    uint32_t found = guildhall_msgpack_find(c.payload->bytes, c.payload->nodes, &c.payload->indexes, map,
                                            (const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    RB_GC_GUARD(text);
    return found;
}

/* position: as Array#[] has it, negative from the end. */
static uint32_t element(cursor c, uint32_t array, long position)
{
    guildhall_tape_node node = c.payload->nodes[array];
    long count = (long)guildhall_tape_length(node);
    if (position < 0) position += count;
    if (position < 0 || position >= count) return 0;
    uint32_t index = array + 1;
    if (guildhall_tape_offset(node) - index == (uint32_t)count) return index + (uint32_t)position; /* no containers */
    while (position--) index = next(c, index);
    return index;
}

static VALUE value_or_nil(cursor c, uint32_t index) { return index ? guildhall_msgpack_document_value(c, index) : Qnil; }

static VALUE map_aref(VALUE self, VALUE key)
{
    cursor c = guildhall_msgpack_document_read(self);
    return value_or_nil(c, member(c, c.index, key));
}

static VALUE map_has_key(VALUE self, VALUE key)
{
    cursor c = guildhall_msgpack_document_read(self);
    return member(c, c.index, key) ? Qtrue : Qfalse;
}

static VALUE array_at(VALUE self, VALUE position)
{
    cursor c = guildhall_msgpack_document_read(self);
    return value_or_nil(c, element(c, c.index, NUM2LONG(position)));
}

static VALUE dig(int count, VALUE *keys, VALUE self)
{
    rb_check_arity(count, 1, UNLIMITED_ARGUMENTS);
    cursor c = guildhall_msgpack_document_read(self);
    uint32_t index = c.index;
    for (int i = 0; i < count; i++) {
        guildhall_tape_node node = c.payload->nodes[index];
        if (!guildhall_tape_is_container(node)) { /* Ruby's own dig decides what that means */
            VALUE value = guildhall_msgpack_document_value(c, index);
            return NIL_P(value) ? Qnil : rb_funcallv(value, rb_intern("dig"), count - i, keys + i);
        }
        index = guildhall_tape_type(node) == GUILDHALL_TAPE_MAP ? member(c, index, keys[i])
                                                                : element(c, index, NUM2LONG(keys[i]));
        if (!index) return Qnil;
    }
    return guildhall_msgpack_document_value(c, index);
}

static VALUE size(VALUE self) { return UINT2NUM(guildhall_tape_length(node_of(guildhall_msgpack_document_read(self)))); }

static VALUE size_for_enumerator(VALUE self, VALUE arguments, VALUE enumerator) { return size(self); }

static VALUE map_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    cursor c = guildhall_msgpack_document_read(self);
    uint32_t end = end_of(c);
    for (uint32_t index = c.index + 1, value; index < end; index = next(c, value)) {
        value = next(c, index);
        rb_yield(rb_assoc_new(guildhall_msgpack_document_key(c, index), guildhall_msgpack_document_value(c, value)));
    }
    RB_GC_GUARD(self);
    return self;
}

static VALUE array_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    cursor c = guildhall_msgpack_document_read(self);
    uint32_t end = end_of(c);
    for (uint32_t index = c.index + 1; index < end; index = next(c, index)) {
        rb_yield(guildhall_msgpack_document_value(c, index));
    }
    RB_GC_GUARD(self);
    return self;
}

/* Keys, or values, or elements: every `step`th child from `first` on. */
static VALUE children(VALUE self, int first, int step, VALUE (*make)(cursor, uint32_t))
{
    cursor c = guildhall_msgpack_document_read(self);
    VALUE made = rb_ary_new_capa(guildhall_tape_length(node_of(c)));
    uint32_t end = end_of(c);
    int place = 0;
    for (uint32_t index = c.index + 1; index < end; index = next(c, index), place++) {
        if (place % step == first) rb_ary_push(made, make(c, index));
    }
    RB_GC_GUARD(self);
    return guildhall_share(made);
}

static VALUE map_keys(VALUE self) { return children(self, 0, 2, guildhall_msgpack_document_key); }
static VALUE map_values(VALUE self) { return children(self, 1, 2, guildhall_msgpack_document_value); }
static VALUE array_elements(VALUE self) { return children(self, 0, 1, guildhall_msgpack_document_value); }

/* By an Integer without a detour, by anything else that Array#[] takes with one. */
static VALUE array_aref(int count, VALUE *arguments, VALUE self)
{
    if (count == 1 && RB_FIXNUM_P(arguments[0])) return array_at(self, arguments[0]);
    return rb_funcallv(array_elements(self), rb_intern("[]"), count, arguments);
}

static VALUE decode(VALUE self)
{
    cursor c = guildhall_msgpack_document_read(self);
    return guildhall_msgpack_document_build(c, c.index);
}

/* For pattern matching, whose keys are Symbols: what is not asked for is not made. */
static VALUE named_members(VALUE self, VALUE names)
{
    cursor c = guildhall_msgpack_document_read(self);
    VALUE found = rb_hash_new();
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = rb_ary_entry(names, i);
        if (!RB_SYMBOL_P(name)) continue;
        VALUE text = rb_sym2str(name);
        uint32_t index = guildhall_msgpack_find(c.payload->bytes, c.payload->nodes, &c.payload->indexes, c.index,
                                                (const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
        if (index) rb_hash_aset(found, name, guildhall_msgpack_document_value(c, index));
    }
    RB_GC_GUARD(self);
    return found;
}

void guildhall_init_msgpack_view(VALUE document, VALUE map, VALUE array)
{
    utf8_index = rb_utf8_encindex();
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
