#include "runnable.h"
#include <ruby/ractor.h>
#include <guildhall/sharing.h>
#include "init.h"
#include "transfer.h"
#include "values/share.h"

static rb_ractor_local_key_t own_task;
static VALUE guildhall_module;

static VALUE pool_task_failure_class(void) { return rb_const_get(guildhall_module, rb_intern("Failure")); }

/* Ruby keeps `$~` of a block in the variables around it, which a shareable block has in common with all Ractors that run it: two
 * that match at once corrupt the memory of the process. So each worker runs a copy that has its variables to itself; the last
 * one is kept. */
static VALUE pool_task_own_copy(const guildhall_runnable *runnable, VALUE task)
{
    VALUE last;
    if (rb_ractor_local_storage_value_lookup(own_task, &last) && RARRAY_AREF(last, 0) == task) return RARRAY_AREF(last, 1);
    VALUE shareable = rb_const_get(guildhall_module, rb_intern("Shareable"));
    last = rb_ary_new_from_args(2, task, rb_funcall(shareable, rb_intern("own"), 2, task, runnable->receiver));
    rb_ractor_local_storage_value_set(own_task, last);
    return RARRAY_AREF(last, 1);
}

static VALUE pool_task_call(const guildhall_runnable *runnable, VALUE task, VALUE value, VALUE metadata, bool on_worker)
{
    VALUE arguments[2] = {value, metadata};
    if (on_worker && runnable->runs_blocks) task = pool_task_own_copy(runnable, task);
    return rb_funcallv(task, rb_intern("call"), runnable->takes_metadata ? 2 : 1, arguments);
}

/* What the codec itself would return, or raise, without a method call. *native: whether guildhall alone has made the value, which
 * then is frozen to its last part. */
static VALUE pool_task_decode(const guildhall_runnable *runnable, VALUE bytes, VALUE *stage, bool *native)
{
    const guildhall_decoder *decoder = runnable->decoder;
    VALUE value;
    *stage = runnable->decode_stage;
    if (decoder->call) value = decoder->call(decoder->context, bytes);
    else value = guildhall_decoder_decode(decoder, bytes, (const uint8_t *)RSTRING_PTR(bytes), (size_t)RSTRING_LEN(bytes));
    *native = value != Qundef;
    if (!*native) value = rb_funcallv(runnable->codec, rb_intern("call"), 1, &bytes);
    *stage = Qnil;
    RB_GC_GUARD(bytes);
    return value;
}

static VALUE pool_task_outcome_of(const guildhall_runnable *runnable, VALUE bytes, VALUE metadata, bool on_worker, VALUE *stage,
                                  bool *native)
{
    *native = runnable->native_values;
    if (!runnable->decoder || !RB_TYPE_P(bytes, T_STRING)) return pool_task_call(runnable, runnable->task, bytes, metadata, on_worker);
    VALUE value = pool_task_decode(runnable, bytes, stage, native);
    if (NIL_P(runnable->following)) return value;
    *native = false;
    return pool_task_call(runnable, runnable->following, value, metadata, on_worker);
}

static VALUE pool_task_make_shareable(const guildhall_runnable *runnable, VALUE outcome, bool on_worker)
{
    if (guildhall_shared(outcome)) return outcome;
    /* Freeze only what was made for this payload alone: not what a tool keeps, and not what code that no worker has run yet may have from
     * anywhere in the main Ractor. */
    bool freeze = !runnable->code->copies && (on_worker || !guildhall_code_untried(runnable->code));
    VALUE transfer = GUILDHALL_COLLECTOR_PER_RACTOR && on_worker ? guildhall_transfer_of_plain(outcome, freeze) : 0;
    if (transfer) return transfer;
    if (freeze) {
        if (on_worker ? guildhall_share_plain(outcome) : guildhall_freeze_plain(outcome)) return outcome;
    } else if (on_worker ? guildhall_shareable(outcome) : guildhall_frozen(outcome)) {
        return outcome;
    }
    VALUE arguments[2] = {outcome, runnable->task};
    return rb_funcallv(rb_const_get(guildhall_module, rb_intern("Shareable")), rb_intern("result"), 2, arguments);
}

/* Lets an outcome leave its Ractor that guildhall alone has made, and so is frozen. */
static VALUE pool_task_hand_over(VALUE outcome)
{
    if (guildhall_shared(outcome)) return outcome;
    VALUE transfer = GUILDHALL_COLLECTOR_PER_RACTOR ? guildhall_transfer_of_plain(outcome, false) : 0;
    return transfer ? transfer : guildhall_hand_over(outcome);
}

VALUE guildhall_task_transfer(const guildhall_runnable *runnable, const uint8_t *bytes, size_t length, VALUE *stage)
{
    const guildhall_decoder *decoder = runnable->transfers;
    guildhall_result result = {0};
    if (RB_UNLIKELY(guildhall_code_standing(runnable->code) == GUILDHALL_REFUSED)) return Qundef;
    *stage = runnable->decode_stage;
    guildhall_decoded verdict = decoder->decode(decoder->context, bytes, length, &result);
    if (verdict == GUILDHALL_INVALID) rb_exc_raise(decoder->error(decoder->context, &result, bytes, length));
    *stage = Qnil;
    if (verdict == GUILDHALL_DEFER) return Qundef;
    guildhall_code_tried(runnable->code);
    return guildhall_transfer_of_result(decoder, &result);
}

VALUE guildhall_task_call(const guildhall_runnable *runnable, VALUE bytes, VALUE metadata, size_t index, bool on_worker, VALUE *stage,
                          bool *failed)
{
    if (RB_UNLIKELY(guildhall_code_standing(runnable->code) == GUILDHALL_REFUSED)) {
        *failed = true;
        return rb_funcall(pool_task_failure_class(), rb_intern("refused"), 2, runnable->code_object, SIZET2NUM(index));
    }
    bool native;
    VALUE outcome = pool_task_outcome_of(runnable, bytes, metadata, on_worker, stage, &native);
    if (!native) outcome = pool_task_make_shareable(runnable, outcome, on_worker);
    else if (on_worker) outcome = pool_task_hand_over(outcome);
    if (on_worker) guildhall_code_tried(runnable->code);
    return outcome;
}

/* Ruby keeps as $! an Exception, a hidden object (throw), or a number (the thread is to end). */
static bool pool_task_ends_thread(VALUE error) { return RB_SPECIAL_CONST_P(error); }

static bool pool_task_meant_for_caller(VALUE error)
{
    if (RB_BUILTIN_TYPE(error) == T_IMEMO) return false;
    if (rb_obj_is_kind_of(error, rb_eSignal)) return true;
    return strcmp(rb_obj_classname(error), "Timeout::ExitException") == 0;
}

typedef struct {
    const guildhall_runnable *runnable;
    size_t index;
    VALUE stage, error;
    bool on_worker;
} failing;

static VALUE pool_task_failure_of(VALUE argument)
{
    const failing *of = (const failing *)argument;
    VALUE index = SIZET2NUM(of->index);
    rb_set_errinfo(Qnil);
    if (RB_BUILTIN_TYPE(of->error) == T_IMEMO) return rb_funcall(pool_task_failure_class(), rb_intern("uncaught_throw"), 1, index);
    VALUE failure = rb_funcall(pool_task_failure_class(), rb_intern("of"), 3, of->error, index, of->stage);
    return of->on_worker ? rb_funcall(of->runnable->code_object, rb_intern("judge"), 2, of->error, failure) : failure;
}

/* Of an exception whose methods raise another one. */
static VALUE pool_task_unreadable_failure(VALUE argument)
{
    const failing *of = (const failing *)argument;
    rb_set_errinfo(Qnil);
    return rb_funcall(pool_task_failure_class(), rb_intern("unreadable"), 2, of->error, SIZET2NUM(of->index));
}

VALUE guildhall_task_failure(const guildhall_runnable *runnable, size_t index, VALUE stage, bool in_caller, int *state)
{
    VALUE error = rb_errinfo();
    if (pool_task_ends_thread(error) || (in_caller && pool_task_meant_for_caller(error))) return Qundef;
    failing of = {runnable, index, stage, error, !in_caller};
    VALUE failure = rb_protect(pool_task_failure_of, (VALUE)&of, state);
    if (*state && !pool_task_ends_thread(rb_errinfo()) && !pool_task_meant_for_caller(rb_errinfo()))
        failure = rb_protect(pool_task_unreadable_failure, (VALUE)&of, state);
    RB_GC_GUARD(of.error);
    return *state ? Qundef : failure;
}

bool guildhall_task_ends_thread(void) { return pool_task_ends_thread(rb_errinfo()); }
VALUE guildhall_task_lost(const char *reason, size_t index)
{
    return rb_funcall(pool_task_failure_class(), rb_intern(reason), 1, SIZET2NUM(index));
}

void guildhall_init_pool_task(VALUE guildhall)
{
    guildhall_module = guildhall;
    own_task = rb_ractor_local_storage_value_newkey();
}
