/* A compiled schema: what the walker runs. Made once from the compiler's Arrays, then only read, by any number of
 * Ractors at once. */
#ifndef GUILDHALL_SCHEMA_PROGRAM_H
#define GUILDHALL_SCHEMA_PROGRAM_H

#include <ruby.h>
#include "number.h"
#include "text.h"

/* What an instance can be, as bits: a schema's `types` is a union of them. */
enum {
    GUILDHALL_KIND_NULL = 1,
    GUILDHALL_KIND_BOOLEAN = 2,
    GUILDHALL_KIND_INTEGER = 4,
    GUILDHALL_KIND_FLOAT = 8, /* a number that is not written as an integer */
    GUILDHALL_KIND_STRING = 16,
    GUILDHALL_KIND_ARRAY = 32,
    GUILDHALL_KIND_OBJECT = 64,
    GUILDHALL_KIND_OTHER = 128, /* nothing that JSON knows */
    GUILDHALL_KIND_NUMBER = GUILDHALL_KIND_INTEGER | GUILDHALL_KIND_FLOAT,
    GUILDHALL_KIND_ANY = 255
};

/* The operations, in the order in which those of one schema run: the name that the compiler knows it by, the kinds of instance that it says
 * something about, and which schema_walker_check_… checks it. */
#define GUILDHALL_EACH_OP(X) \
    X(NEVER, never, ANY, never) X(ENUM, enum, ANY, enum) \
    X(MINIMUM, minimum, NUMBER, number) X(MAXIMUM, maximum, NUMBER, number) \
    X(EXCLUSIVE_MINIMUM, exclusive_minimum, NUMBER, number) X(EXCLUSIVE_MAXIMUM, exclusive_maximum, NUMBER, number) \
    X(MULTIPLE_OF, multiple_of, NUMBER, number) \
    X(MIN_LENGTH, min_length, STRING, length) X(MAX_LENGTH, max_length, STRING, length) \
    X(PATTERN, pattern, STRING, pattern) X(FORMAT, format, STRING, format) X(FORMAT_CALL, format_call, STRING, callable) \
    X(MIN_ITEMS, min_items, ARRAY, size) X(MAX_ITEMS, max_items, ARRAY, size) X(UNIQUE_ITEMS, unique_items, ARRAY, unique) \
    X(ITEMS, items, ARRAY, items) X(CONTAINS, contains, ARRAY, contains) \
    X(MIN_PROPERTIES, min_properties, OBJECT, size) X(MAX_PROPERTIES, max_properties, OBJECT, size) X(PROPERTIES, properties, OBJECT, members) \
    X(DEPENDENT_REQUIRED, dependent_required, OBJECT, dependents) X(DEPENDENT_SCHEMAS, dependent_schemas, OBJECT, dependents) \
    X(ALL_OF, all_of, ANY, all_of) X(ANY_OF, any_of, ANY, any_of) X(ONE_OF, one_of, ANY, one_of) X(NOT, not, ANY, not) X(IF, if, ANY, branch) \
    X(REF, ref, ANY, ref) X(DYNAMIC_REF, dynamic_ref, ANY, dynamic_ref) \
    X(CUSTOM, custom, ANY, callable) \
    X(UNEVALUATED_ITEMS, unevaluated_items, ARRAY, items) X(UNEVALUATED_PROPERTIES, unevaluated_properties, OBJECT, unevaluated_members)

#define GUILDHALL_OP(constant, name, kinds, check) GUILDHALL_OP_##constant,
typedef enum { GUILDHALL_EACH_OP(GUILDHALL_OP) GUILDHALL_OPS } guildhall_op;

#define GUILDHALL_NO_SCHEMA UINT32_MAX

/* Some schemas by index. */
typedef struct {
    uint32_t count;
    uint32_t *indexes;
} guildhall_schema_list;

/* A closed set of values: `enum`, and `const` with one. */
typedef struct {
    guildhall_table texts;
    bool null, yes, no;
    VALUE others;   /* an Array of numbers, Arrays and Hashes, compared one by one */
} guildhall_enum;

/* All that is said of an object's members, checked in one pass. */
typedef struct {
    guildhall_table names;   /* of `properties` and `required` */
    uint32_t *schemas;       /* a name's schema, or NO_SCHEMA */
    uint32_t *required;      /* the names' indexes, in the order of `required` */
    uint32_t required_count;
    uint32_t *needs;         /* a name's place in `required` + 1; 0 when it is not required */
    uint32_t pattern_count;
    uint32_t *pattern_schemas;
    VALUE patterns;          /* an Array of Regexps */
    uint32_t additional;     /* for members with no schema by name or pattern */
    uint32_t member_names;   /* `propertyNames` */
} guildhall_members;

typedef struct {
    uint32_t count;
    guildhall_text *texts;
} guildhall_texts;

/* `dependentRequired`: key i asks for names[i]; `dependentSchemas`: for schemas[i]. */
typedef struct {
    guildhall_texts keys;
    guildhall_texts *names;
    uint32_t *schemas;
} guildhall_dependents;

/* Where `$dynamicRef` may lead: resource → schema, and where it leads when none of these is in scope. */
typedef struct {
    uint32_t fallback;
    uint32_t count;
    uint32_t *resources;
    uint32_t *schemas;
} guildhall_dynamic;

typedef struct {
    guildhall_op op;
    unsigned applies; /* kinds of instance that it says something about */
    VALUE keyword;    /* String */
    VALUE operand;    /* the keyword's value in the schema, for messages */
    union {
        guildhall_number number;
        size_t limit;
        int format;
        VALUE callable; /* Regexp, or an object with `call` */
        guildhall_enum *values;
        guildhall_members *members;
        guildhall_dependents *dependents;
        guildhall_schema_list list;
        guildhall_dynamic *dynamic;
        uint32_t schema;
        struct { guildhall_schema_list prefix; uint32_t rest; } items;
        struct { uint32_t schema; size_t min, max; bool evaluates; } contains;
        struct { uint32_t test, yes, no; } branch;
    };
} guildhall_instruction;

typedef struct {
    uint32_t first, count; /* instructions */
    unsigned types;        /* kinds that `type` allows; ANY without it */
    uint32_t resource;     /* which `$id` it belongs to */
    bool tracks;           /* has an `unevaluated…` of its own */
    VALUE location;        /* String: its address */
    VALUE type;            /* the value of `type`, for messages */
} guildhall_schema;

typedef struct {
    guildhall_schema *schemas;
    uint32_t count;
    guildhall_instruction *instructions;
    uint32_t instruction_count;
    bool dynamic;       /* has a `$dynamicRef` */
    uint64_t work_limit;
    uint32_t max_digits; /* of numbers that Ruby has to divide */
    VALUE owner;        /* the Ruby object around it */
    VALUE *values;      /* every VALUE above, pinned: compaction must not move them */
    size_t value_count, value_capacity;
    struct guildhall_chunk *memory; /* everything else */
    size_t memory_size;
} guildhall_program;

/* Fills an empty program with what the compiler made: an Array of
 * [location, kinds, type, resource, tracks, [[op, keyword, operand, argument…], …]] per schema.
 * Raises for anything else; what was taken until then is freed with the program all the same. */
void guildhall_program_build(guildhall_program *program, VALUE schemas);

extern const rb_data_type_t guildhall_program_type;

#endif
