/* Turns the arguments of an instruction, Ruby Arrays and Hashes, into the structs that the walker reads. */
#include "program.h"

static VALUE schema_build_argument(VALUE array, long index)
{
    return rb_ary_entry(array, index);
}

static long schema_build_length_of(VALUE array)
{
    Check_Type(array, T_ARRAY);
    return RARRAY_LEN(array);
}

static guildhall_text schema_build_text_of(VALUE string)
{
    Check_Type(string, T_STRING);
    return (guildhall_text){(const uint8_t *)RSTRING_PTR(string), (size_t)RSTRING_LEN(string)};
}

static guildhall_schema_list schema_build_build_list(guildhall_program *program, VALUE array)
{
    guildhall_schema_list list = {.count = (uint32_t)schema_build_length_of(array)};
    list.indexes = guildhall_program_allocate(program, list.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < list.count; i++)
        list.indexes[i] = guildhall_program_schema(program, rb_ary_entry(array, i));
    return list;
}

/* A table of all Strings in the Arrays `first` and `second` (either may be nil). */
static void schema_build_build_table(guildhall_program *program, guildhall_table *table, VALUE first, VALUE second)
{
    size_t count = 0, bytes = 0;
    VALUE arrays[] = {first, second};
    for (int a = 0; a < 2; a++) {
        for (long i = 0; !NIL_P(arrays[a]) && i < schema_build_length_of(arrays[a]); i++, count++)
            bytes += schema_build_text_of(rb_ary_entry(arrays[a], i)).length;
    }
    uint8_t *memory = guildhall_program_allocate(program, guildhall_table_size(count, bytes));
    uint8_t *texts = memory + guildhall_table_size(count, 0);
    guildhall_table_place(table, memory, count);
    for (int a = 0; a < 2; a++) {
        for (long i = 0; !NIL_P(arrays[a]) && i < schema_build_length_of(arrays[a]); i++)
            guildhall_table_add(table, schema_build_text_of(rb_ary_entry(arrays[a], i)), &texts);
    }
}

/* [texts, others, null?, true?, false?] */
static guildhall_enum *schema_build_build_enum(guildhall_program *program, VALUE array, long first)
{
    guildhall_enum *values = guildhall_program_allocate(program, sizeof *values);
    schema_build_build_table(program, &values->texts, schema_build_argument(array, first), Qnil);
    values->others = guildhall_program_pin(program, schema_build_argument(array, first + 1));
    schema_build_length_of(values->others);
    values->null = RTEST(schema_build_argument(array, first + 2));
    values->yes = RTEST(schema_build_argument(array, first + 3));
    values->no = RTEST(schema_build_argument(array, first + 4));
    return values;
}

static void schema_build_build_patterns(guildhall_program *program, guildhall_members *members, VALUE patterns, VALUE schemas)
{
    members->patterns = guildhall_program_pin(program, patterns);
    for (long i = 0; i < schema_build_length_of(patterns); i++) guildhall_program_pin(program, rb_ary_entry(patterns, i));
    guildhall_schema_list list = schema_build_build_list(program, schemas);
    if ((long)list.count != schema_build_length_of(patterns)) rb_raise(rb_eArgError, "a schema a pattern");
    members->pattern_schemas = list.indexes;
    members->pattern_count = list.count;
}

static void schema_build_build_required(guildhall_program *program, guildhall_members *members, VALUE required)
{
    members->required_count = (uint32_t)schema_build_length_of(required);
    members->required = guildhall_program_allocate(program, members->required_count * sizeof(uint32_t));
    members->needs = guildhall_program_allocate(program, members->names.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < members->required_count; i++) {
        uint32_t name = guildhall_table_find(&members->names, schema_build_text_of(rb_ary_entry(required, i)));
        members->required[i] = name;
        members->needs[name] = i + 1;
    }
}

/* [names, schemas, required names (each once), patterns, their schemas, additional, propertyNames] */
static guildhall_members *schema_build_build_members(guildhall_program *program, VALUE array, long first)
{
    guildhall_members *members = guildhall_program_allocate(program, sizeof *members);
    VALUE names = schema_build_argument(array, first), required = schema_build_argument(array, first + 2);
    schema_build_build_table(program, &members->names, names, required);
    members->schemas = guildhall_program_allocate(program, members->names.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < members->names.count; i++)
        members->schemas[i] = i < (uint32_t)schema_build_length_of(names)
                                  ? guildhall_program_schema(program, rb_ary_entry(schema_build_argument(array, first + 1), i))
                                  : GUILDHALL_NO_SCHEMA;
    schema_build_build_required(program, members, required);
    schema_build_build_patterns(program, members, schema_build_argument(array, first + 3), schema_build_argument(array, first + 4));
    members->additional = guildhall_program_schema(program, schema_build_argument(array, first + 5));
    members->member_names = guildhall_program_schema(program, schema_build_argument(array, first + 6));
    return members;
}

/* Texts that are not looked up. The bytes of pinned Strings would do, but those of short ones move with their object. */
static guildhall_text schema_build_copy_text(guildhall_program *program, VALUE string)
{
    guildhall_text text = schema_build_text_of(string);
    uint8_t *bytes = guildhall_program_allocate(program, text.length);
    memcpy(bytes, text.bytes, text.length);
    return (guildhall_text){bytes, text.length};
}

/* [keys, an Array of names for each | schemas for each] */
static guildhall_dependents *schema_build_build_dependents(guildhall_program *program, guildhall_op op, VALUE array, long first)
{
    guildhall_dependents *dependents = guildhall_program_allocate(program, sizeof *dependents);
    VALUE keys = schema_build_argument(array, first), answers = schema_build_argument(array, first + 1);
    dependents->count = (uint32_t)schema_build_length_of(keys);
    dependents->keys = guildhall_program_allocate(program, dependents->count * sizeof(guildhall_text));
    for (uint32_t i = 0; i < dependents->count; i++) dependents->keys[i] = schema_build_copy_text(program, rb_ary_entry(keys, i));
    if (op == GUILDHALL_OP_DEPENDENT_SCHEMAS) {
        dependents->schemas = schema_build_build_list(program, answers).indexes;
        return dependents;
    }
    dependents->names = guildhall_program_allocate(program, dependents->count * sizeof(guildhall_texts));
    for (uint32_t i = 0; i < dependents->count; i++) {
        VALUE names = rb_ary_entry(answers, i);
        guildhall_texts *list = &dependents->names[i];
        list->count = (uint32_t)schema_build_length_of(names);
        list->texts = guildhall_program_allocate(program, list->count * sizeof(guildhall_text));
        for (uint32_t n = 0; n < list->count; n++) list->texts[n] = schema_build_copy_text(program, rb_ary_entry(names, n));
    }
    return dependents;
}

/* [fallback, resources, schemas] */
static guildhall_dynamic *schema_build_build_dynamic(guildhall_program *program, VALUE array, long first)
{
    guildhall_dynamic *dynamic = guildhall_program_allocate(program, sizeof *dynamic);
    dynamic->fallback = guildhall_program_schema(program, schema_build_argument(array, first));
    guildhall_schema_list schemas = schema_build_build_list(program, schema_build_argument(array, first + 2));
    VALUE resources = schema_build_argument(array, first + 1);
    dynamic->count = schemas.count;
    dynamic->schemas = schemas.indexes;
    dynamic->resources = guildhall_program_allocate(program, dynamic->count * sizeof(uint32_t));
    for (uint32_t i = 0; i < dynamic->count; i++) dynamic->resources[i] = NUM2UINT(rb_ary_entry(resources, i));
    program->dynamic = true;
    return dynamic;
}

static size_t schema_build_limit_of(VALUE limit, size_t without)
{
    return NIL_P(limit) ? without : NUM2SIZET(limit);
}

void guildhall_instruction_build(guildhall_program *program, guildhall_instruction *it, VALUE array, long first)
{
    VALUE argument0 = schema_build_argument(array, first);
    switch (it->op) {
    case GUILDHALL_OP_NEVER:
    case GUILDHALL_OP_UNIQUE_ITEMS:
    case GUILDHALL_OPS: break;
    case GUILDHALL_OP_ENUM: it->values = schema_build_build_enum(program, array, first); break;
    case GUILDHALL_OP_MINIMUM:
    case GUILDHALL_OP_MAXIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MINIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MAXIMUM:
    case GUILDHALL_OP_MULTIPLE_OF:
        it->number = guildhall_number_of(guildhall_program_pin(program, argument0));
        break;
    case GUILDHALL_OP_MIN_LENGTH:
    case GUILDHALL_OP_MAX_LENGTH:
    case GUILDHALL_OP_MIN_ITEMS:
    case GUILDHALL_OP_MAX_ITEMS:
    case GUILDHALL_OP_MIN_PROPERTIES:
    case GUILDHALL_OP_MAX_PROPERTIES: it->limit = schema_build_limit_of(argument0, 0); break;
    case GUILDHALL_OP_PATTERN:
    case GUILDHALL_OP_FORMAT_CALL:
    case GUILDHALL_OP_CUSTOM: it->callable = guildhall_program_pin(program, argument0); break;
    case GUILDHALL_OP_FORMAT: it->format = NUM2INT(argument0); break;
    case GUILDHALL_OP_ITEMS:
        it->items.prefix = schema_build_build_list(program, argument0);
        it->items.rest = guildhall_program_schema(program, schema_build_argument(array, first + 1));
        break;
    case GUILDHALL_OP_CONTAINS:
        it->contains.schema = guildhall_program_schema(program, argument0);
        it->contains.min = schema_build_limit_of(schema_build_argument(array, first + 1), 1);
        it->contains.max = schema_build_limit_of(schema_build_argument(array, first + 2), SIZE_MAX);
        it->contains.evaluates = RTEST(schema_build_argument(array, first + 3));
        break;
    case GUILDHALL_OP_PROPERTIES: it->members = schema_build_build_members(program, array, first); break;
    case GUILDHALL_OP_DEPENDENT_REQUIRED:
    case GUILDHALL_OP_DEPENDENT_SCHEMAS: it->dependents = schema_build_build_dependents(program, it->op, array, first); break;
    case GUILDHALL_OP_ALL_OF:
    case GUILDHALL_OP_ANY_OF:
    case GUILDHALL_OP_ONE_OF: it->list = schema_build_build_list(program, argument0); break;
    case GUILDHALL_OP_NOT:
    case GUILDHALL_OP_REF:
    case GUILDHALL_OP_UNEVALUATED_ITEMS:
    case GUILDHALL_OP_UNEVALUATED_PROPERTIES: it->schema = guildhall_program_schema(program, argument0); break;
    case GUILDHALL_OP_IF:
        it->branch.test = guildhall_program_schema(program, argument0);
        it->branch.yes = guildhall_program_schema(program, schema_build_argument(array, first + 1));
        it->branch.no = guildhall_program_schema(program, schema_build_argument(array, first + 2));
        break;
    case GUILDHALL_OP_DYNAMIC_REF: it->dynamic = schema_build_build_dynamic(program, array, first); break;
    }
}
