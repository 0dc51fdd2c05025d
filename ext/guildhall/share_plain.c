/* Guildhall::Shareable.plain!: makes plain data shareable, in one walk and without a table of what was seen: what a
 * parser has just made, whose Hashes have no default and which nobody else can see yet. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "init.h"
#include "value_stack.h"
#include "values.h"

typedef struct {
    VALUE root;
    guildhall_value_stack containers; /* that have their flag */
} walk;

static void share_plain(walk *w, VALUE object);

static int share_pair(VALUE key, VALUE value, VALUE pointer)
{
    share_plain((walk *)pointer, key);
    share_plain((walk *)pointer, value);
    return ST_CONTINUE;
}

/* Has its flag before what is inside, so that a structure that holds itself ends. */
static void share_container(walk *w, VALUE object)
{
    if (ruby_stack_check()) rb_raise(rb_eSysStackError, "stack level too deep");
    guildhall_value_stack_push(&w->containers, object);
    guildhall_share(object);
    if (RB_TYPE_P(object, T_HASH)) {
        rb_hash_foreach(object, share_pair, (VALUE)w);
        return;
    }
    for (long i = 0; i < RARRAY_LEN(object); i++) share_plain(w, RARRAY_AREF(object, i));
}

/* Contents that are another object's, as those of a long end of a String are: that object is not shareable. */
static inline int borrows(VALUE object) { return RB_FL_ANY_RAW(object, RUBY_ELTS_SHARED) != 0; }

static inline void give_own_contents(VALUE object)
{
    if (RB_LIKELY(!borrows(object)) || RB_OBJ_FROZEN_RAW(object)) return;
    if (RB_BUILTIN_TYPE(object) == T_STRING) rb_str_modify(object);
    else if (RB_BUILTIN_TYPE(object) == T_ARRAY) rb_ary_modify(object);
}

/* Not so with a class of its own, or with instance variables. */
static inline int is_plain(VALUE object, VALUE class)
{
    if (RBASIC_CLASS(object) != class || rb_ivar_count(object) != 0) return 0;
    give_own_contents(object);
    return !borrows(object);
}

static void share_plain(walk *w, VALUE object)
{
    if (RB_SPECIAL_CONST_P(object) || RB_FL_ANY_RAW(object, RUBY_FL_SHAREABLE)) return;
    int type = RB_BUILTIN_TYPE(object);
    if (type == T_FLOAT || (type == T_STRING && is_plain(object, rb_cString))) {
        rb_obj_freeze(object);
        guildhall_share(object);
    } else if ((type == T_ARRAY && is_plain(object, rb_cArray)) || (type == T_HASH && is_plain(object, rb_cHash))) {
        rb_obj_freeze(object);
        share_container(w, object);
    } else {
        rb_ractor_make_shareable(object);
    }
}

static VALUE share_root(VALUE pointer)
{
    walk *w = (walk *)pointer;
    share_plain(w, w->root);
    return w->root;
}

/* Something inside cannot be shared: nothing around it may say that it can. */
static void take_back(walk *w)
{
    for (size_t i = 0; i < w->containers.count; i++) RB_FL_UNSET_RAW(w->containers.values[i], RUBY_FL_SHAREABLE);
}

static VALUE plain(VALUE self, VALUE object)
{
    walk w = {object};
    int raised;
    guildhall_value_stack_init(&w.containers);
    rb_protect(share_root, (VALUE)&w, &raised);
    if (raised) take_back(&w);
    guildhall_value_stack_release(&w.containers);
    if (raised) rb_jump_tag(raised);
    RB_GC_GUARD(object);
    return object;
}

void guildhall_init_share_plain(VALUE guildhall)
{
    rb_define_singleton_method(rb_define_module_under(guildhall, "Shareable"), "plain!", plain, 1);
}
