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

static size_t comparison_memsize(const void *data) { return sizeof(comparison); }

static const rb_data_type_t comparison_type = {
    "Guildhall::Pool::Comparison", {NULL, RUBY_DEFAULT_FREE, comparison_memsize}, 0, 0, RUBY_TYPED_FREE_IMMEDIATELY};

static comparison *comparison_of(VALUE self) { return rb_check_typeddata(self, &comparison_type); }

static VALUE comparison_allocate(VALUE class)
{
    comparison *of;
    return TypedData_Make_Struct(class, comparison, &comparison_type, of);
}

static double positive(VALUE number, const char *name)
{
    double value = NUM2DBL(number);
    if (!(value > 0) || isinf(value)) rb_raise(guildhall_argument_error(), "%s must be a positive number, not %g", name, value);
    return value;
}

/* Comparison.new(least gain, most evidence of a pair, most pairs, shortest pause, longest pause, most pause): guildhall_comparison_terms;
 * times in seconds */
static VALUE comparison_initialize(VALUE self, VALUE gain, VALUE evidence, VALUE pairs, VALUE shortest, VALUE longest, VALUE most)
{
    comparison_of(self)->terms = (guildhall_comparison_terms){
        positive(gain, "least gain"), positive(evidence, "evidence"), (unsigned)positive(pairs, "pairs"), positive(shortest, "pause"),
        positive(longest, "pause"), positive(most, "pause")};
    return self;
}

static VALUE comparison_second_p(VALUE self) { return comparison_of(self)->ways.current ? Qtrue : Qfalse; }

static VALUE comparison_trying_p(VALUE self) { return comparison_of(self)->ways.trying ? Qtrue : Qfalse; }

/* add(seconds for a unit of work, seconds that the epoch took): whether another way is used from now on */
static VALUE comparison_add(VALUE self, VALUE cost, VALUE time)
{
    comparison *of = comparison_of(self);
    bool before = of->ways.current;
    guildhall_comparison_add(&of->ways, &of->terms, positive(cost, "cost"), positive(time, "time"));
    return of->ways.current == before ? Qfalse : Qtrue;
}

static VALUE comparison_break(VALUE self, VALUE pause)
{
    guildhall_comparison_break(&comparison_of(self)->ways, positive(pause, "pause"));
    return self;
}

/* start(whether the second way is likely to be better): before anything is added */
static VALUE comparison_start(VALUE self, VALUE second)
{
    guildhall_comparison_start(&comparison_of(self)->ways, RTEST(second));
    return self;
}

/* Whether the second way is the better one, as far as is known: it is used between trials. */
static VALUE comparison_better_second_p(VALUE self) { return comparison_of(self)->ways.best ? Qtrue : Qfalse; }

/* pass(seconds): in which nothing was measured */
static VALUE comparison_pass(VALUE self, VALUE time)
{
    guildhall_comparison_pass(&comparison_of(self)->ways, positive(time, "time"));
    return self;
}

void guildhall_init_pool_comparison(VALUE pool)
{
    VALUE class = rb_define_class_under(pool, "Comparison", rb_cObject);
    rb_define_alloc_func(class, comparison_allocate);
    rb_define_method(class, "initialize", comparison_initialize, 6);
    rb_define_method(class, "start", comparison_start, 1);
    rb_define_method(class, "better_second?", comparison_better_second_p, 0);
    rb_define_method(class, "second?", comparison_second_p, 0);
    rb_define_method(class, "trying?", comparison_trying_p, 0);
    rb_define_method(class, "add", comparison_add, 2);
    rb_define_method(class, "pass", comparison_pass, 1);
    rb_define_method(class, "break", comparison_break, 1);
    rb_undef_method(class, "initialize_copy");
}
