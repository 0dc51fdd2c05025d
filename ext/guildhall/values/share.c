/* Makes plain data shareable in one walk: Strings, Arrays, Hashes, Structs and objects whose `freeze` is Ruby's own, with their
 * instance variables. First all of it is looked at, and only then frozen, so that what cannot be shared is left as it was.
 *
 * Where the flag is all that makes an object shareable, it says "seen" during the walk: no other code runs meanwhile. What the walk does not
 * know (a Time, say) may refer to what has that flag too early, and so is asked only after all flags were taken back. Elsewhere a table
 * says it, and Ruby's own walk follows. */
#include <ruby.h>
#include <ruby/encoding.h>
#include <ruby/ractor.h>
#include <ruby/st.h>
#include "frozen.h"
#include "init.h"
#include "memory/value_stack.h"
#include "share.h"

static ID id_freeze, id_default, id_default_proc;

typedef struct {
    guildhall_value_stack found;  /* plain ones, with their flag; it is also the list of what to look into */
    guildhall_value_stack others; /* to be asked whether they are shareable */
#if GUILDHALL_COLLECTOR_PER_RACTOR
    st_table *seen; /* of `found` */
#endif
    bool plain;
    bool frozen_only; /* nothing is to be frozen */
} walk;

#if GUILDHALL_COLLECTOR_PER_RACTOR
static void share_begin(walk *w) { w->seen = st_init_numtable(); }
static bool share_seen(const walk *w, VALUE object) { return guildhall_shared(object) || st_lookup(w->seen, (st_data_t)object, NULL); }
static void share_see(walk *w, VALUE object) { st_insert(w->seen, (st_data_t)object, 0); }
static void share_take_back(walk *w) { }
static void share_end(walk *w) { st_free_table(w->seen); }
#else
static void share_begin(walk *w) { }
static bool share_seen(const walk *w, VALUE object) { return guildhall_shared(object); }
static void share_see(walk *w, VALUE object) { RB_FL_SET_RAW(object, RUBY_FL_SHAREABLE); }
static void share_take_back(walk *w)
{
    for (size_t i = 0; i < w->found.count; i++) RB_FL_UNSET_RAW(w->found.values[i], RUBY_FL_SHAREABLE);
}
static void share_end(walk *w) { }
#endif

/* False: no memory. */
static bool share_try(VALUE (*function)(VALUE), VALUE argument)
{
    int raised = 0;
    rb_protect(function, argument, &raised);
    if (raised) rb_set_errinfo(Qnil);
    return !raised;
}

static VALUE share_grow(VALUE stack)
{
    guildhall_value_stack_grow((guildhall_value_stack *)stack);
    return Qnil;
}

static bool share_note(walk *w, guildhall_value_stack *stack, VALUE object)
{
    if (RB_UNLIKELY(stack->count == stack->capacity) && !share_try(share_grow, (VALUE)stack)) return w->plain = false;
    stack->values[stack->count++] = object;
    return true;
}

/* A Hash that makes its defaults by a Proc never is shareable; one of a class of its own may say what it likes. */
static bool share_plain_hash(VALUE hash)
{
    return rb_method_basic_definition_p(RBASIC_CLASS(hash), id_default_proc) && rb_method_basic_definition_p(RBASIC_CLASS(hash), id_default) &&
           NIL_P(rb_funcallv(hash, id_default_proc, 0, NULL));
}

static void share_meet(walk *, VALUE);

#ifdef HAVE_RB_SET_FOREACH
static int share_meet_element(VALUE element, VALUE pointer)
{
    share_meet((walk *)pointer, element);
    return ((walk *)pointer)->plain ? ST_CONTINUE : ST_STOP;
}
#endif

static bool share_is_plain(VALUE object)
{
    VALUE class = RBASIC_CLASS(object);
    switch (RB_BUILTIN_TYPE(object)) {
    case T_STRING:
    case T_ARRAY:
        if (guildhall_borrows(object) && RB_OBJ_FROZEN_RAW(object)) return false;
        return class == rb_cString || class == rb_cArray || rb_method_basic_definition_p(class, id_freeze);
    case T_HASH: return share_plain_hash(object) && rb_method_basic_definition_p(class, id_freeze);
    case T_STRUCT:
    case T_OBJECT: return rb_method_basic_definition_p(class, id_freeze);
    case T_FLOAT: return true;
#ifdef HAVE_RB_SET_FOREACH /* on Ruby 3.4 a Set is an object with a Hash */
    /* Ruby walks through its own Sets with a lock held and memory growing, and may wait for ever for a collection that another Ractor has
     * begun. */
    case T_DATA: return RTEST(rb_obj_is_kind_of(object, rb_cSet)) && rb_method_basic_definition_p(class, id_freeze);
#endif
    default: return false;
    }
}

static void share_meet(walk *w, VALUE object)
{
    if (!w->plain || share_seen(w, object)) return;
    if (w->frozen_only && !RB_OBJ_FROZEN_RAW(object)) {
        w->plain = false;
    } else if (!share_is_plain(object)) {
        if (RB_OBJ_FROZEN_RAW(object)) share_note(w, &w->others, object);
        else w->plain = false;
    } else if (share_note(w, &w->found, object)) {
        share_see(w, object);
    }
}

static int share_meet_pair(VALUE key, VALUE value, VALUE pointer)
{
    share_meet((walk *)pointer, key);
    share_meet((walk *)pointer, value);
    return ((walk *)pointer)->plain ? ST_CONTINUE : ST_STOP;
}

static int share_meet_variable(ID name, VALUE value, st_data_t pointer)
{
    share_meet((walk *)pointer, value);
    return ((walk *)pointer)->plain ? ST_CONTINUE : ST_STOP;
}

static void share_look_into(walk *w, VALUE object)
{
    switch (RB_BUILTIN_TYPE(object)) {
    case T_ARRAY:
        for (long i = 0; i < RARRAY_LEN(object); i++) share_meet(w, RARRAY_AREF(object, i));
        break;
    case T_HASH:
        share_meet(w, rb_funcallv(object, id_default, 0, NULL));
        rb_hash_foreach(object, share_meet_pair, (VALUE)w);
        break;
    case T_STRUCT:
        for (int i = 0; i < RSTRUCT_LEN(object); i++) share_meet(w, RSTRUCT_GET(object, i));
        break;
#ifdef HAVE_RB_SET_FOREACH
    case T_DATA: rb_set_foreach(object, share_meet_element, (VALUE)w); break;
#endif
    default: break;
    }
    if (rb_ivar_count(object)) rb_ivar_foreach(object, share_meet_variable, (st_data_t)w);
}

static bool share_others(walk *w)
{
    if (w->others.count == 0) return true;
    share_take_back(w);
    for (size_t i = 0; i < w->others.count; i++)
        if (!rb_ractor_shareable_p(w->others.values[i])) return false;
    return true;
}

static VALUE share_own_contents(VALUE object)
{
    if (RB_BUILTIN_TYPE(object) == T_STRING) rb_str_modify(object);
    else rb_ary_modify(object);
    return Qnil;
}

/* Copies what is borrowed. */
static bool share_own_all(walk *w)
{
    for (size_t i = 0; i < w->found.count; i++) {
        VALUE object = w->found.values[i];
        int type = RB_BUILTIN_TYPE(object);
        if ((type == T_STRING || type == T_ARRAY) && guildhall_borrows(object) && !share_try(share_own_contents, object)) return false;
    }
    return true;
}

static void share_freeze_all(walk *w)
{
    for (size_t i = 0; i < w->found.count; i++) {
        rb_obj_freeze(w->found.values[i]);
        guildhall_share(w->found.values[i]);
    }
}

/* Ruby 4.0 keeps the instance variables of a String, an Array, a Hash … in an object of their own, to which only Ruby can give the flag. It
 * does so while it gives the flag to the first one. */
static VALUE share_variables_by_ruby(VALUE argument)
{
    const walk *w = (const walk *)argument;
    for (size_t i = 0; i < w->found.count; i++) {
        VALUE object = w->found.values[i];
        if (RB_BUILTIN_TYPE(object) == T_OBJECT || !rb_ivar_count(object)) continue;
        RB_FL_UNSET_RAW(object, RUBY_FL_SHAREABLE);
        rb_ractor_make_shareable(object);
    }
    return Qnil;
}

/* Ractor.make_shareable is recursive, and deeply nested data would overflow the stack. So it is called for every 256th object, the innermost
 * first: it does not descend into what is already shareable. */
#define BETWEEN_WALKS 256

static VALUE share_walk(VALUE argument)
{
    const walk *w = (const walk *)argument;
    for (size_t i = w->found.count; i > 0; i--) {
        if ((i - 1) % BETWEEN_WALKS == 0) guildhall_hand_over(w->found.values[i - 1]);
    }
    return Qnil;
}

/* FREEZING: else all of it has to be frozen already. LEAVING: for another Ractor; else it stays, frozen, and Ruby finds it shareable when
 * it asks. */
enum { FREEZING = 1, LEAVING = 2 };

static __attribute__((noinline)) bool share_unshared(VALUE object, int how)
{
    walk w; /* its stacks are large: to clear them would take longer than most walks */
    w.plain = true;
    w.frozen_only = !(how & FREEZING);
    guildhall_value_stack_init(&w.found);
    guildhall_value_stack_init(&w.others);
    share_begin(&w);
    share_meet(&w, object);
    for (size_t i = 0; i < w.found.count && w.plain; i++) share_look_into(&w, w.found.values[i]);
    bool shared = w.plain && share_others(&w) && share_own_all(&w);
    if (shared) {
        share_freeze_all(&w);
        shared = GUILDHALL_COLLECTOR_PER_RACTOR || share_try(share_variables_by_ruby, (VALUE)&w);
    } else if (w.others.count == 0 || !w.plain) {
        share_take_back(&w); /* else that was done */
    }
    if (GUILDHALL_COLLECTOR_PER_RACTOR && how & LEAVING) shared = shared && share_try(share_walk, (VALUE)&w);
    share_end(&w);
    guildhall_value_stack_release(&w.found);
    guildhall_value_stack_release(&w.others);
    RB_GC_GUARD(object);
    return shared;
}

/* What is shareable already, a number above all, comes here most. */
static inline bool share_all(VALUE object, int how) { return guildhall_shared(object) || share_unshared(object, how); }

bool guildhall_share_plain(VALUE object) { return share_all(object, FREEZING | LEAVING); }

bool guildhall_freeze_plain(VALUE object) { return share_all(object, FREEZING); }

bool guildhall_shareable(VALUE object) { return share_all(object, LEAVING); }

bool guildhall_frozen(VALUE object) { return share_all(object, 0); }

/* @api private. Shareable.plain!(object): the object, shareable; what Ruby has to share may be frozen in part where it raises. */
static VALUE share_plain_bang(VALUE self, VALUE object)
{
    return guildhall_share_plain(object) ? object : rb_ractor_make_shareable(object);
}

/* @api private. Shareable.plain?(object): whether it is shareable now; where it is not, nothing was changed. */
static VALUE share_plain_p(VALUE self, VALUE object)
{
    return guildhall_share_plain(object) ? Qtrue : Qfalse;
}

VALUE guildhall_shareable_string(VALUE string)
{
    VALUE frozen = OBJ_FROZEN(string) ? string : rb_str_new_frozen(string);
    if (guildhall_shared(frozen) && !guildhall_borrows(frozen)) return frozen;
    if (rb_ivar_count(frozen)) return 0;
    return guildhall_hand_over(guildhall_share(guildhall_string_settled(frozen)));
}

/* @api private. Shareable.bytes(string): its bytes as a frozen, shareable String; the string itself where it is one. The string may be
 * changed later. `dup.freeze` would borrow the contents, which would be copied once more. */
static VALUE share_bytes(VALUE self, VALUE string)
{
    StringValue(string);
    VALUE shareable = guildhall_shareable_string(string);
    if (shareable) return shareable;
    shareable = guildhall_hand_over(guildhall_share(rb_enc_str_new(RSTRING_PTR(string), RSTRING_LEN(string), rb_enc_get(string))));
    RB_GC_GUARD(string);
    return shareable;
}

/* ---- what may be asked of any object, whatever its class has redefined, and of a BasicObject, which has no methods for it. Binding
 * Kernel's own methods says the same, but on Ruby 3.4 not in several Ractors at once: each such call counts on the method's definition
 * without a lock, and a count that is lost frees the definition while it is in use */

/* @api private. Shareable.type_of(object): its class. */
static VALUE share_type_of(VALUE self, VALUE object) { return rb_obj_class(object); }

/* @api private. Shareable.frozen_object?(object). */
static VALUE share_frozen_object_p(VALUE self, VALUE object) { return rb_obj_frozen_p(object); }

/* @api private. Shareable.variables(object): [[:@name, value], …]. */
static VALUE share_variables(VALUE self, VALUE object)
{
    VALUE pairs = rb_obj_instance_variables(object);
    for (long i = 0; i < RARRAY_LEN(pairs); i++) {
        VALUE name = RARRAY_AREF(pairs, i);
        rb_ary_store(pairs, i, rb_assoc_new(name, rb_ivar_get(object, rb_sym2id(name))));
    }
    return pairs;
}

void guildhall_init_share_plain(VALUE guildhall)
{
    id_freeze = rb_intern("freeze");
    id_default = rb_intern("default");
    id_default_proc = rb_intern("default_proc");
    VALUE shareable = rb_define_module_under(guildhall, "Shareable");
    rb_define_singleton_method(shareable, "plain!", share_plain_bang, 1);
    rb_define_singleton_method(shareable, "plain?", share_plain_p, 1);
    rb_define_singleton_method(shareable, "bytes", share_bytes, 1);
    rb_define_singleton_method(shareable, "type_of", share_type_of, 1);
    rb_define_singleton_method(shareable, "frozen_object?", share_frozen_object_p, 1);
    rb_define_singleton_method(shareable, "variables", share_variables, 1);
}
