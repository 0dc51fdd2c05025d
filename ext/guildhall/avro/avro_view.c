/* What can be asked of a Document, as far as it pays to answer it in C; the rest is Ruby (lib/guildhall/document). */
#include <ruby.h>
#include <ruby/encoding.h>
#include "../values.h"
#include "avro_document.h"

typedef guildhall_avro_cursor cursor;
typedef guildhall_avro_spot spot;

static int utf8_index;

static inline const guildhall_avro_view *view_of(cursor c) { return &c.payload->view; }
static inline const guildhall_avro_node *node_at(cursor c, spot s) { return &view_of(c)->program->nodes[s.node]; }
static inline VALUE constant(cursor c, uint32_t number) { return c.payload->marks->codec->constants[number]; }

static inline uint32_t count_of(cursor c, spot s)
{
    const guildhall_avro_node *node = node_at(c, s);
    return node->type == GUILDHALL_AVRO_RECORD ? node->kept : guildhall_avro_count(view_of(c), s);
}

typedef struct {
    const guildhall_avro_view *view;
    spot map;
} indexed;

/* Places are items, from 1 on. */
static spot entry_at(const indexed *of, uint32_t place, guildhall_avro_items *entry)
{
    guildhall_avro_entry(of->view, guildhall_avro_item(of->view, of->map, place - 1), entry);
    return entry->value;
}

static guildhall_key key_at(const void *pointer, uint32_t place)
{
    guildhall_avro_items entry;
    entry_at(pointer, place, &entry);
    return (guildhall_key){entry.key, entry.key_length};
}

static guildhall_key_index *index_of(cursor c, spot map)
{
    guildhall_key_index *found = guildhall_key_indexes_find(&c.payload->indexes, map.offset);
    if (found) return found;
    indexed of = {view_of(c), map};
    guildhall_key_index *made = guildhall_key_index_new(map.offset, guildhall_avro_count(view_of(c), map));
    if (!made) return NULL;
    guildhall_avro_items items = guildhall_avro_items_of(view_of(c), map);
    for (uint32_t place = 1; guildhall_avro_items_next(&items); place++) {
        guildhall_key_index_put(made, (guildhall_key){items.key, items.key_length}, place, key_at, &of);
    }
    return guildhall_key_indexes_publish(&c.payload->indexes, made);
}

/* Of equal keys the last counts, as in a Hash. */
static int walk(cursor c, spot map, guildhall_key key, spot *found)
{
    guildhall_avro_items items = guildhall_avro_items_of(view_of(c), map);
    int there = 0;
    while (guildhall_avro_items_next(&items)) {
        if (items.key_length != key.length || memcmp(items.key, key.bytes, key.length)) continue;
        *found = items.value;
        there = 1;
    }
    return there;
}

static int find_pair(cursor c, spot map, guildhall_key key, spot *found)
{
    guildhall_key_index *index = NULL;
    if (guildhall_avro_count(view_of(c), map) > GUILDHALL_KEYS_WALKED) index = index_of(c, map);
    if (!index) return walk(c, map, key, found);
    indexed of = {view_of(c), map};
    uint32_t place = guildhall_key_index_get(index, key, key_at, &of);
    guildhall_avro_items entry;
    if (place) *found = entry_at(&of, place, &entry);
    return place != 0;
}

/* A field that was written, in *found; a default, in *fallback. */
static int find_field(cursor c, spot record, VALUE key, VALUE text, spot *found, VALUE *fallback)
{
    const guildhall_avro_node *node = node_at(c, record);
    uint32_t place = guildhall_avro_field(view_of(c)->program, node, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
    if (place == UINT32_MAX) return 0;
    const uint32_t *operand = view_of(c)->program->operands + node->first + 2 * (size_t)place;
    int written = place < node->count;
    if (!NIL_P(key) && RB_SYMBOL_P(constant(c, operand[written])) != RB_SYMBOL_P(key)) return 0;
    if (written) *found = guildhall_avro_member(view_of(c), record, place);
    else *fallback = constant(c, operand[1]);
    return 1;
}

/* The text that a key given by the caller means; 0: none. */
static VALUE key_text(cursor c, spot s, VALUE key)
{
    if (RB_SYMBOL_P(key)) return node_at(c, s)->type == GUILDHALL_AVRO_RECORD ? rb_sym2str(key) : 0;
    if (!RB_TYPE_P(key, T_STRING)) return 0;
    if (RB_LIKELY(RB_ENCODING_GET_INLINED(key) == utf8_index)) return key;
    return rb_enc_asciicompat(rb_enc_get(key)) && rb_enc_str_asciionly_p(key) ? key : 0;
}

/* What stands under a key of a record or map; *fallback is Qundef unless it is a default. */
static int member(cursor c, spot s, VALUE key, spot *found, VALUE *fallback)
{
    VALUE text = key_text(c, s, key);
    *fallback = Qundef;
    if (!text) return 0;
    int there;
    if (node_at(c, s)->type == GUILDHALL_AVRO_RECORD) {
        there = find_field(c, s, key, text, found, fallback);
    } else {
        there = find_pair(c, s, (guildhall_key){(const uint8_t *)RSTRING_PTR(text), (size_t)RSTRING_LEN(text)}, found);
    }
    RB_GC_GUARD(text);
    return there;
}

/* position: as Array#[] has it, negative from the end. */
static int element(cursor c, spot array, long position, spot *found)
{
    long count = (long)guildhall_avro_count(view_of(c), array);
    if (position < 0) position += count;
    if (position < 0 || position >= count) return 0;
    *found = guildhall_avro_item(view_of(c), array, (uint32_t)position);
    return 1;
}

static VALUE map_aref(VALUE self, VALUE key)
{
    cursor c = guildhall_avro_document_read(self);
    spot found;
    VALUE fallback;
    if (!member(c, c.spot, key, &found, &fallback)) return Qnil;
    return fallback == Qundef ? guildhall_avro_document_value(c, found) : fallback;
}

static VALUE map_has_key(VALUE self, VALUE key)
{
    cursor c = guildhall_avro_document_read(self);
    spot found;
    VALUE fallback;
    return member(c, c.spot, key, &found, &fallback) ? Qtrue : Qfalse;
}

static VALUE array_at(VALUE self, VALUE position)
{
    cursor c = guildhall_avro_document_read(self);
    spot found;
    return element(c, c.spot, NUM2LONG(position), &found) ? guildhall_avro_document_value(c, found) : Qnil;
}

/* Ruby's own dig decides what it means for a value that is no Document. */
static VALUE dig_on(VALUE value, int count, VALUE *keys)
{
    return NIL_P(value) || !count ? value : rb_funcallv(value, rb_intern("dig"), count, keys);
}

static VALUE dig(int count, VALUE *keys, VALUE self)
{
    rb_check_arity(count, 1, UNLIMITED_ARGUMENTS);
    cursor c = guildhall_avro_document_read(self);
    spot s = c.spot;
    for (int i = 0; i < count; i++) {
        VALUE fallback = Qundef;
        s = guildhall_avro_chosen(view_of(c), s);
        uint8_t kind = node_at(c, s)->type;
        if (kind == GUILDHALL_AVRO_ARRAY) {
            if (!element(c, s, NUM2LONG(keys[i]), &s)) return Qnil;
        } else if (kind == GUILDHALL_AVRO_RECORD || kind == GUILDHALL_AVRO_MAP) {
            if (!member(c, s, keys[i], &s, &fallback)) return Qnil;
            if (fallback != Qundef) return dig_on(fallback, count - i - 1, keys + i + 1);
        } else {
            return dig_on(guildhall_avro_document_value(c, s), count - i, keys + i);
        }
    }
    return guildhall_avro_document_value(c, s);
}

static VALUE size(VALUE self)
{
    cursor c = guildhall_avro_document_read(self);
    return UINT2NUM(count_of(c, c.spot));
}

static VALUE size_for_enumerator(VALUE self, VALUE arguments, VALUE enumerator) { return size(self); }

static VALUE key_of(cursor c, const guildhall_avro_items *items)
{
    if (items->node->type == GUILDHALL_AVRO_RECORD) return constant(c, items->name);
    return guildhall_avro_key(items->key, items->key_length);
}

/* Calls for every pair or element; the defaults of a record come last. key: Qundef for elements. */
static void each_item(cursor c, void (*visit)(VALUE key, VALUE value, void *context), void *context)
{
    const guildhall_avro_node *node = node_at(c, c.spot);
    VALUE document = c.document;
    guildhall_avro_items items = guildhall_avro_items_of(view_of(c), c.spot);
    uint32_t seen = 0;
    for (; guildhall_avro_items_next(&items); seen++) {
        VALUE key = node->type == GUILDHALL_AVRO_ARRAY ? Qundef : key_of(c, &items);
        visit(key, guildhall_avro_document_value(c, items.value), context);
    }
    if (node->type != GUILDHALL_AVRO_RECORD) return;
    for (const uint32_t *operand = view_of(c)->program->operands + items.operand; seen < node->kept; seen++, operand += 2) {
        visit(constant(c, operand[0]), constant(c, operand[1]), context);
    }
    RB_GC_GUARD(document);
}

static void yield_pair(VALUE key, VALUE value, void *context) { rb_yield(rb_assoc_new(key, value)); }
static void yield_element(VALUE key, VALUE value, void *context) { rb_yield(value); }

static VALUE map_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    each_item(guildhall_avro_document_read(self), yield_pair, NULL);
    return self;
}

static VALUE array_each(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, size_for_enumerator);
    each_item(guildhall_avro_document_read(self), yield_element, NULL);
    return self;
}

static void push_key(VALUE key, VALUE value, void *array) { rb_ary_push((VALUE)array, key); }
static void push_value(VALUE key, VALUE value, void *array) { rb_ary_push((VALUE)array, value); }

static VALUE collected(VALUE self, void (*visit)(VALUE key, VALUE value, void *context))
{
    VALUE made = rb_ary_new();
    each_item(guildhall_avro_document_read(self), visit, (void *)made);
    RB_GC_GUARD(made);
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
    cursor c = guildhall_avro_document_read(self);
    return guildhall_avro_document_build(c, c.spot);
}

/* For pattern matching, whose keys are Symbols: what is not asked for is not made. */
static VALUE named_members(VALUE self, VALUE names)
{
    cursor c = guildhall_avro_document_read(self);
    VALUE made = rb_hash_new();
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = rb_ary_entry(names, i), fallback = Qundef;
        spot found;
        if (!RB_SYMBOL_P(name)) continue;
        VALUE text = rb_sym2str(name);
        int record = node_at(c, c.spot)->type == GUILDHALL_AVRO_RECORD;
        if (record ? !find_field(c, c.spot, Qnil, text, &found, &fallback) : !member(c, c.spot, text, &found, &fallback)) continue;
        rb_hash_aset(made, name, fallback == Qundef ? guildhall_avro_document_value(c, found) : fallback);
    }
    RB_GC_GUARD(self);
    return made;
}

void guildhall_init_avro_view(VALUE document, VALUE map, VALUE array)
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
