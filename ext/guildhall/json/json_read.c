/* What can be asked of a Document, as far as it pays to answer it in C; the rest is Ruby (lib/guildhall/json). */
#include <ruby.h>
#include <ruby/encoding.h>
#include "../values.h"
#include "json_build.h"
#include "json_document.h"
#include "json_source.h"

int rb_block_arity(void); /* exported, but in no header */

static int utf8_index;

static inline guildhall_json_node node_of(guildhall_json_cursor cursor) { return cursor.view.nodes[cursor.index]; }

/* The String that a key given by the caller means for this codec; 0 when no member can have such a key. */
static VALUE key_text(const guildhall_json_codec *codec, VALUE key)
{
    if (codec->symbolize_names) return RB_SYMBOL_P(key) ? rb_sym2str(key) : 0;
    if (!RB_TYPE_P(key, T_STRING)) return 0;
    if (RB_LIKELY(RB_ENCODING_GET_INLINED(key) == utf8_index)) return key;
    return rb_enc_asciicompat(rb_enc_get(key)) && rb_enc_str_asciionly_p(key) ? key : 0;
}

/* The value at an index of the tape that self shows; nil at 0: there is none. */
static inline VALUE value_at(VALUE self, const guildhall_json_cursor *cursor, uint32_t index)
{
    VALUE value = index ? guildhall_json_document_value(cursor, index) : Qnil;
    RB_GC_GUARD(self);
    return value;
}

/* The index of the member's value; 0 when there is none. */
static inline uint32_t member(const guildhall_json_cursor *cursor, uint32_t object, VALUE key)
{
    VALUE text = key_text(cursor->codec, key);
    if (!text) return 0;
    uint32_t found = guildhall_json_document_member(cursor, object, (const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    RB_GC_GUARD(text);
    return found;
}

/* The index of an element; 0 when there is none. position: as Array#[] has it, negative from the end. */
static uint32_t element(const guildhall_json_cursor *cursor, uint32_t array, long position)
{
    long count = (long)guildhall_json_length(cursor->view.nodes[array]);
    if (position < 0) position += count;
    if (position < 0 || position >= count) return 0;
    return guildhall_json_document_element(cursor, array, (uint32_t)position);
}

static uint32_t child(const guildhall_json_cursor *cursor, uint32_t container, VALUE key)
{
    int object = guildhall_json_type_of(cursor->view.nodes[container]) == GUILDHALL_JSON_OBJECT;
    return object ? member(cursor, container, key) : element(cursor, container, NUM2LONG(key));
}

static VALUE object_aref(VALUE self, VALUE key)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    return value_at(self, &cursor, member(&cursor, cursor.index, key));
}

static VALUE array_at(VALUE self, VALUE position)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    return value_at(self, &cursor, element(&cursor, cursor.index, NUM2LONG(position)));
}

/* The rest of the way where it leaves the tape: Ruby's dig decides what that means. */
static VALUE dig_on(VALUE value, int count, const VALUE *keys)
{
    if (NIL_P(value)) return Qnil;
    if (!rb_respond_to(value, rb_intern("dig"))) rb_raise(rb_eTypeError, "%s does not have #dig method", rb_obj_classname(value));
    return rb_funcallv(value, rb_intern("dig"), count, keys);
}

static VALUE dig(int count, VALUE *keys, VALUE self)
{
    rb_check_arity(count, 1, UNLIMITED_ARGUMENTS);
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    uint32_t index = cursor.index;
    for (int i = 0; i < count; i++) {
        if (!guildhall_json_is_container(cursor.view.nodes[index])) {
            return dig_on(value_at(self, &cursor, index), count - i, keys + i);
        }
        if (!(index = child(&cursor, index, keys[i]))) return Qnil;
    }
    return value_at(self, &cursor, index);
}

static VALUE object_has_key(VALUE self, VALUE key)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE found = member(&cursor, cursor.index, key) ? Qtrue : Qfalse;
    RB_GC_GUARD(self);
    return found;
}

static VALUE size(VALUE self) { return UINT2NUM(guildhall_json_length(node_of(guildhall_json_document_self(self)))); }

static VALUE size_for_enumerator(VALUE self, VALUE arguments, VALUE enumerator) { return size(self); }

static VALUE key_at(VALUE self, uint32_t index)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE key = guildhall_json_key(cursor.codec, cursor.view, cursor.view.nodes[index]);
    RB_GC_GUARD(self);
    return key;
}

static uint32_t end_of(guildhall_json_cursor cursor) { return guildhall_json_offset(node_of(cursor)); }

static uint32_t after(VALUE self, uint32_t index)
{
    return guildhall_json_next(guildhall_json_document_self(self).view.nodes, index);
}

static VALUE object_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    uint32_t end = end_of(cursor);
    for (uint32_t index = cursor.index + 1; index < end; index = after(self, index + 1)) {
        VALUE key = key_at(self, index), value = value_at(self, &cursor, index + 1);
        rb_yield(rb_assoc_new(key, value));
    }
    return self;
}

static VALUE object_keys(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE keys = rb_ary_new_capa(guildhall_json_length(node_of(cursor)));
    uint32_t end = end_of(cursor);
    for (uint32_t index = cursor.index + 1; index < end; index = after(self, index + 1)) rb_ary_push(keys, key_at(self, index));
    return guildhall_share(keys);
}

static VALUE object_values(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE values = rb_ary_new_capa(guildhall_json_length(node_of(cursor)));
    uint32_t end = end_of(cursor);
    for (uint32_t index = cursor.index + 1; index < end; index = after(self, index + 1)) {
        rb_ary_push(values, value_at(self, &cursor, index + 1));
    }
    return guildhall_share(values);
}

static VALUE array_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    uint32_t end = end_of(cursor);
    for (uint32_t index = cursor.index + 1; index < end; index = after(self, index)) {
        rb_yield(value_at(self, &cursor, index));
    }
    return self;
}

/* The elements, containers among them as Documents. */
static VALUE array_elements(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE elements = rb_ary_new_capa(guildhall_json_length(node_of(cursor)));
    uint32_t end = end_of(cursor);
    for (uint32_t index = cursor.index + 1; index < end; index = after(self, index)) {
        rb_ary_push(elements, value_at(self, &cursor, index));
    }
    return guildhall_share(elements);
}

/* By an Integer without a detour, by anything else that Array#[] takes with one. */
static VALUE array_aref(int count, VALUE *arguments, VALUE self)
{
    if (count == 1 && RB_FIXNUM_P(arguments[0])) return array_at(self, arguments[0]);
    return rb_funcallv(array_elements(self), rb_intern("[]"), count, arguments);
}

static VALUE build(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE built = guildhall_json_build(cursor.codec, cursor.view, cursor.index);
    RB_GC_GUARD(self);
    return built;
}

/* For pattern matching, whose keys are always Symbols: what is not asked for is not made. */
static VALUE object_deconstruct_keys(VALUE self, VALUE names)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    if (NIL_P(names)) return Qnil;
    VALUE found = rb_hash_new();
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = RARRAY_AREF(names, i), text = RB_SYMBOL_P(name) ? rb_sym2str(name) : rb_str_new(NULL, 0);
        cursor = guildhall_json_document_self(self);
        uint32_t index = guildhall_json_document_member(&cursor, cursor.index, (const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
        if (index) rb_hash_aset(found, name, value_at(self, &cursor, index));
        RB_GC_GUARD(text);
    }
    return found;
}

/* The JSON that this Document was made of, as it was written; nil where duplicate keys were taken out of it. */
static VALUE source(VALUE self)
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
static VALUE detach(VALUE self)
{
    guildhall_json_cursor cursor = guildhall_json_document_self(self);
    VALUE text = source(self);
    if (NIL_P(text)) text = guildhall_json_encode(cursor.codec, build(self));
    VALUE made = guildhall_json_document_of(cursor.codec, text);
    RB_GC_GUARD(self);
    return made;
}

static void define_object(VALUE object)
{
    rb_define_method(object, "[]", object_aref, 1);
    rb_define_method(object, "key?", object_has_key, 1);
    rb_define_method(object, "each", object_each, 0);
    rb_define_method(object, "keys", object_keys, 0);
    rb_define_method(object, "values", object_values, 0);
    rb_define_private_method(object, "named_members", object_deconstruct_keys, 1);
}

static void define_array(VALUE array)
{
    rb_define_method(array, "at", array_at, 1);
    rb_define_method(array, "[]", array_aref, -1);
    rb_define_method(array, "each", array_each, 0);
    rb_define_method(array, "elements", array_elements, 0);
}

void guildhall_init_json_read(VALUE document, VALUE object, VALUE array)
{
    utf8_index = rb_utf8_encindex();
    rb_define_method(document, "dig", dig, -1);
    rb_define_method(document, "size", size, 0);
    rb_define_method(document, "decode", build, 0);
    rb_define_method(document, "source", source, 0);
    rb_define_method(document, "detach", detach, 0);
    define_object(object);
    define_array(array);
}
