/* From the compiler's Arrays to what the walker reads. */
#include "program.h"

typedef struct guildhall_chunk {
    struct guildhall_chunk *next;
    uint64_t memory[];
} chunk;

/* Memory that lives as long as the program. */
static void *schema_program_allocate(guildhall_program *program, size_t size)
{
    chunk *taken = ruby_xcalloc(1, sizeof(chunk) + size);
    taken->next = program->memory;
    program->memory = taken;
    program->memory_size += sizeof(chunk) + size;
    return taken->memory;
}

/* Keeps a VALUE alive and where it is; returns it. */
static VALUE schema_program_pin(guildhall_program *program, VALUE value)
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

static void schema_program_mark(void *data)
{
    const guildhall_program *program = data;
    for (size_t i = 0; i < program->value_count; i++) rb_gc_mark(program->values[i]);
}

static void schema_program_free(void *data)
{
    guildhall_program *program = data;
    for (chunk *taken = program->memory; taken != NULL;) {
        chunk *next = taken->next;
        ruby_xfree(taken);
        taken = next;
    }
    ruby_xfree(program->values);
    ruby_xfree(program);
}

static size_t schema_program_size(const void *data)
{
    const guildhall_program *program = data;
    return sizeof *program + program->memory_size + program->value_capacity * sizeof(VALUE);
}

const rb_data_type_t guildhall_program_type = {
    .wrap_struct_name = "guildhall_schema_program",
    .function = {.dmark = schema_program_mark, .dfree = schema_program_free, .dsize = schema_program_size},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE,
};

/* The index of a schema, checked; NO_SCHEMA for nil. */
static uint32_t schema_program_schema(const guildhall_program *program, VALUE index)
{
    if (NIL_P(index)) return GUILDHALL_NO_SCHEMA;
    uint32_t schema = NUM2UINT(index);
    if (schema >= program->count) rb_raise(rb_eIndexError, "schema %u of %u", schema, program->count);
    return schema;
}

/* ---- an instruction's arguments, Ruby Arrays and Hashes, as the structs that the walker reads */

static long schema_program_length_of(VALUE array)
{
    Check_Type(array, T_ARRAY);
    return RARRAY_LEN(array);
}

static VALUE schema_program_pinned_string(guildhall_program *program, VALUE string)
{
    Check_Type(string, T_STRING);
    return schema_program_pin(program, string);
}

/* The String is frozen, and pinned: its bytes stay where they are. */
static guildhall_text schema_program_text(guildhall_program *program, VALUE string)
{
    schema_program_pinned_string(program, string);
    return (guildhall_text){(const uint8_t *)RSTRING_PTR(string), (size_t)RSTRING_LEN(string)};
}

static guildhall_schema_list schema_program_list(guildhall_program *program, VALUE array)
{
    guildhall_schema_list list = {.count = (uint32_t)schema_program_length_of(array)};
    list.indexes = schema_program_allocate(program, list.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < list.count; i++) list.indexes[i] = schema_program_schema(program, rb_ary_entry(array, i));
    return list;
}

static guildhall_texts schema_program_texts(guildhall_program *program, VALUE array)
{
    guildhall_texts list = {.count = (uint32_t)schema_program_length_of(array)};
    list.texts = schema_program_allocate(program, list.count * sizeof(guildhall_text));
    for (uint32_t i = 0; i < list.count; i++) list.texts[i] = schema_program_text(program, rb_ary_entry(array, i));
    return list;
}

/* A table of the texts, each once. */
static guildhall_table schema_program_table(guildhall_program *program, guildhall_texts texts)
{
    guildhall_table table = {.mask = 3, .texts = texts.texts};
    while (table.mask + 1 < texts.count * 2) table.mask = table.mask * 2 + 1;
    table.slots = schema_program_allocate(program, (table.mask + 1) * sizeof(uint32_t));
    memset(table.slots, 0xff, (table.mask + 1) * sizeof(uint32_t));
    for (uint32_t i = 0; i < texts.count; i++) {
        uint32_t *slot = guildhall_table_slot(&table, texts.texts[i]);
        if (*slot != GUILDHALL_TABLE_NONE) continue;
        table.texts[table.count] = texts.texts[i];
        *slot = table.count++;
    }
    return table;
}

/* [texts, others, null?, true?, false?] */
static guildhall_enum *schema_program_enum(guildhall_program *program, VALUE array, long first)
{
    guildhall_enum *values = schema_program_allocate(program, sizeof *values);
    values->texts = schema_program_table(program, schema_program_texts(program, rb_ary_entry(array, first)));
    values->others = schema_program_pin(program, rb_ary_entry(array, first + 1));
    schema_program_length_of(values->others);
    values->null = RTEST(rb_ary_entry(array, first + 2));
    values->yes = RTEST(rb_ary_entry(array, first + 3));
    values->no = RTEST(rb_ary_entry(array, first + 4));
    return values;
}

static void schema_program_patterns(guildhall_program *program, guildhall_members *members, VALUE patterns, VALUE schemas)
{
    members->patterns = schema_program_pin(program, patterns);
    for (long i = 0; i < schema_program_length_of(patterns); i++) schema_program_pin(program, rb_ary_entry(patterns, i));
    guildhall_schema_list list = schema_program_list(program, schemas);
    if ((long)list.count != schema_program_length_of(patterns)) rb_raise(rb_eArgError, "a schema a pattern");
    members->pattern_schemas = list.indexes;
    members->pattern_count = list.count;
}

static void schema_program_required(guildhall_program *program, guildhall_members *members, VALUE required)
{
    members->required_count = (uint32_t)schema_program_length_of(required);
    members->required = schema_program_allocate(program, members->required_count * sizeof(uint32_t));
    members->needs = schema_program_allocate(program, members->names.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < members->required_count; i++) {
        uint32_t name = guildhall_table_find(&members->names, schema_program_text(program, rb_ary_entry(required, i)));
        members->required[i] = name;
        members->needs[name] = i + 1;
    }
}

/* [names, schemas, required names (each once), patterns, their schemas, additional, propertyNames] */
static guildhall_members *schema_program_members(guildhall_program *program, VALUE array, long first)
{
    guildhall_members *members = schema_program_allocate(program, sizeof *members);
    VALUE names = rb_ary_entry(array, first), required = rb_ary_entry(array, first + 2);
    uint32_t named = (uint32_t)schema_program_length_of(names);
    Check_Type(required, T_ARRAY);
    members->names = schema_program_table(program, schema_program_texts(program, rb_ary_plus(names, required)));
    members->schemas = schema_program_allocate(program, members->names.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < members->names.count; i++)
        members->schemas[i] = i < named ? schema_program_schema(program, rb_ary_entry(rb_ary_entry(array, first + 1), i)) : GUILDHALL_NO_SCHEMA;
    schema_program_required(program, members, required);
    schema_program_patterns(program, members, rb_ary_entry(array, first + 3), rb_ary_entry(array, first + 4));
    members->additional = schema_program_schema(program, rb_ary_entry(array, first + 5));
    members->member_names = schema_program_schema(program, rb_ary_entry(array, first + 6));
    return members;
}

/* [keys, an Array of names for each | schemas for each] */
static guildhall_dependents *schema_program_dependents(guildhall_program *program, guildhall_op op, VALUE array, long first)
{
    guildhall_dependents *dependents = schema_program_allocate(program, sizeof *dependents);
    VALUE answers = rb_ary_entry(array, first + 1);
    dependents->keys = schema_program_texts(program, rb_ary_entry(array, first));
    if (op == GUILDHALL_OP_DEPENDENT_SCHEMAS) {
        dependents->schemas = schema_program_list(program, answers).indexes;
        return dependents;
    }
    dependents->names = schema_program_allocate(program, dependents->keys.count * sizeof(guildhall_texts));
    for (uint32_t i = 0; i < dependents->keys.count; i++) dependents->names[i] = schema_program_texts(program, rb_ary_entry(answers, i));
    return dependents;
}

/* [fallback, resources, schemas] */
static guildhall_dynamic *schema_program_dynamic(guildhall_program *program, VALUE array, long first)
{
    guildhall_dynamic *dynamic = schema_program_allocate(program, sizeof *dynamic);
    dynamic->fallback = schema_program_schema(program, rb_ary_entry(array, first));
    guildhall_schema_list schemas = schema_program_list(program, rb_ary_entry(array, first + 2));
    VALUE resources = rb_ary_entry(array, first + 1);
    dynamic->count = schemas.count;
    dynamic->schemas = schemas.indexes;
    dynamic->resources = schema_program_allocate(program, dynamic->count * sizeof(uint32_t));
    for (uint32_t i = 0; i < dynamic->count; i++) dynamic->resources[i] = NUM2UINT(rb_ary_entry(resources, i));
    program->dynamic = true;
    return dynamic;
}

static size_t schema_program_limit_of(VALUE limit, size_t without)
{
    return NIL_P(limit) ? without : NUM2SIZET(limit);
}

static void schema_program_build_arguments(guildhall_program *program, guildhall_instruction *it, VALUE array, long first)
{
    VALUE argument0 = rb_ary_entry(array, first);
    switch (it->op) {
    case GUILDHALL_OP_NEVER:
    case GUILDHALL_OP_UNIQUE_ITEMS:
    case GUILDHALL_OPS: break;
    case GUILDHALL_OP_ENUM: it->values = schema_program_enum(program, array, first); break;
    case GUILDHALL_OP_MINIMUM:
    case GUILDHALL_OP_MAXIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MINIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MAXIMUM:
    case GUILDHALL_OP_MULTIPLE_OF:
        it->number = guildhall_number_of(schema_program_pin(program, argument0));
        break;
    case GUILDHALL_OP_MIN_LENGTH:
    case GUILDHALL_OP_MAX_LENGTH:
    case GUILDHALL_OP_MIN_ITEMS:
    case GUILDHALL_OP_MAX_ITEMS:
    case GUILDHALL_OP_MIN_PROPERTIES:
    case GUILDHALL_OP_MAX_PROPERTIES: it->limit = schema_program_limit_of(argument0, 0); break;
    case GUILDHALL_OP_PATTERN:
    case GUILDHALL_OP_FORMAT_CALL:
    case GUILDHALL_OP_CUSTOM: it->callable = schema_program_pin(program, argument0); break;
    case GUILDHALL_OP_FORMAT: it->format = NUM2INT(argument0); break;
    case GUILDHALL_OP_ITEMS:
        it->items.prefix = schema_program_list(program, argument0);
        it->items.rest = schema_program_schema(program, rb_ary_entry(array, first + 1));
        break;
    case GUILDHALL_OP_CONTAINS:
        it->contains.schema = schema_program_schema(program, argument0);
        it->contains.min = schema_program_limit_of(rb_ary_entry(array, first + 1), 1);
        it->contains.max = schema_program_limit_of(rb_ary_entry(array, first + 2), SIZE_MAX);
        it->contains.evaluates = RTEST(rb_ary_entry(array, first + 3));
        break;
    case GUILDHALL_OP_PROPERTIES: it->members = schema_program_members(program, array, first); break;
    case GUILDHALL_OP_DEPENDENT_REQUIRED:
    case GUILDHALL_OP_DEPENDENT_SCHEMAS: it->dependents = schema_program_dependents(program, it->op, array, first); break;
    case GUILDHALL_OP_ALL_OF:
    case GUILDHALL_OP_ANY_OF:
    case GUILDHALL_OP_ONE_OF: it->list = schema_program_list(program, argument0); break;
    case GUILDHALL_OP_NOT:
    case GUILDHALL_OP_REF:
    case GUILDHALL_OP_UNEVALUATED_ITEMS:
    case GUILDHALL_OP_UNEVALUATED_PROPERTIES: it->schema = schema_program_schema(program, argument0); break;
    case GUILDHALL_OP_IF:
        it->branch.test = schema_program_schema(program, argument0);
        it->branch.yes = schema_program_schema(program, rb_ary_entry(array, first + 1));
        it->branch.no = schema_program_schema(program, rb_ary_entry(array, first + 2));
        break;
    case GUILDHALL_OP_DYNAMIC_REF: it->dynamic = schema_program_dynamic(program, array, first); break;
    }
}

/* ---- all of it */

static void schema_program_build_instruction(guildhall_program *program, guildhall_instruction *instruction, VALUE array)
{
#define KINDS(constant, name, kinds, check) GUILDHALL_KIND_##kinds,
    static const uint8_t applies[] = {GUILDHALL_EACH_OP(KINDS)};
    Check_Type(array, T_ARRAY);
    unsigned op = NUM2UINT(rb_ary_entry(array, 0));
    if (op >= GUILDHALL_OPS) rb_raise(rb_eArgError, "no such operation: %u", op);
    instruction->op = op;
    instruction->applies = applies[op];
    instruction->keyword = schema_program_pinned_string(program, rb_ary_entry(array, 1));
    instruction->operand = schema_program_pin(program, rb_ary_entry(array, 2));
    schema_program_build_arguments(program, instruction, array, 3);
}

static void schema_program_build_schema(guildhall_program *program, guildhall_schema *schema, VALUE array)
{
    schema->location = schema_program_pinned_string(program, rb_ary_entry(array, 0));
    schema->types = NUM2UINT(rb_ary_entry(array, 1));
    schema->type = schema_program_pin(program, rb_ary_entry(array, 2));
    schema->resource = NUM2UINT(rb_ary_entry(array, 3));
    schema->tracks = RTEST(rb_ary_entry(array, 4));
    VALUE instructions = rb_ary_entry(array, 5);
    schema->first = program->instruction_count;
    schema->count = (uint32_t)schema_program_length_of(instructions);
    for (uint32_t i = 0; i < schema->count; i++)
        schema_program_build_instruction(program, &program->instructions[program->instruction_count++], rb_ary_entry(instructions, i));
}

void guildhall_program_build(guildhall_program *program, VALUE schemas)
{
    program->count = (uint32_t)schema_program_length_of(schemas);
    size_t instructions = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        Check_Type(rb_ary_entry(schemas, i), T_ARRAY);
        instructions += schema_program_length_of(rb_ary_entry(rb_ary_entry(schemas, i), 5));
    }
    program->schemas = schema_program_allocate(program, program->count * sizeof(guildhall_schema));
    program->instructions = schema_program_allocate(program, instructions * sizeof(guildhall_instruction));
    for (uint32_t i = 0; i < program->count; i++) schema_program_build_schema(program, &program->schemas[i], rb_ary_entry(schemas, i));
}
