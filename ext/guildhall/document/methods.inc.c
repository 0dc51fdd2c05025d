/* What can be asked of a Document, as far as it pays to answer it in C; the rest is Ruby (lib/guildhall/document). A format's
 * document.c includes this last, so that the compiler makes one piece of it and of the format's own functions:
 *
 *   #define DOCUMENT(name)   the name with the file's prefix
 *   resolve, build           as in guildhall_document_format
 *   count                    of a container's items
 *   member                   of a map; 0: there is no such key. *fallback: a value that the payload does not have
 *   named                    the same, by a String that means a String or a Symbol
 *   element                  of an array; index below the count
 *   items, start, next       a container's items in their order; next: 0 at the end
 *   key                      of the item that `next` has given
 *   DOCUMENT_SCALAR          optional: a scalar, of which short Strings perhaps come from the caches
 *   DOCUMENT_NESTED          optional: what is made of a Document inside another one
 */
#include "any.h"
#include "object.h"
#include "values/frozen.h"

static inline VALUE DOCUMENT(value)(const guildhall_cursor *c, guildhall_position at, VALUE fallback)
{
    if (fallback != Qundef) return fallback;
    guildhall_position given = at;
    guildhall_kind kind = DOCUMENT(resolve)(&c->view, &at);
    if (kind == GUILDHALL_SCALAR) return DOCUMENT(build)(&c->view, at);
    VALUE made = guildhall_document_inside(c->root, at, kind);
#ifdef DOCUMENT_NESTED
    if (kind == GUILDHALL_MAP) made = DOCUMENT_NESTED(&c->view, given, at, made);
#endif
    (void)given;
    return made;
}

/* Of a map by a key, of an array by an Integer as Array#[] has it, negative from the end. */
static inline int DOCUMENT(find_in_map)(const guildhall_cursor *c, guildhall_position map, VALUE key, guildhall_position *found, VALUE *fallback)
{
    int there = DOCUMENT(member)(&c->view, map, key, found, fallback);
    guildhall_key_indexes_report(c->view.key_indexes);
    return there;
}

static inline int DOCUMENT(find_in_array)(const guildhall_cursor *c, guildhall_position array, long index, guildhall_position *found)
{
    long count = (long)DOCUMENT(count)(&c->view, array);
    if (index < 0) index += count;
    if (index < 0 || index >= count) return 0;
    *found = DOCUMENT(element)(&c->view, array, (uint32_t)index);
    guildhall_key_indexes_report(c->view.key_indexes);
    return 1;
}

static VALUE DOCUMENT(map_aref)(VALUE self, VALUE key)
{
    guildhall_cursor c = guildhall_document_self(self);
    guildhall_position at;
    VALUE fallback = Qundef, value = DOCUMENT(find_in_map)(&c, c.position, key, &at, &fallback) ? DOCUMENT(value)(&c, at, fallback) : Qnil;
    RB_GC_GUARD(self);
    return value;
}

static VALUE DOCUMENT(map_has_key)(VALUE self, VALUE key)
{
    guildhall_cursor c = guildhall_document_self(self);
    guildhall_position at;
    VALUE fallback = Qundef, there = DOCUMENT(find_in_map)(&c, c.position, key, &at, &fallback) ? Qtrue : Qfalse;
    RB_GC_GUARD(self);
    return there;
}

static VALUE DOCUMENT(array_at)(VALUE self, VALUE index)
{
    guildhall_cursor c = guildhall_document_self(self);
    guildhall_position at;
    VALUE value = DOCUMENT(find_in_array)(&c, c.position, NUM2LONG(index), &at) ? DOCUMENT(value)(&c, at, Qundef) : Qnil;
    RB_GC_GUARD(self);
    return value;
}

static VALUE DOCUMENT(dig)(int count, VALUE *keys, VALUE self)
{
    rb_check_arity(count, 1, UNLIMITED_ARGUMENTS);
    guildhall_cursor c = guildhall_document_self(self);
    guildhall_position at = c.position;
    for (int i = 0; i < count; i++) {
        VALUE fallback = Qundef;
        guildhall_position given = at;
        guildhall_kind kind = DOCUMENT(resolve)(&c.view, &at);
        if (kind == GUILDHALL_SCALAR) return guildhall_document_dig_on(DOCUMENT(value)(&c, given, Qundef), count - i, keys + i);
        if (kind == GUILDHALL_ARRAY ? !DOCUMENT(find_in_array)(&c, at, NUM2LONG(keys[i]), &at)
                                    : !DOCUMENT(find_in_map)(&c, at, keys[i], &at, &fallback)) return Qnil;
        if (fallback != Qundef) return guildhall_document_dig_on(fallback, count - i - 1, keys + i + 1);
    }
    VALUE value = DOCUMENT(value)(&c, at, Qundef);
    RB_GC_GUARD(self);
    return value;
}

/* Paths ask what is there: what is no container has nothing inside. */
static VALUE DOCUMENT(column)(const guildhall_view *view, guildhall_position at, long count, const VALUE *steps, struct guildhall_caches *caches)
{
    VALUE fallback = Qundef;
    guildhall_position given = at;
    guildhall_kind kind = DOCUMENT(resolve)(view, &at);
    for (long i = 0; i < count; i++) {
        int key = !RB_FIXNUM_P(steps[i]), there = 0;
        if (kind == GUILDHALL_MAP && key) {
            there = DOCUMENT(named)(view, at, steps[i], &at, &fallback);
        } else if (kind == GUILDHALL_ARRAY && !key) {
            long items = (long)DOCUMENT(count)(view, at), index = FIX2LONG(steps[i]);
            if (index < 0) index += items;
            there = index >= 0 && index < items;
            if (there) at = DOCUMENT(element)(view, at, (uint32_t)index);
        }
        if (!there) return Qnil;
        if (fallback != Qundef) return guildhall_columns_of_plain(fallback, count - i - 1, steps + i + 1);
        given = at;
        kind = DOCUMENT(resolve)(view, &at);
    }
#ifdef DOCUMENT_SCALAR
    if (kind == GUILDHALL_SCALAR) return DOCUMENT_SCALAR(view, at, caches);
#endif
    (void)caches;
    return DOCUMENT(build)(view, kind == GUILDHALL_SCALAR ? at : given);
}

static VALUE DOCUMENT(size)(VALUE self)
{
    guildhall_cursor c = guildhall_document_self(self);
    uint32_t count = DOCUMENT(count)(&c.view, c.position);
    RB_GC_GUARD(self);
    return UINT2NUM(count);
}

static VALUE DOCUMENT(size_for_enumerator)(VALUE self, VALUE arguments, VALUE enumerator) { return DOCUMENT(size)(self); }

/* Yields each item, or collects it: its key, its value, or the pair. */
static inline void DOCUMENT(visit)(VALUE self, int keys, int values, VALUE collected)
{
    guildhall_cursor c = guildhall_document_self(self);
    guildhall_position at;
    VALUE fallback = Qundef;
    DOCUMENT(items) items;
    DOCUMENT(start)(&items, &c.view, c.position);
    while (DOCUMENT(next)(&items, &at, &fallback)) {
        VALUE item = keys ? DOCUMENT(key)(&items, &c.view) : Qundef;
        if (values) {
            VALUE value = DOCUMENT(value)(&c, at, fallback);
            item = keys ? rb_assoc_new(item, value) : value;
        }
        if (collected) rb_ary_push(collected, item);
        else rb_yield(item);
    }
    RB_GC_GUARD(self);
    RB_GC_GUARD(collected);
}

static VALUE DOCUMENT(map_each)(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, DOCUMENT(size_for_enumerator));
    DOCUMENT(visit)(self, 1, 1, 0);
    return self;
}

static VALUE DOCUMENT(array_each)(VALUE self)
{
    RETURN_SIZED_ENUMERATOR(self, 0, 0, DOCUMENT(size_for_enumerator));
    DOCUMENT(visit)(self, 0, 1, 0);
    return self;
}

static VALUE DOCUMENT(map_keys)(VALUE self)
{
    VALUE keys = rb_ary_new_capa(NUM2LONG(DOCUMENT(size)(self)));
    DOCUMENT(visit)(self, 1, 0, keys);
    return guildhall_share(keys);
}

/* A map's values, an array's elements: containers among them as Documents. */
static VALUE DOCUMENT(values)(VALUE self)
{
    VALUE values = rb_ary_new_capa(NUM2LONG(DOCUMENT(size)(self)));
    DOCUMENT(visit)(self, 0, 1, values);
    return guildhall_share(values);
}

/* By an Integer without a detour, by anything else that Array#[] takes with one. */
static VALUE DOCUMENT(array_aref)(int count, VALUE *arguments, VALUE self)
{
    if (count == 1 && RB_FIXNUM_P(arguments[0])) return DOCUMENT(array_at)(self, arguments[0]);
    return rb_funcallv(DOCUMENT(values)(self), rb_intern("[]"), count, arguments);
}

static VALUE DOCUMENT(decode)(VALUE self)
{
    guildhall_cursor c = guildhall_document_self(self);
    VALUE made = DOCUMENT(build)(&c.view, c.position);
    RB_GC_GUARD(self);
    return made;
}

/* For pattern matching, whose keys are Symbols: what is not asked for is not made. */
static VALUE DOCUMENT(named_members)(VALUE self, VALUE names)
{
    Check_Type(names, T_ARRAY);
    guildhall_cursor c = guildhall_document_self(self);
    VALUE made = rb_hash_new();
    for (long i = 0; i < RARRAY_LEN(names); i++) {
        VALUE name = rb_ary_entry(names, i), fallback = Qundef;
        guildhall_position at;
        if (!RB_SYMBOL_P(name)) continue;
        VALUE text = rb_sym2str(name);
        if (DOCUMENT(named)(&c.view, c.position, text, &at, &fallback)) rb_hash_aset(made, name, DOCUMENT(value)(&c, at, fallback));
        guildhall_key_indexes_report(c.view.key_indexes);
        RB_GC_GUARD(text);
    }
    RB_GC_GUARD(self);
    return made;
}

/* Returns the class of both kinds. */
static VALUE DOCUMENT(define)(VALUE under, guildhall_document_format *format, const char *map_name)
{
    VALUE document = guildhall_init_documents(under, format, map_name), map = format->map_class, array = format->array_class;
    format->column = DOCUMENT(column);
    rb_define_method(document, "dig", DOCUMENT(dig), -1);
    rb_define_method(document, "size", DOCUMENT(size), 0);
    rb_define_method(document, "decode", DOCUMENT(decode), 0);
    rb_define_method(map, "[]", DOCUMENT(map_aref), 1);
    rb_define_method(map, "key?", DOCUMENT(map_has_key), 1);
    rb_define_method(map, "each", DOCUMENT(map_each), 0);
    rb_define_method(map, "keys", DOCUMENT(map_keys), 0);
    rb_define_method(map, "values", DOCUMENT(values), 0);
    rb_define_private_method(map, "named_members", DOCUMENT(named_members), 1);
    rb_define_method(array, "at", DOCUMENT(array_at), 1);
    rb_define_method(array, "[]", DOCUMENT(array_aref), -1);
    rb_define_method(array, "each", DOCUMENT(array_each), 0);
    rb_define_method(array, "elements", DOCUMENT(values), 0);
    return document;
}
