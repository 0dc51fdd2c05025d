/* The short way for batches that are small and stay here: a batch on the C stack, that no Ruby object stands for. */
#include "pool_batch.h"
#include "pool_fair_queue.h"
#include "pool_generation.h"
#include "pool_run.h"
#include "init.h"

static VALUE guildhall_module;

static void raise_first_failure(const VALUE *outcomes, size_t count)
{
    VALUE failure = rb_const_get(guildhall_module, rb_intern("Failure"));
    for (size_t i = 0; i < count; i++) {
        if (RTEST(rb_obj_is_kind_of(outcomes[i], failure))) rb_funcall(outcomes[i], rb_intern("raise!"), 0);
    }
}

static void set_up(guildhall_batch *batch, VALUE payloads, VALUE *block)
{
    batch->payloads = block;
    batch->slots = (_Atomic VALUE *)(block + batch->size);
    for (size_t i = 0; i < batch->size; i++) {
        VALUE payload = RARRAY_AREF(payloads, (long)i);
        bool copied = RB_TYPE_P(payload, T_STRING) && !OBJ_FROZEN(payload);
        block[i] = copied ? rb_str_new_frozen(payload) : payload;
        atomic_init(&batch->slots[i], GUILDHALL_SLOT_UNSET);
        if (!RB_TYPE_P(payload, T_STRING)) guildhall_check_shareable(payload, "payloads", (long)i);
    }
}

/* at_once(profile, payloads, workers, whether a failure is to be raised): all outcomes, made in this thread, where that
 * is the fastest way and takes no more than a few milliseconds; else nil, and nothing was done. */
static VALUE queue_at_once(VALUE self, VALUE profile, VALUE payloads, VALUE workers, VALUE raising)
{
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    guildhall_profile *of = guildhall_profile_of(profile);
    if (!RB_TYPE_P(payloads, T_ARRAY) || queue->generation != guildhall_generation()) return Qnil;
    size_t size = (size_t)RARRAY_LEN(payloads), bytes = guildhall_mean_bytes(payloads, false);
    if (!guildhall_profile_brief(of, size, bytes)) return Qnil;
    guildhall_crew crew = guildhall_fair_queue_crew(queue, NUM2SIZET(workers), true);
    guildhall_choice choice = guildhall_profile_choose(of, size, bytes, &crew);
    if (choice.level) return Qnil;
    guildhall_profile_chosen(of, size, bytes, &crew);
    VALUE held;
    VALUE *block = ALLOCV_N(VALUE, held, 2 * size + 1);
    for (size_t i = 0; i < 2 * size; i++) block[i] = Qnil; /* the GC may look before all of it is set */
    guildhall_batch batch = {.self = Qnil, .generation = queue->generation, .profile = of, .queue = queue,
                             .profile_object = profile, .size = size, .bytes = bytes,
                             .learned = !choice.settled};
    set_up(&batch, payloads, block);
    while (!guildhall_batch_complete(&batch)) guildhall_batch_help(&batch);
    VALUE outcomes = rb_obj_freeze(rb_ary_new_from_values((long)size, block + size));
    if (atomic_load(&batch.failed) && RTEST(raising)) raise_first_failure(block + size, size);
    ALLOCV_END(held);
    RB_GC_GUARD(profile);
    return outcomes;
}

void guildhall_init_pool_at_once(VALUE guildhall, VALUE pool)
{
    guildhall_module = guildhall;
    rb_define_method(rb_const_get(pool, rb_intern("FairQueue")), "at_once", queue_at_once, 4);
}
