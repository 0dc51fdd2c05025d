/* The short way for a caller that waits for a batch: it begins at once, in its own thread, without a Batch or a Future. Only
 * what takes longer than a hand-over becomes a Batch, and is spread over workers while it runs. */
#include "fair_queue.h"
#include <ruby/fiber/scheduler.h>

static VALUE guildhall_module;
static VALUE instruction_sequence; /* the class */

static const double look_ns = 2e4; /* between two looks at the clock, if all goes as before */

/* Where in @inline_context of a pool, which is nil where it is closed or settings want a look at each batch. */
enum { CONTEXT_QUEUE, CONTEXT_REGISTRY, CONTEXT_INSTRUMENTATION, CONTEXT_WORKERS /* whether there are any */, CONTEXT_LOGGED };

typedef struct {
    guildhall_fair_queue *queue;
    const guildhall_runnable *runnable;
    VALUE outcomes, stage;  /* outcomes begin as the payloads, and are replaced one after the other */
    long next, look;        /* the payload to run, and the one to look at the clock before */
    size_t failures, bytes;
    bool running;           /* a payload, not what lies between two */
    bool may_spread, spread;
    guildhall_decision decision;
    int64_t began, looked_at, measured_at;
    long measured;
} inline_run;

/* The payloads as they are now: a task, or another thread, may change the Array and what is in it. */
static VALUE pool_inline_run_dispatchable_payloads(VALUE payloads)
{
    VALUE copy = rb_ary_new_capa(RARRAY_LEN(payloads));
    for (long i = 0; i < RARRAY_LEN(payloads); i++) rb_ary_push(copy, guildhall_dispatchable(RARRAY_AREF(payloads, i), i));
    return copy;
}

static void pool_inline_run_store(inline_run *run, VALUE outcome)
{
    run->running = false;
    rb_ary_store(run->outcomes, run->next++, outcome);
}

static size_t pool_inline_run_size_of(const inline_run *run) { return (size_t)RARRAY_LEN(run->outcomes); }

/* What was done since the last time, for the comparison with workers. */
static guildhall_cost *pool_inline_run_measure(inline_run *run, int64_t now)
{
    guildhall_cost *cost = guildhall_cost_find(&run->queue->costs, run->runnable->code->number, run->bytes, pool_inline_run_size_of(run));
    bool crowded = atomic_load_explicit(&run->queue->yielding, memory_order_relaxed) > 0;
    if (crowded || run->failures * 2 > (size_t)run->next) {
        guildhall_cost_unmeasured(cost);
        return cost;
    }
    guildhall_cost_measured(cost, false, false, now - run->measured_at, (size_t)(run->next - run->measured));
    run->measured_at = now;
    run->measured = run->next;
    return cost;
}

/* Now that it is known how long payloads take: is what is left worth handing over? */
static void pool_inline_run_check_clock(inline_run *run)
{
    int64_t now = guildhall_now();
    double each = (double)(now - run->began) / (double)run->next, left = (double)(RARRAY_LEN(run->outcomes) - run->next);
    run->looked_at = now;
    run->look = run->next + (long)guildhall_payloads_between_looks(look_ns, each);
    if (!guildhall_worth_spreading(run->queue, left * each)) return;
    run->spread = guildhall_cost_spreads(pool_inline_run_measure(run, now));
}

static VALUE pool_inline_run_payloads(VALUE argument)
{
    inline_run *run = (inline_run *)argument;
    while (run->next < RARRAY_LEN(run->outcomes)) {
        bool failed = false;
        /* The clock is asked after every payload, because one may take a thousand times as long as the last. */
        if (run->may_spread && run->next &&
            (run->next >= run->look || guildhall_coarse_now() > run->looked_at + GUILDHALL_SHORT_SPAN_NS)) pool_inline_run_check_clock(run);
        if (run->spread) break;
        run->running = true;
        VALUE payload = RARRAY_AREF(run->outcomes, run->next);
        VALUE outcome = guildhall_task_call(run->runnable, payload, Qnil, (size_t)run->next, false, &run->stage, &failed);
        run->failures += failed;
        pool_inline_run_store(run, outcome);
        RB_GC_GUARD(payload);
        rb_thread_check_ints(); /* others may wait to collect garbage */
    }
    return Qnil;
}

/* What a payload has raised becomes its Failure; what else was raised goes on. */
static void pool_inline_run_all(inline_run *run)
{
    for (;;) {
        int state = 0;
        rb_protect(pool_inline_run_payloads, (VALUE)run, &state);
        if (!state) return;
        VALUE failure = run->running ? guildhall_task_failure(run->runnable, (size_t)run->next, run->stage, true, &state) : Qundef;
        if (failure == Qundef) rb_jump_tag(state);
        run->stage = Qnil;
        run->failures++;
        pool_inline_run_store(run, failure);
    }
}

static void pool_inline_run_record_stats(inline_run *run)
{
    guildhall_fair_queue *queue = run->queue;
    atomic_fetch_add_explicit(&queue->inlined_payloads, (size_t)run->next, memory_order_relaxed);
    if (!run->began || run->next == 0) return;
    int64_t now = guildhall_now();
    if (run->decision == GUILDHALL_INLINE_SLOWER && !run->spread) pool_inline_run_measure(run, now);
    if (run->failures * 2 > (size_t)run->next) return;
    guildhall_cost *cost = guildhall_cost_find(&queue->costs, run->runnable->code->number, run->bytes, 0);
    guildhall_cost_add(cost, (double)(now - run->began) / (double)run->next);
}

static VALUE pool_inline_run_batch_of_remaining(VALUE queue, VALUE runnable, const inline_run *run)
{
    VALUE batch = guildhall_batch_continue(queue, runnable, run->outcomes, (size_t)run->next, run->failures, run->bytes);
    guildhall_batch_of(batch)->decision = run->decision;
    return batch;
}

/* Pool.values(outcomes), what `map` gives: the outcomes without DROPPED, frozen; the same Array if none was dropped. If an outcome is a
 * Failure, raises the first one, with the index of its payload. */
static VALUE pool_inline_run_values(VALUE self, VALUE outcomes)
{
    Check_Type(outcomes, T_ARRAY);
    VALUE failure = Qundef, dropped = Qundef;
    bool some = false;
    for (long i = 0; i < RARRAY_LEN(outcomes); i++) {
        VALUE outcome = RARRAY_AREF(outcomes, i);
        /* Failures are Structs, DROPPED is a plain object: most outcomes are neither. */
        if (RB_TYPE_P(outcome, T_STRUCT)) {
            if (failure == Qundef) failure = rb_const_get(guildhall_module, rb_intern("Failure"));
            if (RTEST(rb_obj_is_kind_of(outcome, failure))) rb_funcallv(outcome, rb_intern("raise_numbered!"), 0, NULL);
        } else if (RB_TYPE_P(outcome, T_OBJECT)) {
            if (dropped == Qundef) dropped = rb_const_get(guildhall_module, rb_intern("DROPPED"));
            if (outcome == dropped) some = true;
        }
    }
    if (!some) return rb_obj_freeze(outcomes);
    VALUE kept = rb_ary_new_capa(RARRAY_LEN(outcomes));
    for (long i = 0; i < RARRAY_LEN(outcomes); i++) {
        VALUE outcome = RARRAY_AREF(outcomes, i);
        if (outcome != dropped) rb_ary_push(kept, outcome);
    }
    return rb_obj_freeze(kept);
}

/* What is known of a task costs a look into a Hash; of a lambda that was written at the call, two. */
static VALUE pool_inline_run_runnable_of(VALUE registry, VALUE task)
{
    VALUE known = rb_ivar_get(registry, rb_intern("@known")), runnable = rb_hash_lookup(known, task);
    if (NIL_P(runnable) && rb_obj_is_proc(task)) {
        runnable = rb_hash_lookup(known, rb_funcallv(instruction_sequence, rb_intern("of"), 1, &task));
    }
    bool usable = !NIL_P(runnable) && guildhall_code_standing(guildhall_runnable_of(runnable)->code) != GUILDHALL_REFUSED;
    return usable ? runnable : rb_funcallv(registry, rb_intern("[]"), 1, &task);
}

typedef struct {
    VALUE context, task, payloads, raising;
} inline_call;

/* All outcomes, made in this thread; or a Batch to hand over, where the rest, or all of it, is worth that; nil where this is no
 * way to run it. */
static VALUE pool_inline_run_here(const inline_call *call)
{
    VALUE self = RARRAY_AREF(call->context, CONTEXT_QUEUE);
    guildhall_fair_queue *queue = guildhall_fair_queue_of(self);
    if (!RB_TYPE_P(call->payloads, T_ARRAY) || guildhall_fair_queue_forked(queue)) return Qnil;
    VALUE runnable = pool_inline_run_runnable_of(RARRAY_AREF(call->context, CONTEXT_REGISTRY), call->task);
    const guildhall_runnable *task = guildhall_runnable_of(runnable);
    if (!NIL_P(task->preparer)) return Qnil;
    inline_run run = {.queue = queue, .runnable = task, .stage = Qnil, .decision = GUILDHALL_INLINE_NO_WORKERS};
    if (!NIL_P(task->code->inline_reason)) run.decision = GUILDHALL_INLINE_MAIN_ONLY;
    else run.may_spread = RTEST(RARRAY_AREF(call->context, CONTEXT_WORKERS));
    run.outcomes = pool_inline_run_dispatchable_payloads(call->payloads);
    bool in_fiber = !NIL_P(rb_fiber_scheduler_current());
    if (run.may_spread) {
        run.bytes = guildhall_mean_bytes(run.outcomes, false);
        run.decision = guildhall_decide(queue, task, run.bytes, pool_inline_run_size_of(&run), !in_fiber);
    }
    if (run.decision >= GUILDHALL_PARALLEL_UNKNOWN) return pool_inline_run_batch_of_remaining(self, runnable, &run);
    if (in_fiber && run.decision != GUILDHALL_INLINE_SMALL) return Qnil; /* other fibers go on meanwhile */
    run.may_spread = run.may_spread && pool_inline_run_size_of(&run) > 1;
    if (run.may_spread) run.began = run.looked_at = run.measured_at = guildhall_now();
    run.look = run.decision == GUILDHALL_INLINE_SMALL ? 1 : (long)guildhall_payloads_between_looks(look_ns, 0);
    pool_inline_run_all(&run);
    pool_inline_run_record_stats(&run);
    if (run.spread) {
        run.decision = GUILDHALL_PARALLEL_OVERDUE;
        return pool_inline_run_batch_of_remaining(self, runnable, &run);
    }
    atomic_fetch_add_explicit(&queue->decisions[run.decision], 1, memory_order_relaxed);
    guildhall_give_way(queue);
    VALUE outcomes = rb_obj_freeze(run.outcomes);
    RB_GC_GUARD(runnable);
    return RTEST(call->raising) ? pool_inline_run_values(Qnil, outcomes) : outcomes;
}

static VALUE pool_inline_run_logged(RB_BLOCK_CALL_FUNC_ARGLIST(nothing, call)) { return pool_inline_run_here((const inline_call *)call); }

/* run_inline(payloads, task, whether the first failure is raised, and what was dropped is left out): the outcomes; nil: it has to go
 * the long way */
static VALUE pool_inline_run_in_pool(VALUE pool, VALUE payloads, VALUE task, VALUE raising)
{
    VALUE context = rb_ivar_get(pool, rb_intern("@inline_context")), made;
    if (NIL_P(context) || NIL_P(task)) return Qnil;
    if (RARRAY_LEN(rb_ivar_get(RARRAY_AREF(context, CONTEXT_INSTRUMENTATION), rb_intern("@subscribers"))) > 0) return Qnil;
    inline_call call = {context, task, payloads, raising};
    if (!RTEST(RARRAY_AREF(context, CONTEXT_LOGGED))) made = pool_inline_run_here(&call);
    else made = rb_block_call(pool, rb_intern("with_logger"), 0, NULL, pool_inline_run_logged, (VALUE)&call);
    RB_GC_GUARD(context);
    if (NIL_P(made) || RB_TYPE_P(made, T_ARRAY)) return made;
    return rb_funcall(pool, rb_intern("enqueue_remaining"), 2, made, raising);
}

/* A block with several parameters takes a payload apart, which the short way does not do. */
static VALUE pool_inline_run_plain_block(void)
{
    VALUE block = rb_block_proc();
    int parameters = rb_proc_arity(block);
    return RTEST(rb_proc_lambda_p(block)) || (parameters >= -1 && parameters <= 1) ? block : Qnil;
}

static VALUE pool_inline_run_map_or_super(int argc, const VALUE *argv, VALUE self, VALUE raising)
{
    VALUE task = Qnil, made;
    if (!rb_keyword_given_p() && argc == (rb_block_given_p() ? 1 : 2)) task = argc == 2 ? argv[1] : pool_inline_run_plain_block();
    made = NIL_P(task) ? Qnil : pool_inline_run_in_pool(self, argv[0], task, raising);
    return NIL_P(made) ? rb_call_super_kw(argc, argv, rb_keyword_given_p()) : made;
}

/* Mapping#map and #results without options, for a task or a plain block: documented there. */
static VALUE pool_inline_run_map(int argc, VALUE *argv, VALUE self) { return pool_inline_run_map_or_super(argc, argv, self, Qtrue); }
static VALUE pool_inline_run_results(int argc, VALUE *argv, VALUE self) { return pool_inline_run_map_or_super(argc, argv, self, Qfalse); }

void guildhall_init_pool_inline_run(VALUE guildhall, VALUE pool)
{
    guildhall_module = guildhall;
    instruction_sequence = rb_path2class("RubyVM::InstructionSequence");
    rb_gc_register_mark_object(instruction_sequence);
    rb_define_singleton_method(pool, "values", pool_inline_run_values, 1);
    rb_define_method(pool, "map", pool_inline_run_map, -1);
    rb_define_method(pool, "results", pool_inline_run_results, -1);
    rb_define_private_method(pool, "run_inline", pool_inline_run_in_pool, 3);
}
