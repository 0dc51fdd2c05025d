/* The Ruby class Guildhall::Schema::Program. */
#include <ruby.h>
#include <ruby/ractor.h>
#include "document/plain.h"
#include "format.h"
#include "init.h"
#include "json/document.h"
#include "walk.h"

static VALUE schema_program_s_allocate(VALUE class)
{
    guildhall_program *program;
    VALUE self = TypedData_Make_Struct(class, guildhall_program, &guildhall_program_type, program);
    program->owner = self;
    return self;
}

static guildhall_program *schema_program_of(VALUE self)
{
    guildhall_program *program = rb_check_typeddata(self, &guildhall_program_type);
    if (program->count == 0) rb_raise(rb_eArgError, "not initialised");
    return program;
}

/* Program.new(schemas, work_limit, max_digits): what the compiler made, all of it shareable; schemas[0] is where to begin. */
static VALUE schema_program_initialize(VALUE self, VALUE schemas, VALUE work_limit, VALUE max_digits)
{
    guildhall_program *program = rb_check_typeddata(self, &guildhall_program_type);
    if (program->count > 0) rb_raise(rb_eArgError, "initialised already");
    if (!rb_ractor_shareable_p(schemas)) rb_raise(rb_eArgError, "not shareable");
    program->work_limit = NUM2ULL(work_limit);
    program->max_digits = NUM2UINT(max_digits);
    guildhall_program_build(program, schemas);
    RB_GC_GUARD(schemas);
    rb_obj_freeze(self);
    return rb_ractor_make_shareable(self);
}

typedef struct {
    guildhall_walk walk;
    VALUE value;
} run;

static VALUE schema_run_walk(VALUE data)
{
    run *state = (run *)data;
    if (!guildhall_json_document_p(state->value)) {
        state->value = guildhall_document_plain(state->value); /* of other formats */
        return guildhall_walk_value(&state->walk, state->value) ? Qtrue : Qfalse;
    }
    guildhall_cursor cursor = guildhall_document_self(state->value);
    state->walk.source = &cursor.view;
    return guildhall_walk_tape(&state->walk, cursor.position.offset) ? Qtrue : Qfalse;
}

static VALUE schema_run_end(VALUE data)
{
    run *state = (run *)data;
    guildhall_stack_free(&state->walk.stack);
    return Qnil;
}

static VALUE schema_walk_all(VALUE self, VALUE value, guildhall_walk_mode mode, VALUE errors)
{
    run state;
    state.value = value;
    state.walk.program = schema_program_of(self);
    state.walk.mode = mode;
    state.walk.errors = errors;
    state.walk.string = state.walk.made = Qnil;
    state.walk.work = state.walk.called_at = state.walk.called_cpu = 0;
    state.walk.depth = 0;
    state.walk.source = NULL;
    guildhall_stack_init(&state.walk.stack);
    VALUE verdict = rb_ensure(schema_run_walk, (VALUE)&state, schema_run_end, (VALUE)&state);
    RB_GC_GUARD(self);
    RB_GC_GUARD(value);
    RB_GC_GUARD(errors);
    return verdict;
}

/* program.valid?(value): true or false */
static VALUE schema_program_valid_p(VALUE self, VALUE value)
{
    return schema_walk_all(self, value, GUILDHALL_WALK_VERDICT, Qnil);
}

/* program.errors(value, all): [[keyword, path, location, operand, detail, causes], …] */
static VALUE schema_program_errors(VALUE self, VALUE value, VALUE all)
{
    VALUE errors = rb_ary_new();
    schema_walk_all(self, value, RTEST(all) ? GUILDHALL_WALK_ALL : GUILDHALL_WALK_FIRST, errors);
    return errors;
}

/* Program.format(name): the number of a format that is checked natively, or nil */
static VALUE schema_program_s_format(VALUE class, VALUE name)
{
    int number = guildhall_format_number(StringValueCStr(name));
    return number < 0 ? Qnil : INT2FIX(number);
}

/* Program::OPERATIONS: their names as Symbols, each at the index of its number. */
static VALUE schema_operation_names(void)
{
    VALUE names = rb_ary_new();
#define PUSH(constant, name, kinds, check) rb_ary_push(names, ID2SYM(rb_intern(#name)));
    GUILDHALL_EACH_OP(PUSH)
    return rb_ractor_make_shareable(names);
}

void guildhall_init_schema(VALUE guildhall)
{
    VALUE schema = rb_define_class_under(guildhall, "Schema", rb_cObject);
    VALUE program = rb_define_class_under(schema, "Program", rb_cObject);
    guildhall_number_init();
    guildhall_walk_init();
    rb_define_alloc_func(program, schema_program_s_allocate);
    rb_undef_method(program, "initialize_copy");
    rb_define_method(program, "initialize", schema_program_initialize, 3);
    rb_define_method(program, "valid?", schema_program_valid_p, 1);
    rb_define_method(program, "errors", schema_program_errors, 2);
    rb_define_singleton_method(program, "format", schema_program_s_format, 1);
    rb_define_const(program, "OPERATIONS", schema_operation_names());
}
