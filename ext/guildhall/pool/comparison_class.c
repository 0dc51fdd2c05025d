/* Guildhall::Pool::Comparison in Ruby: for work that is not a batch of the pool's. Used by one thread at a time. */
#include "comparison.h"
#include "init.h"
#include "waiting/waiter.h"
#include <math.h>
#include <ruby.h>

typedef struct {
    guildhall_comparison ways;
    guildhall_comparison_terms terms;
} comparison;

static size_t pool_comparison_memsize(const void *data) { return sizeof(comparison); }

static const rb_data_type_t comparison_type = {
    "Guildhall::Pool::Comparison", {NULL, RUBY_DEFAULT_FREE, pool_comparison_memsize}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static comparison *pool_comparison_of(VALUE self) { return rb_check_typeddata(self, &comparison_type); }

static VALUE pool_comparison_allocate(VALUE class)
{
    comparison *of;
    return TypedData_Make_Struct(class, comparison, &comparison_type, of);
}

static double pool_comparison_positive(VALUE number, const char *name)
{
    double value = NUM2DBL(number);
    if (!(value > 0) || isinf(value)) rb_raise(guildhall_argument_error(), "%s must be a positive number, not %g", name, value);
    return value;
}

/* Comparison.new(least gain, most evidence of a pair, most pairs, shortest pause, longest pause, most pause): guildhall_comparison_terms;
 * times in seconds */
static VALUE pool_comparison_initialize(VALUE self, VALUE gain, VALUE evidence, VALUE pairs, VALUE shortest, VALUE longest, VALUE most)
{
    pool_comparison_of(self)->terms = (guildhall_comparison_terms){
        pool_comparison_positive(gain, "least gain"), pool_comparison_positive(evidence, "evidence"),
        (unsigned)pool_comparison_positive(pairs, "pairs"), pool_comparison_positive(shortest, "pause"),
        pool_comparison_positive(longest, "pause"), pool_comparison_positive(most, "pause")};
    return self;
}

static VALUE pool_comparison_second_p(VALUE self) { return pool_comparison_of(self)->ways.current ? Qtrue : Qfalse; }
static VALUE pool_comparison_trying_p(VALUE self) { return pool_comparison_of(self)->ways.trying ? Qtrue : Qfalse; }

/* add(seconds for a unit of work, seconds that the epoch took): whether another way is used from now on */
static VALUE pool_comparison_add(VALUE self, VALUE cost, VALUE time)
{
    comparison *of = pool_comparison_of(self);
    bool before = of->ways.current;
    guildhall_comparison_add(&of->ways, &of->terms, pool_comparison_positive(cost, "cost"), pool_comparison_positive(time, "time"));
    return of->ways.current == before ? Qfalse : Qtrue;
}

static VALUE pool_comparison_break(VALUE self, VALUE pause)
{
    guildhall_comparison_break(&pool_comparison_of(self)->ways, pool_comparison_positive(pause, "pause"));
    return self;
}

/* start(whether the second way is likely to be better): before anything is added */
static VALUE pool_comparison_start(VALUE self, VALUE second)
{
    guildhall_comparison_start(&pool_comparison_of(self)->ways, RTEST(second));
    return self;
}

/* Whether the second way is the better one, as far as is known: it is used between trials. */
static VALUE pool_comparison_better_second_p(VALUE self) { return pool_comparison_of(self)->ways.best ? Qtrue : Qfalse; }

/* pass(seconds): in which nothing was measured */
static VALUE pool_comparison_pass(VALUE self, VALUE time)
{
    guildhall_comparison_pass(&pool_comparison_of(self)->ways, pool_comparison_positive(time, "time"));
    return self;
}

void guildhall_init_pool_comparison(VALUE pool)
{
    VALUE class = rb_define_class_under(pool, "Comparison", rb_cObject);
    rb_define_alloc_func(class, pool_comparison_allocate);
    rb_define_method(class, "initialize", pool_comparison_initialize, 6);
    rb_define_method(class, "start", pool_comparison_start, 1);
    rb_define_method(class, "better_second?", pool_comparison_better_second_p, 0);
    rb_define_method(class, "second?", pool_comparison_second_p, 0);
    rb_define_method(class, "trying?", pool_comparison_trying_p, 0);
    rb_define_method(class, "add", pool_comparison_add, 2);
    rb_define_method(class, "pass", pool_comparison_pass, 1);
    rb_define_method(class, "break", pool_comparison_break, 1);
    rb_undef_method(class, "initialize_copy");
}
