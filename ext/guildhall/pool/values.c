#include "values.h"

static VALUE guildhall_module;
static ID id_failure, id_dropped, id_raise_numbered;

static VALUE constant(ID name) { return rb_const_get(guildhall_module, name); }

/* Failures are Structs, what was dropped is a plain object: most outcomes are neither. */
static bool may_be_failure(VALUE outcome) { return RB_TYPE_P(outcome, T_STRUCT); }
static bool may_be_dropped(VALUE outcome) { return RB_TYPE_P(outcome, T_OBJECT); }

static void raise_failure(VALUE outcome, VALUE *failure)
{
    if (*failure == Qundef) *failure = constant(id_failure);
    if (RTEST(rb_obj_is_kind_of(outcome, *failure))) rb_funcallv(outcome, id_raise_numbered, 0, NULL);
}

static VALUE without(VALUE outcomes, VALUE dropped)
{
    VALUE kept = rb_ary_new_capa(RARRAY_LEN(outcomes));
    for (long i = 0; i < RARRAY_LEN(outcomes); i++) {
        VALUE outcome = RARRAY_AREF(outcomes, i);
        if (outcome != dropped) rb_ary_push(kept, outcome);
    }
    return rb_obj_freeze(kept);
}

VALUE guildhall_values(VALUE outcomes)
{
    VALUE dropped = Qundef, failure = Qundef;
    bool some = false;
    for (long i = 0; i < RARRAY_LEN(outcomes); i++) {
        VALUE outcome = RARRAY_AREF(outcomes, i);
        if (may_be_failure(outcome)) raise_failure(outcome, &failure);
        if (!may_be_dropped(outcome)) continue;
        if (dropped == Qundef) dropped = constant(id_dropped);
        if (outcome == dropped) some = true;
    }
    return some ? without(outcomes, dropped) : rb_obj_freeze(outcomes);
}

/* @api private. Pool.values(outcomes): see guildhall_values. */
static VALUE pool_values(VALUE self, VALUE outcomes)
{
    Check_Type(outcomes, T_ARRAY);
    return guildhall_values(outcomes);
}

void guildhall_init_pool_values(VALUE guildhall, VALUE pool)
{
    guildhall_module = guildhall;
    id_failure = rb_intern("Failure");
    id_dropped = rb_intern("DROPPED");
    id_raise_numbered = rb_intern("raise_numbered!");
    rb_define_singleton_method(pool, "values", pool_values, 1);
}
