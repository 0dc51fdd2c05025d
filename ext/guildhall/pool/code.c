/* Guildhall::Pool::TaskCode in Ruby; see pool/task_code.rb for what decides. */
#include "code.h"
#include <ruby/ractor.h>

static ID id_standings[3];
static _Atomic uint32_t codes; /* made so far */

static void code_mark(void *data)
{
    guildhall_code *code = data;
    rb_gc_mark(code->name);
    rb_gc_mark(code->inline_reason);
    VALUE refusal = atomic_load_explicit(&code->refusal, memory_order_acquire);
    if (refusal) rb_gc_mark(refusal);
}

static size_t code_memsize(const void *data) { return sizeof(guildhall_code); }

static const rb_data_type_t code_type = {
    "Guildhall::Pool::TaskCode",
    {code_mark, RUBY_DEFAULT_FREE, code_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_code *guildhall_code_of(VALUE object)
{
    return rb_check_typeddata(object, &code_type);
}

static VALUE shareable_string(VALUE string) { return rb_ractor_make_shareable(rb_str_new_frozen(StringValue(string))); }

/* Code.build(name, whether results are copied, whether it needs no trial, why workers cannot run it or nil) */
static VALUE code_build(VALUE class, VALUE name, VALUE copies, VALUE tried, VALUE inline_reason)
{
    guildhall_code *code;
    VALUE self = TypedData_Make_Struct(class, guildhall_code, &code_type, code);
    code->copies = RTEST(copies);
    code->number = atomic_fetch_add(&codes, 1) + 1;
    atomic_store(&code->standing, RTEST(tried) ? GUILDHALL_TRIED : GUILDHALL_UNTRIED);
    code->name = code->inline_reason = Qnil;
    RB_OBJ_WRITE(self, &code->name, shareable_string(name));
    if (!NIL_P(inline_reason)) RB_OBJ_WRITE(self, &code->inline_reason, shareable_string(inline_reason));
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

static VALUE code_name(VALUE self) { return guildhall_code_of(self)->name; }

/* :untried, :tried or :refused */
static VALUE code_standing(VALUE self) { return ID2SYM(id_standings[guildhall_code_standing(guildhall_code_of(self))]); }

static VALUE code_number(VALUE self) { return UINT2NUM(guildhall_code_of(self)->number); }

/* The Failure for which the code is refused, or nil. */
static VALUE code_refusal(VALUE self)
{
    VALUE refusal = atomic_load_explicit(&guildhall_code_of(self)->refusal, memory_order_acquire);
    return refusal ? refusal : Qnil;
}

/* refuse(failure): the code fails from now on, wherever it would run. True for the first caller only. Any Ractor may call it. */
static VALUE code_refuse(VALUE self, VALUE failure)
{
    guildhall_code *code = guildhall_code_of(self);
    if (!rb_ractor_shareable_p(failure)) rb_raise(rb_eArgError, "a refusal is shareable");
    VALUE none = 0;
    if (!atomic_compare_exchange_strong(&code->refusal, &none, failure)) return Qfalse;
    RB_OBJ_WRITTEN(self, Qundef, failure);
    atomic_store_explicit(&code->standing, GUILDHALL_REFUSED, memory_order_release);
    return Qtrue;
}

/* A worker has run a payload of it. */
static VALUE code_tried(VALUE self)
{
    guildhall_code_tried(guildhall_code_of(self));
    return self;
}

void guildhall_init_pool_code(VALUE pool)
{
    static const char *const standings[] = {"untried", "tried", "refused"};
    for (int i = 0; i < 3; i++) id_standings[i] = rb_intern(standings[i]);
    VALUE code = rb_define_class_under(pool, "TaskCode", rb_cObject);
    rb_undef_alloc_func(code);
    rb_define_singleton_method(code, "build", code_build, 4);
    rb_define_method(code, "name", code_name, 0);
    rb_define_method(code, "standing", code_standing, 0);
    rb_define_method(code, "number", code_number, 0);
    rb_define_method(code, "refusal", code_refusal, 0);
    rb_define_method(code, "refuse", code_refuse, 1);
    rb_define_method(code, "tried", code_tried, 0);
}
