/* Guildhall::Shareable.plain!: makes plain data shareable, in one walk and without a table of what was seen: what a
 * parser has just made, whose Hashes have no default and which nobody else can see yet. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "init.h"
#include "values.h"

static VALUE share_plain(VALUE object);

static int share_pair(VALUE key, VALUE value, VALUE unused)
{
    share_plain(key);
    share_plain(value);
    return ST_CONTINUE;
}

/* Set before what is inside, so that a structure that holds itself ends. */
static void share_container(VALUE object)
{
    if (ruby_stack_check()) rb_raise(rb_eSysStackError, "stack level too deep");
    rb_obj_freeze(object);
    guildhall_share(object);
    if (RB_TYPE_P(object, T_HASH)) {
        rb_hash_foreach(object, share_pair, Qnil);
        return;
    }
    for (long i = 0; i < RARRAY_LEN(object); i++) share_plain(RARRAY_AREF(object, i));
}

/* With a class of its own, or with instance variables, it is not plain. */
static inline int is_plain(VALUE object, VALUE class)
{
    return RBASIC_CLASS(object) == class && rb_ivar_count(object) == 0;
}

static VALUE share_plain(VALUE object)
{
    if (RB_SPECIAL_CONST_P(object) || RB_FL_ANY_RAW(object, RUBY_FL_SHAREABLE)) return object;
    switch (RB_BUILTIN_TYPE(object)) {
    case T_STRING:
        if (!is_plain(object, rb_cString)) break;
        rb_obj_freeze(object);
        return guildhall_share(object);
    case T_FLOAT: return guildhall_share(object);
    case T_ARRAY:
        if (!is_plain(object, rb_cArray)) break;
        share_container(object);
        return object;
    case T_HASH:
        if (!is_plain(object, rb_cHash)) break;
        share_container(object);
        return object;
    default: break;
    }
    return rb_ractor_make_shareable(object);
}

static VALUE plain(VALUE self, VALUE object) { return share_plain(object); }

void guildhall_init_share_plain(VALUE guildhall)
{
    rb_define_singleton_method(rb_define_module_under(guildhall, "Shareable"), "plain!", plain, 1);
}
