/* Guildhall::Pool::TaskCode and Guildhall::Pool::Runnable in Ruby; see pool/task_code.rb for what decides. */
#include "runnable.h"
#include <ruby/ractor.h>
#include "document/codec.h"
#include "document/object.h"
#include "init.h"
#include "json/codec.h"
#include <guildhall/sharing.h>

static ID id_standings[3];
static _Atomic uint32_t codes; /* made so far */

static void pool_runnable_code_mark(void *data)
{
    guildhall_code *code = data;
    rb_gc_mark(code->name);
    rb_gc_mark(code->inline_reason);
    VALUE refusal = atomic_load_explicit(&code->refusal, memory_order_acquire);
    if (refusal) rb_gc_mark(refusal);
}

static size_t pool_runnable_code_memsize(const void *data) { return sizeof(guildhall_code); }

static const rb_data_type_t code_type = {
    "Guildhall::Pool::TaskCode",
    {pool_runnable_code_mark, RUBY_DEFAULT_FREE, pool_runnable_code_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_code *guildhall_code_of(VALUE object) { return rb_check_typeddata(object, &code_type); }
static VALUE pool_runnable_shareable_string(VALUE string) { return rb_ractor_make_shareable(rb_str_new_frozen(StringValue(string))); }

/* TaskCode.build(name, whether results are copied, whether it needs no trial, why workers cannot run it or nil) */
static VALUE pool_runnable_code_build(VALUE class, VALUE name, VALUE copies, VALUE tried, VALUE inline_reason)
{
    guildhall_code *code;
    VALUE self = TypedData_Make_Struct(class, guildhall_code, &code_type, code);
    code->copies = RTEST(copies);
    code->number = atomic_fetch_add(&codes, 1) + 1;
    atomic_store(&code->standing, RTEST(tried) ? GUILDHALL_TRIED : GUILDHALL_UNTRIED);
    code->name = code->inline_reason = Qnil;
    RB_OBJ_WRITE(self, &code->name, pool_runnable_shareable_string(name));
    if (!NIL_P(inline_reason)) RB_OBJ_WRITE(self, &code->inline_reason, pool_runnable_shareable_string(inline_reason));
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

static VALUE pool_runnable_code_name(VALUE self) { return guildhall_code_of(self)->name; }

/* :untried, :tried or :refused */
static VALUE pool_runnable_code_standing(VALUE self) { return ID2SYM(id_standings[guildhall_code_standing(guildhall_code_of(self))]); }
static VALUE pool_runnable_code_number(VALUE self) { return UINT2NUM(guildhall_code_of(self)->number); }

/* The Failure for which the code is refused, or nil. */
static VALUE pool_runnable_code_refusal(VALUE self)
{
    VALUE refusal = atomic_load_explicit(&guildhall_code_of(self)->refusal, memory_order_acquire);
    return refusal ? refusal : Qnil;
}

/* refuse(failure): the code fails from now on, wherever it would run. True for the first caller only. Any Ractor may call it. */
static VALUE pool_runnable_code_refuse(VALUE self, VALUE failure)
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
static VALUE pool_runnable_code_tried(VALUE self)
{
    guildhall_code_tried(guildhall_code_of(self));
    return self;
}

/* ---- runnable */

static void pool_runnable_mark(void *data)
{
    guildhall_runnable *runnable = data;
    rb_gc_mark(runnable->task);
    rb_gc_mark(runnable->code_object);
    rb_gc_mark(runnable->receiver);
    rb_gc_mark(runnable->following);
    rb_gc_mark(runnable->codec);
    rb_gc_mark(runnable->decode_stage);
    rb_gc_mark(runnable->preparer);
}

static size_t pool_runnable_memsize(const void *data) { return sizeof(guildhall_runnable); }

/* WB_PROTECTED, as the queue: every batch refers to one, and old objects that refer to something without barriers are looked
 * at in each minor collection. */
static const rb_data_type_t runnable_type = {
    "Guildhall::Pool::Runnable",
    {pool_runnable_mark, RUBY_DEFAULT_FREE, pool_runnable_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_runnable *guildhall_runnable_of(VALUE object) { return rb_check_typeddata(object, &runnable_type); }

static const guildhall_decoder *pool_runnable_transfers_of(VALUE task, const guildhall_decoder *decoder, VALUE following)
{
    if (!GUILDHALL_COLLECTOR_PER_RACTOR) return NULL;
    if (decoder) return NIL_P(following) && guildhall_document_decoder_p(decoder) ? decoder : NULL;
    return guildhall_json_value_decoder(task);
}

/* Runnable.build(task, takes_metadata, codec, address of its native decoder, what follows it, name of the decoding stage, preparer, code,
 *                self of a block) */
static VALUE pool_runnable_build(VALUE class, VALUE task, VALUE takes_metadata, VALUE codec, VALUE address, VALUE following,
                           VALUE stage, VALUE preparer, VALUE code, VALUE receiver)
{
    const guildhall_decoder *decoder = guildhall_decoder_at(address);
    guildhall_runnable *runnable;
    VALUE self = TypedData_Make_Struct(class, guildhall_runnable, &runnable_type, runnable);
    RB_OBJ_WRITE(self, &runnable->task, task);
    RB_OBJ_WRITE(self, &runnable->following, following);
    RB_OBJ_WRITE(self, &runnable->codec, codec);
    RB_OBJ_WRITE(self, &runnable->decode_stage, stage);
    RB_OBJ_WRITE(self, &runnable->preparer, preparer);
    RB_OBJ_WRITE(self, &runnable->code_object, code);
    RB_OBJ_WRITE(self, &runnable->receiver, receiver);
    runnable->runs_blocks = rb_obj_is_proc(task) || rb_respond_to(task, rb_intern("own"));
    runnable->code = guildhall_code_of(code);
    runnable->decoder = decoder;
    runnable->transfers = pool_runnable_transfers_of(task, decoder, following);
    runnable->native_values = GUILDHALL_COLLECTOR_PER_RACTOR && guildhall_codec_native_values_p(task);
    runnable->takes_metadata = RTEST(takes_metadata);
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

/* with(block, its self or nil): the same for another block of the same code. */
static VALUE pool_runnable_with(VALUE self, VALUE task, VALUE receiver)
{
    const guildhall_runnable *from = guildhall_runnable_of(self);
    guildhall_runnable *runnable;
    VALUE other = TypedData_Make_Struct(rb_obj_class(self), guildhall_runnable, &runnable_type, runnable);
    *runnable = *from;
    RB_OBJ_WRITTEN(other, Qundef, from->code_object); /* a block has no codec, and nothing else to refer to */
    RB_OBJ_WRITE(other, &runnable->task, task);
    RB_OBJ_WRITE(other, &runnable->receiver, receiver);
    return rb_ractor_make_shareable(rb_obj_freeze(other));
}

static VALUE pool_runnable_receiver(VALUE self) { return guildhall_runnable_of(self)->receiver; }
static VALUE pool_runnable_task(VALUE self) { return guildhall_runnable_of(self)->task; }
static VALUE pool_runnable_code(VALUE self) { return guildhall_runnable_of(self)->code_object; }

/* The object whose `prepare` is called with the payloads, in the dispatching thread; nil: none. */
static VALUE pool_runnable_preparer(VALUE self) { return guildhall_runnable_of(self)->preparer; }

void guildhall_init_pool_runnable(VALUE pool)
{
    static const char *const standings[] = {"untried", "tried", "refused"};
    for (int i = 0; i < 3; i++) id_standings[i] = rb_intern(standings[i]);
    VALUE code = rb_define_class_under(pool, "TaskCode", rb_cObject);
    rb_undef_alloc_func(code);
    rb_define_singleton_method(code, "build", pool_runnable_code_build, 4);
    rb_define_method(code, "name", pool_runnable_code_name, 0);
    rb_define_method(code, "standing", pool_runnable_code_standing, 0);
    rb_define_method(code, "number", pool_runnable_code_number, 0);
    rb_define_method(code, "refusal", pool_runnable_code_refusal, 0);
    rb_define_method(code, "refuse", pool_runnable_code_refuse, 1);
    rb_define_method(code, "tried", pool_runnable_code_tried, 0);
    VALUE runnable = rb_define_class_under(pool, "Runnable", rb_cObject);
    rb_undef_alloc_func(runnable);
    rb_define_singleton_method(runnable, "build", pool_runnable_build, 9);
    rb_define_method(runnable, "with", pool_runnable_with, 2);
    rb_define_method(runnable, "receiver", pool_runnable_receiver, 0);
    rb_define_method(runnable, "task", pool_runnable_task, 0);
    rb_define_method(runnable, "code", pool_runnable_code, 0);
    rb_define_method(runnable, "preparer", pool_runnable_preparer, 0);
}
