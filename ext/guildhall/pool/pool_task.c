#include "pool_task.h"
#include <ruby/ractor.h>
#include "init.h"

static ID id_call, id_of, id_unshareable, id_thrown, id_mute, id_deadly;
static VALUE guildhall_module;

static VALUE failure_class(void)
{
    return rb_const_get(guildhall_module, rb_intern("Failure"));
}

static VALUE call(const guildhall_profile *profile, VALUE task, VALUE value, VALUE metadata)
{
    VALUE arguments[2] = {value, metadata};
    return rb_funcallv(task, id_call, profile->takes_metadata ? 2 : 1, arguments);
}

static VALUE decode_and_wrap(const guildhall_profile *profile, VALUE bytes)
{
    const guildhall_decoder *decoder = profile->decoder;
    const uint8_t *start = (const uint8_t *)RSTRING_PTR(bytes);
    size_t length = (size_t)RSTRING_LEN(bytes);
    guildhall_result result = {0};
    guildhall_decoded verdict = decoder->decode(decoder->context, start, length, &result);
    VALUE value;
    if (verdict == GUILDHALL_DECODED) value = decoder->wrap(decoder->context, &result, bytes, start, length);
    else if (verdict == GUILDHALL_DEFER) value = rb_funcallv(profile->codec, id_call, 1, &bytes);
    else rb_exc_raise(decoder->error(decoder->context, &result, start, length));
    RB_GC_GUARD(bytes);
    return value;
}

/* What the codec itself would return, or raise, without a method call. */
static VALUE decode(const guildhall_profile *profile, VALUE bytes, VALUE *stage)
{
    const guildhall_decoder *decoder = profile->decoder;
    *stage = profile->decode_stage;
    VALUE value = decoder->call ? decoder->call(decoder->context, bytes) : decode_and_wrap(profile, bytes);
    *stage = Qnil;
    return value;
}

static VALUE outcome_of(const guildhall_profile *profile, VALUE bytes, VALUE metadata, VALUE *stage)
{
    if (!profile->decoder || !RB_TYPE_P(bytes, T_STRING)) return call(profile, profile->task, bytes, metadata);
    VALUE value = decode(profile, bytes, stage);
    return NIL_P(profile->rest) ? value : call(profile, profile->rest, value, metadata);
}

VALUE guildhall_task_call(const guildhall_profile *profile, VALUE bytes, VALUE metadata, size_t index, VALUE *stage, bool *failed)
{
    VALUE outcome = outcome_of(profile, bytes, metadata, stage);
    if (rb_ractor_shareable_p(outcome)) return outcome;
    *failed = true;
    VALUE arguments[2] = {outcome, SIZET2NUM(index)};
    return rb_funcallv(failure_class(), id_unshareable, 2, arguments);
}

/* Ruby keeps as $! an Exception, a hidden object (throw), or a number (the thread is to end). */
static bool ends_thread(VALUE error)
{
    return RB_SPECIAL_CONST_P(error);
}

static bool meant_for_caller(VALUE error)
{
    if (RB_BUILTIN_TYPE(error) == T_IMEMO) return false;
    if (rb_obj_is_kind_of(error, rb_eSignal)) return true;
    return strcmp(rb_obj_classname(error), "Timeout::ExitException") == 0;
}

typedef struct {
    size_t index;
    VALUE stage, error;
} failing;

static VALUE fail(VALUE argument)
{
    const failing *of = (const failing *)argument;
    VALUE index = SIZET2NUM(of->index);
    rb_set_errinfo(Qnil);
    if (RB_BUILTIN_TYPE(of->error) == T_IMEMO) return rb_funcallv(failure_class(), id_thrown, 1, &index);
    VALUE arguments[3] = {of->error, index, of->stage};
    return rb_funcallv(failure_class(), id_of, 3, arguments);
}

/* Of an exception that cannot tell about itself without raising another one. */
static VALUE fail_plainly(VALUE argument)
{
    const failing *of = (const failing *)argument;
    VALUE arguments[2] = {of->error, SIZET2NUM(of->index)};
    rb_set_errinfo(Qnil);
    return rb_funcallv(failure_class(), id_mute, 2, arguments);
}

VALUE guildhall_task_failure(size_t index, VALUE stage, bool in_caller, int *state)
{
    VALUE error = rb_errinfo();
    if (ends_thread(error) || (in_caller && meant_for_caller(error))) return Qundef;
    failing of = {index, stage, error};
    VALUE failure = rb_protect(fail, (VALUE)&of, state);
    if (*state && !ends_thread(rb_errinfo()) && !meant_for_caller(rb_errinfo()))
        failure = rb_protect(fail_plainly, (VALUE)&of, state);
    RB_GC_GUARD(of.error);
    return *state ? Qundef : failure;
}

bool guildhall_task_ends_thread(void)
{
    return ends_thread(rb_errinfo());
}

VALUE guildhall_task_deadly(size_t index)
{
    return rb_funcall(failure_class(), id_deadly, 1, SIZET2NUM(index));
}

void guildhall_init_pool_task(VALUE guildhall)
{
    guildhall_module = guildhall;
    id_call = rb_intern("call");
    id_of = rb_intern("of");
    id_unshareable = rb_intern("unshareable");
    id_thrown = rb_intern("thrown");
    id_mute = rb_intern("mute");
    id_deadly = rb_intern("deadly");
}
