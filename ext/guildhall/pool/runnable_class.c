/* Guildhall::Pool::Runnable in Ruby. */
#include "runnable.h"
#include <ruby/ractor.h>
#include "document/codec.h"
#include "document/object.h"
#include "init.h"
#include "json/codec.h"
#include <guildhall/sharing.h>

static void runnable_mark(void *data)
{
    guildhall_runnable *runnable = data;
    rb_gc_mark(runnable->task);
    rb_gc_mark(runnable->code_object);
    rb_gc_mark(runnable->receiver);
    rb_gc_mark(runnable->rest);
    rb_gc_mark(runnable->codec);
    rb_gc_mark(runnable->decode_stage);
    rb_gc_mark(runnable->preparer);
}

static size_t runnable_memsize(const void *data) { return sizeof(guildhall_runnable); }

/* WB_PROTECTED, as the queue: every batch refers to one, and old ones that refer to something without barriers are looked
 * at in each minor collection. */
static const rb_data_type_t runnable_type = {
    "Guildhall::Pool::Runnable",
    {runnable_mark, RUBY_DEFAULT_FREE, runnable_memsize},
    0, 0,
    RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE | RUBY_TYPED_WB_PROTECTED};

guildhall_runnable *guildhall_runnable_of(VALUE object) { return rb_check_typeddata(object, &runnable_type); }

static const guildhall_decoder *decoder_at(VALUE address)
{
    const guildhall_decoder *decoder = NIL_P(address) ? NULL : (const guildhall_decoder *)(uintptr_t)NUM2ULL(address);
    bool usable = decoder && decoder->abi == GUILDHALL_DECODER_ABI && decoder->size >= sizeof(guildhall_decoder);
    return usable ? decoder : NULL;
}

static const guildhall_decoder *transfers_of(VALUE task, const guildhall_decoder *decoder, VALUE rest)
{
    if (!GUILDHALL_COLLECTOR_PER_RACTOR) return NULL;
    if (decoder) return NIL_P(rest) && guildhall_document_decoder_p(decoder) ? decoder : NULL;
    return guildhall_json_value_decoder(task);
}

/* Runnable.build(task, takes_metadata, codec, address of its native decoder, rest, name of the decoding stage, preparer, code, self of a block) */
static VALUE runnable_build(VALUE class, VALUE task, VALUE takes_metadata, VALUE codec, VALUE address, VALUE rest,
                           VALUE stage, VALUE preparer, VALUE code, VALUE receiver)
{
    const guildhall_decoder *decoder = decoder_at(address);
    guildhall_runnable *runnable;
    VALUE self = TypedData_Make_Struct(class, guildhall_runnable, &runnable_type, runnable);
    RB_OBJ_WRITE(self, &runnable->task, task);
    RB_OBJ_WRITE(self, &runnable->rest, rest);
    RB_OBJ_WRITE(self, &runnable->codec, codec);
    RB_OBJ_WRITE(self, &runnable->decode_stage, stage);
    RB_OBJ_WRITE(self, &runnable->preparer, preparer);
    RB_OBJ_WRITE(self, &runnable->code_object, code);
    RB_OBJ_WRITE(self, &runnable->receiver, receiver);
    runnable->runs_blocks = rb_obj_is_proc(task) || rb_respond_to(task, rb_intern("own"));
    runnable->code = guildhall_code_of(code);
    runnable->decoder = decoder;
    runnable->transfers = transfers_of(task, decoder, rest);
    runnable->native_values = GUILDHALL_COLLECTOR_PER_RACTOR && guildhall_codec_native_values_p(task);
    runnable->takes_metadata = RTEST(takes_metadata);
    return rb_ractor_make_shareable(rb_obj_freeze(self));
}

/* with(block, its self or nil): the same for another block of the same code. */
static VALUE runnable_with(VALUE self, VALUE task, VALUE receiver)
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

static VALUE runnable_receiver(VALUE self) { return guildhall_runnable_of(self)->receiver; }

static VALUE runnable_task(VALUE self) { return guildhall_runnable_of(self)->task; }

static VALUE runnable_code(VALUE self) { return guildhall_runnable_of(self)->code_object; }

/* The object whose `prepare` is called with the payloads, in the dispatching thread; nil: none. */
static VALUE runnable_preparer(VALUE self) { return guildhall_runnable_of(self)->preparer; }

void guildhall_init_pool_runnable(VALUE pool)
{
    VALUE runnable = rb_define_class_under(pool, "Runnable", rb_cObject);
    rb_undef_alloc_func(runnable);
    rb_define_singleton_method(runnable, "build", runnable_build, 9);
    rb_define_method(runnable, "with", runnable_with, 2);
    rb_define_method(runnable, "receiver", runnable_receiver, 0);
    rb_define_method(runnable, "task", runnable_task, 0);
    rb_define_method(runnable, "code", runnable_code, 0);
    rb_define_method(runnable, "preparer", runnable_preparer, 0);
}
