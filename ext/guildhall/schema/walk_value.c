/* The walker over Ruby's Hashes, Arrays and scalars. Keys may be Symbols: a Symbol counts as its name there, and as
 * nothing that JSON knows anywhere else. */
#include <ruby.h>
#include <ruby/encoding.h>
#include "document/plain.h"
#include "format.h"
#include "walk.h"

typedef VALUE node;

static inline unsigned schema_node_kind_of(guildhall_walk *walk, node n)
{
    if (FIXNUM_P(n)) return GUILDHALL_KIND_INTEGER;
    if (RB_FLONUM_P(n)) return GUILDHALL_KIND_FLOAT;
    if (NIL_P(n)) return GUILDHALL_KIND_NULL;
    if (n == Qtrue || n == Qfalse) return GUILDHALL_KIND_BOOLEAN;
    if (RB_SPECIAL_CONST_P(n)) return GUILDHALL_KIND_OTHER;
    switch (RB_BUILTIN_TYPE(n)) {
    case T_STRING: return GUILDHALL_KIND_STRING;
    case T_ARRAY: return GUILDHALL_KIND_ARRAY;
    case T_HASH: return GUILDHALL_KIND_OBJECT;
    case T_BIGNUM: return GUILDHALL_KIND_INTEGER;
    case T_FLOAT: return GUILDHALL_KIND_FLOAT;
    default: return rb_obj_is_kind_of(n, rb_cNumeric) ? GUILDHALL_KIND_FLOAT : GUILDHALL_KIND_OTHER;
    }
}

static inline bool schema_node_is_true(guildhall_walk *walk, node n) { return n == Qtrue; }

static inline size_t schema_node_size_of(guildhall_walk *walk, node n)
{
    return RB_TYPE_P(n, T_ARRAY) ? (size_t)RARRAY_LEN(n) : RB_TYPE_P(n, T_HASH) ? (size_t)RHASH_SIZE(n) : 0;
}

static inline guildhall_number schema_node_number_of(guildhall_walk *walk, node n)
{
    guildhall_number number = guildhall_number_of(n);
    if (number.kind == GUILDHALL_NUMBER_OBJECT) guildhall_walk_count(walk, 2);
    return number;
}

static inline bool schema_walk_value_is_utf8(int encoding)
{
    return RB_LIKELY(encoding == rb_utf8_encindex()) || encoding == rb_usascii_encindex();
}

/* As UTF-8, which JSON Schema is about: binary bytes are what came over the wire. Ruby cannot convert every encoding. */
static VALUE schema_walk_value_utf8(VALUE string)
{
    int encoding = RB_ENCODING_GET(string);
    if (schema_walk_value_is_utf8(encoding)) return string;
    if (encoding == rb_ascii8bit_encindex() || !rb_econv_has_convpath_p(rb_enc_name(rb_enc_from_index(encoding)), "UTF-8"))
        return rb_enc_str_new(RSTRING_PTR(string), RSTRING_LEN(string), rb_utf8_encoding());
    return rb_str_encode(string, rb_enc_from_encoding(rb_utf8_encoding()), ECONV_INVALID_REPLACE | ECONV_UNDEF_REPLACE, Qnil);
}

/* What stands for an object during a walk: made once, and kept until the walk ends. */
static VALUE schema_walk_value_made_once(guildhall_walk *walk, VALUE object, VALUE (*make)(VALUE))
{
    if (NIL_P(walk->made)) walk->made = rb_funcall(rb_hash_new(), rb_intern("compare_by_identity"), 0);
    VALUE known = rb_hash_lookup2(walk->made, object, Qundef);
    return known != Qundef ? known : rb_hash_aset(walk->made, object, make(object));
}

static inline guildhall_text schema_node_text_of(guildhall_walk *walk, node n)
{
    int encoding = RB_ENCODING_GET(n);
    if (RB_UNLIKELY(!schema_walk_value_is_utf8(encoding) && encoding != rb_ascii8bit_encindex()))
        n = schema_walk_value_made_once(walk, n, schema_walk_value_utf8);
    guildhall_walk_count_bytes(walk, (size_t)RSTRING_LEN(n));
    return (guildhall_text){(const uint8_t *)RSTRING_PTR(n), (size_t)RSTRING_LEN(n)};
}
static inline VALUE schema_node_value_of(guildhall_walk *walk, node n) { return n; }
static inline size_t schema_node_weight_of(guildhall_walk *walk, node n) { return 0; }

static VALUE schema_node_string_of(guildhall_walk *walk, node n)
{
    guildhall_walk_count_bytes(walk, (size_t)RSTRING_LEN(n));
    return schema_walk_value_utf8(n);
}

/* Documents stand in Hashes and Arrays that others made of parts of one (`select`, `merge`): they are what they decode to. */
static inline node schema_walk_value_plain(guildhall_walk *walk, VALUE value)
{
    if (RB_LIKELY(RB_SPECIAL_CONST_P(value) || RB_BUILTIN_TYPE(value) != T_DATA)) return value;
    return guildhall_document_p(value) ? schema_walk_value_made_once(walk, value, guildhall_document_decoded_value) : value;
}

typedef struct {
    guildhall_walk *walk;
    VALUE array;
    long index;
} item_cursor;

static inline item_cursor schema_node_items_of(guildhall_walk *walk, node n) { return (item_cursor){walk, n, 0}; }

static inline bool schema_node_next_item(item_cursor *cursor, node *item)
{
    if (cursor->index >= RARRAY_LEN(cursor->array)) return false;
    *item = schema_walk_value_plain(cursor->walk, RARRAY_AREF(cursor->array, cursor->index++));
    return true;
}

/* Keys and values copied out, to where the garbage collector sees them: a Hash cannot be walked from outside. */
typedef struct {
    guildhall_walk *walk;
    VALUE *pairs;
    size_t index, count;
} member_cursor;

static int schema_walk_value_copy_pair(VALUE key, VALUE value, VALUE data)
{
    member_cursor *cursor = (member_cursor *)data;
    if (cursor->count * 2 >= cursor->index) return ST_STOP; /* it grew: another thread changes it */
    if (SYMBOL_P(key)) key = rb_sym2str(key);
    else if (!RB_TYPE_P(key, T_STRING)) key = rb_obj_as_string(key);
    cursor->pairs[cursor->count * 2] = key;
    cursor->pairs[cursor->count * 2 + 1] = value;
    cursor->count++;
    return ST_CONTINUE;
}

static inline member_cursor schema_walk_value_members_of(guildhall_walk *walk, VALUE hash, VALUE *room, size_t pairs)
{
    member_cursor cursor = {walk, room, pairs * 2, 0};
    rb_hash_foreach(hash, schema_walk_value_copy_pair, (VALUE)&cursor);
    cursor.index = 0;
    return cursor;
}

#define MEMBERS_OF(walk, n, cursor) \
    VALUE cursor##_room; \
    size_t cursor##_size = (size_t)RHASH_SIZE(n); \
    VALUE *cursor##_pairs = ALLOCV_N(VALUE, cursor##_room, cursor##_size * 2 + 1); \
    member_cursor cursor = schema_walk_value_members_of(walk, n, cursor##_pairs, cursor##_size)
#define MEMBERS_END(cursor) ALLOCV_END(cursor##_room)

static inline bool schema_node_next_member(member_cursor *cursor, node *key, node *value)
{
    if (cursor->index == cursor->count) return false;
    *key = cursor->pairs[cursor->index * 2];
    *value = schema_walk_value_plain(cursor->walk, cursor->pairs[cursor->index * 2 + 1]);
    cursor->index++;
    return true;
}

typedef struct {
    guildhall_walk *walk;
    guildhall_text text;
    node *value;
} member_search;

/* A key that Ruby finds only by a String of its own encoding. */
static int schema_walk_value_same_text(VALUE key, VALUE value, VALUE data)
{
    const member_search *search = (const member_search *)data;
    if (!RB_TYPE_P(key, T_STRING) || schema_walk_value_is_utf8(RB_ENCODING_GET(key))) return ST_CONTINUE;
    if (!guildhall_text_equal(schema_node_text_of(search->walk, key), search->text)) return ST_CONTINUE;
    *search->value = value;
    return ST_STOP;
}

static bool schema_node_find_member(guildhall_walk *walk, node n, guildhall_text text, node *value)
{
    VALUE key = rb_utf8_str_new((const char *)text.bytes, (long)text.length);
    *value = rb_hash_lookup2(n, key, Qundef);
    if (*value == Qundef) *value = rb_hash_lookup2(n, rb_str_intern(key), Qundef);
    if (*value == Qundef) {
        guildhall_walk_count(walk, schema_node_size_of(walk, n) / 8);
        rb_hash_foreach(n, schema_walk_value_same_text, (VALUE)&(member_search){walk, text, value});
    }
    if (*value == Qundef) return false;
    *value = schema_walk_value_plain(walk, *value);
    return true;
}

#include "walker.inc.c"

bool guildhall_walk_among(guildhall_walk *walk, VALUE value, VALUE others)
{
    for (long i = 0; i < RARRAY_LEN(others); i++) {
        if (schema_walker_equal_nodes(walk, value, RARRAY_AREF(others, i))) return true;
    }
    RB_GC_GUARD(value);
    return false;
}

bool guildhall_walk_value(guildhall_walk *walk, VALUE value)
{
    const frame root = {NULL, value, -1};
    return schema_walker_walk_schema(walk, 0, value, &root, NULL, NULL);
}
