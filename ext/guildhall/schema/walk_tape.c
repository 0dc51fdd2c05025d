/* The walker over the tape of a JSON Document: no Ruby object is made for what is valid, except where Ruby has to
 * look at it (a Regexp, a callable, a number beyond 64 bits). */
#include <ruby.h>
#include <ruby/encoding.h>
#include "format.h"
#include "json/document.h"
#include "walk.h"

typedef uint32_t node; /* its place on the tape */

static inline guildhall_json_view schema_walk_tape_view_of(const guildhall_walk *walk)
{
    return guildhall_json_view_of(walk->source);
}
static inline guildhall_json_node schema_walk_tape_at(const guildhall_walk *walk, node n) { return schema_walk_tape_view_of(walk).nodes[n]; }

static inline unsigned schema_node_kind_of(guildhall_walk *walk, node n)
{
    static const uint8_t kinds[16] = {
        [GUILDHALL_JSON_NULL] = GUILDHALL_KIND_NULL,
        [GUILDHALL_JSON_FALSE] = GUILDHALL_KIND_BOOLEAN,
        [GUILDHALL_JSON_TRUE] = GUILDHALL_KIND_BOOLEAN,
        [GUILDHALL_JSON_INTEGER] = GUILDHALL_KIND_INTEGER,
        [GUILDHALL_JSON_BIG_INTEGER] = GUILDHALL_KIND_INTEGER,
        [GUILDHALL_JSON_FLOAT] = GUILDHALL_KIND_FLOAT,
        [GUILDHALL_JSON_CONSTANT] = GUILDHALL_KIND_FLOAT,
        [GUILDHALL_JSON_ASCII] = GUILDHALL_KIND_STRING,
        [GUILDHALL_JSON_UTF8] = GUILDHALL_KIND_STRING,
        [GUILDHALL_JSON_ESCAPED] = GUILDHALL_KIND_STRING,
        [GUILDHALL_JSON_ARRAY] = GUILDHALL_KIND_ARRAY,
        [GUILDHALL_JSON_OBJECT] = GUILDHALL_KIND_OBJECT,
    };
    return kinds[guildhall_json_type_of(schema_walk_tape_at(walk, n))];
}

static inline bool schema_node_is_true(guildhall_walk *walk, node n)
{
    return guildhall_json_type_of(schema_walk_tape_at(walk, n)) == GUILDHALL_JSON_TRUE;
}
static inline size_t schema_node_size_of(guildhall_walk *walk, node n) { return guildhall_json_length(schema_walk_tape_at(walk, n)); }

static VALUE schema_node_value_of(guildhall_walk *walk, node n)
{
    return guildhall_json_build(guildhall_json_codec_in(walk->source), schema_walk_tape_view_of(walk), n);
}

static inline size_t schema_node_weight_of(guildhall_walk *walk, node n)
{
    return guildhall_json_next(schema_walk_tape_view_of(walk).nodes, n) - n;
}

/* The number as an object, where the codec makes one of decimals: as exact as it is when the payload is decoded. */
static guildhall_number schema_walk_tape_number_object(guildhall_walk *walk, node n)
{
    guildhall_walk_count(walk, 2);
    VALUE value = schema_node_value_of(walk, n);
    if (rb_obj_is_kind_of(value, rb_cNumeric)) return guildhall_number_of(value);
    double real = guildhall_json_double(schema_walk_tape_view_of(walk), schema_walk_tape_at(walk, n));
    return (guildhall_number){.kind = GUILDHALL_NUMBER_DOUBLE, .real = real};
}

static inline guildhall_number schema_node_number_of(guildhall_walk *walk, node n)
{
    guildhall_json_node number = schema_walk_tape_at(walk, n);
    guildhall_json_type type = guildhall_json_type_of(number);
    if (type == GUILDHALL_JSON_INTEGER)
        return (guildhall_number){.kind = GUILDHALL_NUMBER_INTEGER, .integer = guildhall_json_integer(number)};
    guildhall_walk_count_bytes(walk, guildhall_json_length(number));
    if (type == GUILDHALL_JSON_BIG_INTEGER) return schema_walk_tape_number_object(walk, n);
    if (type == GUILDHALL_JSON_FLOAT && !NIL_P(guildhall_json_codec_in(walk->source)->decimal_receiver))
        return schema_walk_tape_number_object(walk, n);
    return (guildhall_number){.kind = GUILDHALL_NUMBER_DOUBLE, .real = guildhall_json_double(schema_walk_tape_view_of(walk), number)};
}

static inline guildhall_text schema_node_text_of(guildhall_walk *walk, node n)
{
    guildhall_json_node string = schema_walk_tape_at(walk, n);
    guildhall_text text = {guildhall_json_source(schema_walk_tape_view_of(walk), string), guildhall_json_length(string)};
    guildhall_walk_count_bytes(walk, text.length);
    if (guildhall_json_type_of(string) != GUILDHALL_JSON_ESCAPED) return text;
    uint8_t *plain = guildhall_stack_take(&walk->stack, text.length);
    return (guildhall_text){plain, guildhall_json_unescape(text.bytes, text.length, plain)};
}

/* One String for all that Ruby has to match or look up, refilled each time. */
static VALUE schema_node_string_of(guildhall_walk *walk, node n)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    guildhall_text text = schema_node_text_of(walk, n);
    if (NIL_P(walk->string)) walk->string = rb_enc_str_new(NULL, 0, rb_utf8_encoding());
    rb_str_set_len(walk->string, 0);
    rb_str_cat(walk->string, (const char *)text.bytes, (long)text.length);
    guildhall_stack_release(&walk->stack, mark);
    return walk->string;
}

typedef struct {
    const guildhall_json_node *nodes;
    uint32_t index, left;
} item_cursor;

static inline item_cursor schema_node_items_of(guildhall_walk *walk, node n)
{
    return (item_cursor){schema_walk_tape_view_of(walk).nodes, n + 1, guildhall_json_length(schema_walk_tape_at(walk, n))};
}

static inline bool schema_node_next_item(item_cursor *cursor, node *item)
{
    if (cursor->left == 0) return false;
    cursor->left--;
    *item = cursor->index;
    cursor->index = guildhall_json_next(cursor->nodes, cursor->index);
    return true;
}

typedef item_cursor member_cursor;
#define MEMBERS_OF(walk, n, cursor) member_cursor cursor = schema_node_items_of(walk, n)
#define MEMBERS_END(cursor) ((void)0)

static inline bool schema_node_next_member(member_cursor *cursor, node *key, node *value)
{
    *key = cursor->index++;
    return schema_node_next_item(cursor, value);
}

static bool schema_node_find_member(guildhall_walk *walk, node n, guildhall_text text, node *value)
{
    guildhall_walk_count(walk, schema_node_size_of(walk, n) / 8);
    *value = guildhall_json_find(schema_walk_tape_view_of(walk), n, text.bytes, text.length);
    return *value != 0;
}

#include "walker.inc.c"

bool guildhall_walk_tape(guildhall_walk *walk, uint32_t index)
{
    const frame root = {NULL, index, -1};
    return schema_walker_walk_schema(walk, 0, index, &root, NULL, NULL);
}
