/* What can be asked of a Document, as far as it pays to answer it in C; the rest is Ruby (lib/guildhall/json). */
#include <ruby.h>
#include "build.h"
#include "document.h"
#include "document/any.h"
#include "source.h"
#include "values/frozen.h"

static inline guildhall_json_node json_read_node_of(guildhall_json_cursor cursor) { return cursor.view.nodes[cursor.index]; }

/* The String that a key given by the caller means for this codec; 0 when no member can have such a key. */
static VALUE json_read_key_text(const guildhall_json_codec *codec, VALUE key)
{
    if (codec->symbolize_names) return RB_SYMBOL_P(key) ? rb_sym2str(key) : 0;
    return guildhall_document_text(key);
}

/* The value at an index of the tape that self shows; nil at 0: there is none. */
static inline VALUE json_read_value_at(VALUE self, const guildhall_json_cursor *cursor, uint32_t index)
{
    VALUE value = index ? guildhall_json_document_value(cursor, index) : Qnil;
    RB_GC_GUARD(self);
    return value;
}

/* The index of the member's value; 0 when there is none. */
static inline uint32_t json_read_member(const guildhall_json_cursor *cursor, uint32_t object, VALUE key)
{
    VALUE text = json_read_key_text(cursor->codec, key);
    if (!text) return 0;
    uint32_t found = guildhall_json_document_member(cursor, object, (const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    RB_GC_GUARD(text);
    return found;
}

/* The index of an element; 0 when there is none. position: as Array#[] has it, negative from the end. */
static uint32_t json_read_element(const guildhall_json_cursor *cursor, uint32_t array, long position)
{
    long count = (long)guildhall_json_length(cursor->view.nodes[array]);
    if (position < 0) position += count;
    if (position < 0 || position >= count) return 0;
    return guildhall_json_document_element(cursor, array, (uint32_t)position);
}

static uint32_t json_read_child(const guildhall_json_cursor *cursor, uint32_t container, VALUE key)
{
    int object = guildhall_json_type_of(cursor->view.nodes[container]) == GUILDHALL_JSON_OBJECT;
    return object ? json_read_member(cursor, container, key) : json_read_element(cursor, container, NUM2LONG(key));
}

static VALUE json_read_object_aref(VALUE self, VALUE key)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    return json_read_value_at(self, &cursor, json_read_member(&cursor, cursor.index, key));
}

static VALUE json_read_array_at(VALUE self, VALUE position)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    return json_read_value_at(self, &cursor, json_read_element(&cursor, cursor.index, NUM2LONG(position)));
}

static VALUE json_read_dig(int count, VALUE *keys, VALUE self)
{
    rb_check_arity(count, 1, UNLIMITED_ARGUMENTS);
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    uint32_t index = cursor.index;
    for (int i = 0; i < count; i++) {
        if (!guildhall_json_is_container(cursor.view.nodes[index])) {
            return guildhall_document_dig_on(json_read_value_at(self, &cursor, index), count - i, keys + i);
        }
        if (!(index = json_read_child(&cursor, index, keys[i]))) return Qnil;
    }
    return json_read_value_at(self, &cursor, index);
}

static VALUE json_read_object_has_key(VALUE self, VALUE key)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE found = json_read_member(&cursor, cursor.index, key) ? Qtrue : Qfalse;
    RB_GC_GUARD(self);
    return found;
}

static VALUE json_read_size(VALUE self) { return UINT2NUM(guildhall_json_length(json_read_node_of(guildhall_json_document_self(self)))); }

static VALUE json_read_size_for_enumerator(VALUE self, VALUE arguments, VALUE enumerator) { return json_read_size(self); }

static VALUE json_read_key_at(VALUE self, uint32_t index)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE key = guildhall_json_key(cursor.codec, cursor.view, cursor.view.nodes[index]);
    RB_GC_GUARD(self);
    return key;
}

static uint32_t json_read_end_of(guildhall_json_cursor cursor) { return guildhall_json_offset(json_read_node_of(cursor)); }

static uint32_t json_read_after(VALUE self, uint32_t index)
{
    return guildhall_json_next(guildhall_json_document_self(self).view.nodes, index);
}

static VALUE json_read_object_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, json_read_size_for_enumerator);
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    uint32_t end = json_read_end_of(cursor);
    for (uint32_t index = cursor.index + 1; index < end; index = json_read_after(self, index + 1)) {
        VALUE key = json_read_key_at(self, index), value = json_read_value_at(self, &cursor, index + 1);
        rb_yield(rb_assoc_new(key, value));
    }
    return self;
}

static inline VALUE json_read_collect(VALUE self, int object, int keys)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE made = rb_ary_new_capa(guildhall_json_length(json_read_node_of(cursor)));
    uint32_t end = json_read_end_of(cursor), to_value = object ? 1 : 0;
    for (uint32_t index = cursor.index + 1; index < end; index = json_read_after(self, index + to_value)) {
        rb_ary_push(made, keys ? json_read_key_at(self, index) : json_read_value_at(self, &cursor, index + to_value));
    }
    return guildhall_share(made);
}

static VALUE json_read_object_keys(VALUE self) { return json_read_collect(self, 1, 1); }
static VALUE json_read_object_values(VALUE self) { return json_read_collect(self, 1, 0); }

/* The elements, containers among them as Documents. */
static VALUE json_read_array_elements(VALUE self) { return json_read_collect(self, 0, 0); }

static VALUE json_read_array_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, json_read_size_for_enumerator);
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    uint32_t end = json_read_end_of(cursor);
    for (uint32_t index = cursor.index + 1; index < end; index = json_read_after(self, index)) {
        rb_yield(json_read_value_at(self, &cursor, index));
    }
    return self;
}

/* By an Integer without a detour, by anything else that Array#[] takes with one. */
static VALUE json_read_array_aref(int count, VALUE *arguments, VALUE self)
{
    if (count == 1 && RB_FIXNUM_P(arguments[0])) return json_read_array_at(self, arguments[0]);
    return rb_funcallv(json_read_array_elements(self), rb_intern("[]"), count, arguments);
}

static VALUE json_read_build(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE built = guildhall_json_build(cursor.codec, cursor.view, cursor.index);
    RB_GC_GUARD(self);
    return built;
}

/* For pattern matching, whose keys are always Symbols: what is not asked for is not made. */
static VALUE json_read_object_deconstruct_keys(VALUE self, VALUE names)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    if (NIL_P(names)) return Qnil;
    VALUE found = rb_hash_new();
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = RARRAY_AREF(names, i), text = RB_SYMBOL_P(name) ? rb_sym2str(name) : rb_str_new(NULL, 0);
        cursor = guildhall_json_document_self(self);
        uint32_t index = guildhall_json_document_member(&cursor, cursor.index, (const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
        if (index) rb_hash_aset(found, name, json_read_value_at(self, &cursor, index));
        RB_GC_GUARD(text);
    }
    return found;
}

/* The JSON that this Document was made of, as it was written; nil where duplicate keys were taken out of it. */
static VALUE json_read_source(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    const guildhall_json_text *text = guildhall_json_document_text(self);
    if (text->deduplicated) return Qnil;
    guildhall_json_range range = guildhall_json_range_of(cursor.view, cursor.index, text->length);
    VALUE made = guildhall_string_new(cursor.view.bytes + range.begin, range.end - range.begin, GUILDHALL_TEXT_UNCHECKED);
    RB_GC_GUARD(self);
    return made;
}

/* A Document of the same contents with a text of its own. */
static VALUE json_read_detach(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE text = json_read_source(self);
    if (NIL_P(text)) text = guildhall_json_encode(cursor.codec, json_read_build(self));
    VALUE made = guildhall_json_document_of(cursor.codec, text);
    RB_GC_GUARD(self);
    return made;
}

static void json_read_define_object(VALUE object)
{
    rb_define_method(object, "[]", json_read_object_aref, 1);
    rb_define_method(object, "key?", json_read_object_has_key, 1);
    rb_define_method(object, "each", json_read_object_each, 0);
    rb_define_method(object, "keys", json_read_object_keys, 0);
    rb_define_method(object, "values", json_read_object_values, 0);
    rb_define_private_method(object, "named_members", json_read_object_deconstruct_keys, 1);
}

static void json_read_define_array(VALUE array)
{
    rb_define_method(array, "at", json_read_array_at, 1);
    rb_define_method(array, "[]", json_read_array_aref, -1);
    rb_define_method(array, "each", json_read_array_each, 0);
    rb_define_method(array, "elements", json_read_array_elements, 0);
}

void guildhall_init_json_read(VALUE document, VALUE object, VALUE array)
{
    rb_define_method(document, "dig", json_read_dig, -1);
    rb_define_method(document, "size", json_read_size, 0);
    rb_define_method(document, "decode", json_read_build, 0);
    rb_define_method(document, "source", json_read_source, 0);
    rb_define_method(document, "detach", json_read_detach, 0);
    json_read_define_object(object);
    json_read_define_array(array);
}
