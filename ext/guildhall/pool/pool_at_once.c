/* The short way for batches that are small and stay here: no Batch, no Future, nobody else who could run a payload. */
#include "pool_batch.h"
#include "pool_fair_queue.h"
#include "pool_generation.h"
#include "pool_task.h"
#include "init.h"

static VALUE guildhall_module;

typedef struct {
    const guildhall_profile *profile;
    VALUE outcomes, stage; /* outcomes begin as the payloads, and are replaced one after the other */
    long next;
    size_t failures;
    bool running;       /* a payload, not what lies between two */
} errand;

/* The payloads as they are now: a task, or another thread, may change the Array and what is in it. */
static VALUE portables(VALUE payloads)
{
    VALUE copy = rb_ary_new_capa(RARRAY_LEN(payloads));
    for (long i = 0; i < RARRAY_LEN(payloads); i++) rb_ary_push(copy, guildhall_portable(RARRAY_AREF(payloads, i), i));
    return copy;
}

static void put(errand *of, VALUE outcome)
{
    of->running = false;
    rb_ary_store(of->outcomes, of->next++, outcome);
}

static VALUE run_on(VALUE argument)
{
    errand *of = (errand *)argument;
    while (of->next < RARRAY_LEN(of->outcomes)) {
        bool failed = false;
        of->running = true;
        VALUE payload = RARRAY_AREF(of->outcomes, of->next);
        VALUE outcome = guildhall_task_call(of->profile, payload, Qnil, (size_t)of->next, &of->stage, &failed);
        of->failures += failed;
        put(of, outcome);
        RB_GC_GUARD(payload);
        rb_thread_check_ints(); /* others may wait to collect garbage */
    }
    return Qnil;
}

/* What a payload has raised becomes its Failure; what else was raised goes on. */
static void land(errand *of, int state)
{
    VALUE failure = of->running ? guildhall_task_failure((size_t)of->next, of->stage, true, &state) : Qundef;
    if (failure == Qundef) rb_jump_tag(state);
    of->stage = Qnil;
    of->failures++;
    put(of, failure);
}

static void raise_first_failure(VALUE outcomes)
{
    VALUE failure = rb_const_get(guildhall_module, rb_intern("Failure"));
    for (long i = 0; i < RARRAY_LEN(outcomes); i++) {
        VALUE outcome = RARRAY_AREF(outcomes, i);
        if (RTEST(rb_obj_is_kind_of(outcome, failure))) rb_funcall(outcome, rb_intern("raise!"), 0);
    }
}

static void run_errand(errand *of)
{
    int state;
    do {
        state = 0;
        rb_protect(run_on, (VALUE)of, &state);
        if (state) land(of, state);
    } while (state);
}

/* Says how long it took, where it was about what the task does. */
static void account(guildhall_fair_queue *queue, guildhall_profile *profile, const errand *of, size_t bytes, int64_t spent, bool settled)
{
    size_t count = (size_t)RARRAY_LEN(of->outcomes);
    atomic_fetch_add_explicit(&queue->inlined_payloads, count, memory_order_relaxed);
    if (count == 0 || of->failures > count / 2) return;
    guildhall_estimate_add(&profile->cost[guildhall_byte_class(bytes)], (double)spent / (double)count);
    if (settled) guildhall_profile_learn(profile, count, bytes, 0, spent);
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
    errand errand = {.profile = of, .outcomes = portables(payloads), .stage = Qnil};
    int64_t began = guildhall_now();
    run_errand(&errand);
    account(queue, of, &errand, bytes, guildhall_now() - began, choice.settled);
    guildhall_give_way(queue);
    VALUE outcomes = rb_obj_freeze(errand.outcomes);
    if (errand.failures && RTEST(raising)) raise_first_failure(outcomes);
    RB_GC_GUARD(profile);
    return outcomes;
}

void guildhall_init_pool_at_once(VALUE guildhall, VALUE pool)
{
    guildhall_module = guildhall;
    rb_define_method(rb_const_get(pool, rb_intern("FairQueue")), "at_once", queue_at_once, 4);
}
