#include "program.h"

typedef struct guildhall_chunk {
    struct guildhall_chunk *next;
    uint64_t memory[];
} chunk;

void *guildhall_program_allocate(guildhall_program *program, size_t size)
{
    chunk *taken = ruby_xcalloc(1, sizeof(chunk) + size);
    taken->next = program->memory;
    program->memory = taken;
    program->memory_size += sizeof(chunk) + size;
    return taken->memory;
}

VALUE guildhall_program_pin(guildhall_program *program, VALUE value)
{
    if (RB_SPECIAL_CONST_P(value)) return value;
    if (program->value_count == program->value_capacity) {
        size_t capacity = program->value_capacity * 2 + 64;
        program->values = ruby_xrealloc2(program->values, capacity, sizeof(VALUE));
        program->value_capacity = capacity;
    }
    program->values[program->value_count++] = value;
    RB_OBJ_WRITTEN(program->owner, Qundef, value);
    return value;
}

void guildhall_program_mark(const guildhall_program *program)
{
    for (size_t i = 0; i < program->value_count; i++) rb_gc_mark(program->values[i]);
}

void guildhall_program_free(guildhall_program *program)
{
    for (chunk *taken = program->memory; taken != NULL;) {
        chunk *next = taken->next;
        ruby_xfree(taken);
        taken = next;
    }
    ruby_xfree(program->values);
}

size_t guildhall_program_memory(const guildhall_program *program)
{
    return program->memory_size + program->value_capacity * sizeof(VALUE);
}

uint32_t guildhall_program_schema(const guildhall_program *program, VALUE index)
{
    if (NIL_P(index)) return GUILDHALL_NO_SCHEMA;
    uint32_t schema = NUM2UINT(index);
    if (schema >= program->count) rb_raise(rb_eIndexError, "schema %u of %u", schema, program->count);
    return schema;
}

static VALUE schema_program_array_of(VALUE array, long at_least)
{
    Check_Type(array, T_ARRAY);
    if (RARRAY_LEN(array) < at_least) rb_raise(rb_eArgError, "%ld elements where %ld are needed", RARRAY_LEN(array), at_least);
    return array;
}

static VALUE schema_program_pinned_text(guildhall_program *program, VALUE text)
{
    Check_Type(text, T_STRING);
    return guildhall_program_pin(program, text);
}

static void schema_program_build_instruction(guildhall_program *program, guildhall_instruction *instruction, VALUE array)
{
    schema_program_array_of(array, 4);
    unsigned op = NUM2UINT(rb_ary_entry(array, 0));
    if (op >= GUILDHALL_OPS) rb_raise(rb_eArgError, "no such operation: %u", op);
    instruction->op = op;
    instruction->applies = NUM2UINT(rb_ary_entry(array, 1));
    instruction->keyword = schema_program_pinned_text(program, rb_ary_entry(array, 2));
    instruction->operand = guildhall_program_pin(program, rb_ary_entry(array, 3));
    guildhall_instruction_build(program, instruction, array, 4);
}

static void schema_program_build_schema(guildhall_program *program, guildhall_schema *schema, VALUE array)
{
    schema_program_array_of(array, 6);
    schema->location = schema_program_pinned_text(program, rb_ary_entry(array, 0));
    schema->types = NUM2UINT(rb_ary_entry(array, 1));
    schema->type = guildhall_program_pin(program, rb_ary_entry(array, 2));
    schema->resource = NUM2UINT(rb_ary_entry(array, 3));
    schema->tracks = RTEST(rb_ary_entry(array, 4));
    VALUE instructions = schema_program_array_of(rb_ary_entry(array, 5), 0);
    schema->first = program->instruction_count;
    schema->count = (uint32_t)RARRAY_LEN(instructions);
    for (uint32_t i = 0; i < schema->count; i++)
        schema_program_build_instruction(program, &program->instructions[program->instruction_count++], rb_ary_entry(instructions, i));
}

void guildhall_program_build(guildhall_program *program, VALUE schemas)
{
    schema_program_array_of(schemas, 1);
    program->count = (uint32_t)RARRAY_LEN(schemas);
    size_t instructions = 0;
    for (uint32_t i = 0; i < program->count; i++)
        instructions += RARRAY_LEN(schema_program_array_of(rb_ary_entry(schema_program_array_of(rb_ary_entry(schemas, i), 6), 5), 0));
    program->schemas = guildhall_program_allocate(program, program->count * sizeof(guildhall_schema));
    program->instructions = guildhall_program_allocate(program, instructions * sizeof(guildhall_instruction));
    for (uint32_t i = 0; i < program->count; i++) schema_program_build_schema(program, &program->schemas[i], rb_ary_entry(schemas, i));
}
