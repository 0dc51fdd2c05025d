/* Guildhall::Pipeline::Meter: what became of each stage's values, counted by all Ractors at once. */
#include <guildhall/platform.h>
#include <ruby.h>
#include <ruby/ractor.h>
#include <stdatomic.h>
#include <stdint.h>
#include "init.h"

enum { PASSED, DROPPED, FAILED, NANOSECONDS, COUNTERS };

/* A cache line a stage: workers that count different stages do not disturb each other. */
typedef struct {
    _Alignas(64) atomic_uint_fast64_t values[COUNTERS];
} stage_counters;

typedef struct {
    long count;
    stage_counters *stages;
    void *memory; /* what `stages` lie in, aligned */
} meter;

static void pipeline_meter_release(void *data)
{
    ruby_xfree(((meter *)data)->memory);
    ruby_xfree(data);
}

static size_t pipeline_meter_memory_size(const void *data) { return sizeof(meter) + ((const meter *)data)->count * sizeof(stage_counters); }

static const rb_data_type_t meter_type = {
    .wrap_struct_name = "guildhall_pipeline_meter",
    .function = {.dfree = pipeline_meter_release, .dsize = pipeline_meter_memory_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE,
};

static VALUE pipeline_meter_allocate(VALUE class)
{
    meter *data;
    return TypedData_Make_Struct(class, meter, &meter_type, data);
}

static meter *pipeline_meter_of(VALUE self) { return rb_check_typeddata(self, &meter_type); }

/* Meter.new(stages) */
static VALUE pipeline_meter_initialize(VALUE self, VALUE stages)
{
    meter *data = pipeline_meter_of(self);
    long count = NUM2LONG(stages);
    if (data->memory != NULL || count < 1 || count > 10000) rb_raise(rb_eArgError, "a number of stages, once");
    data->memory = ruby_xcalloc(count + 1, sizeof(stage_counters));
    data->stages = (stage_counters *)(((uintptr_t)data->memory + 63) & ~(uintptr_t)63);
    data->count = count;
    rb_obj_freeze(self);
    return rb_ractor_make_shareable(self);
}

static stage_counters *pipeline_meter_stage_at(VALUE self, VALUE index)
{
    meter *data = pipeline_meter_of(self);
    long stage = NUM2LONG(index);
    if (stage < 0 || stage >= data->count) rb_raise(rb_eIndexError, "stage %ld of %ld", stage, data->count);
    return &data->stages[stage];
}

/* meter.now: nanoseconds of the monotonic clock */
static VALUE pipeline_meter_now(VALUE self) { return LL2NUM(guildhall_now()); }

/* meter.add(stage, outcome, count, since): notes what became of `count` values that the stage took since then (`now`);
 * outcome: 0 passed on, 1 dropped, 2 raised. Answers the time now. */
static VALUE pipeline_meter_add(VALUE self, VALUE index, VALUE kind, VALUE count, VALUE since)
{
    stage_counters *stage = pipeline_meter_stage_at(self, index);
    int number = NUM2INT(kind);
    if (number < 0 || number >= NANOSECONDS) rb_raise(rb_eIndexError, "no such outcome");
    int64_t time = guildhall_now(), spent = time - NUM2LL(since);
    atomic_fetch_add_explicit(&stage->values[number], NUM2ULL(count), memory_order_relaxed);
    if (spent > 0) atomic_fetch_add_explicit(&stage->values[NANOSECONDS], (uint64_t)spent, memory_order_relaxed);
    return LL2NUM(time);
}

/* meter.read(stage): [passed, dropped, failed, nanoseconds] */
static VALUE pipeline_meter_read(VALUE self, VALUE index)
{
    stage_counters *stage = pipeline_meter_stage_at(self, index);
    VALUE values = rb_ary_new_capa(COUNTERS);
    for (int i = 0; i < COUNTERS; i++) rb_ary_push(values, ULL2NUM(atomic_load_explicit(&stage->values[i], memory_order_relaxed)));
    return values;
}

void guildhall_init_pipeline(VALUE guildhall)
{
    VALUE pipeline = rb_define_class_under(guildhall, "Pipeline", rb_cObject);
    VALUE class = rb_define_class_under(pipeline, "Meter", rb_cObject);
    rb_define_alloc_func(class, pipeline_meter_allocate);
    rb_undef_method(class, "initialize_copy");
    rb_define_method(class, "initialize", pipeline_meter_initialize, 1);
    rb_define_method(class, "now", pipeline_meter_now, 0);
    rb_define_method(class, "add", pipeline_meter_add, 4);
    rb_define_method(class, "read", pipeline_meter_read, 1);
}
