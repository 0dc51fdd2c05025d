/* What a walk over an instance carries with it, whatever the instance is made of. */
#ifndef GUILDHALL_SCHEMA_WALK_H
#define GUILDHALL_SCHEMA_WALK_H

#include "program.h"
#include "stack.h"

/* Schemas inside schemas and values inside values, together: about half a megabyte of C stack. */
#define GUILDHALL_WALK_DEPTH 1000

typedef enum {
    GUILDHALL_WALK_VERDICT, /* stops at the first error and makes nothing of it */
    GUILDHALL_WALK_FIRST,   /* stops at the first error and records it */
    GUILDHALL_WALK_ALL      /* records every error */
} guildhall_walk_mode;

typedef struct {
    const guildhall_program *program;
    const void *source; /* the walker's own: what the nodes point into */
    guildhall_walk_mode mode;
    VALUE errors;       /* Array of [keyword, path, location, operand, detail, causes] */
    VALUE string;       /* reused where Ruby needs a String to match; nil until then */
    VALUE decoded;      /* Hash by identity: Documents in Hashes and Arrays, and what they decode to; nil until there is one */
    uint64_t work;      /* schemas applied and values compared so far */
    uint32_t depth;
    guildhall_stack stack;
} guildhall_walk;

/* The resources entered on the way, innermost first: what `$dynamicRef` looks through. */
typedef struct guildhall_scope {
    const struct guildhall_scope *outer;
    uint32_t resource;
} guildhall_scope;

/* Which members or elements of one instance a schema has spoken about: a bit each. */
typedef struct {
    uint64_t *bits;
    size_t words;
} guildhall_evaluated;

/* walk.c */
extern VALUE guildhall_walk_type, guildhall_walk_required; /* keywords as frozen Strings */
void guildhall_walk_count(guildhall_walk *walk, uint64_t work); /* raises LimitError beyond the limit */
__attribute__((noreturn)) void guildhall_walk_too_deep(void);
void guildhall_walk_error(guildhall_walk *walk, VALUE location, VALUE keyword, VALUE operand, VALUE path, VALUE detail,
                          VALUE causes);
bool guildhall_walk_match(VALUE regexp, VALUE string);
uint32_t guildhall_walk_dynamic(const guildhall_dynamic *dynamic, const guildhall_scope *within);
void guildhall_walk_init(void);

/* The two walkers. Errors are left in walk->errors. */
bool guildhall_walk_value(guildhall_walk *walk, VALUE value);
bool guildhall_walk_tape(guildhall_walk *walk, uint32_t index); /* walk->source: a guildhall_view of JSON */

static inline void guildhall_evaluated_begin(guildhall_walk *walk, guildhall_evaluated *evaluated, size_t size)
{
    evaluated->words = (size + 63) / 64;
    evaluated->bits = guildhall_stack_take(&walk->stack, evaluated->words * 8);
    memset(evaluated->bits, 0, evaluated->words * 8);
}
static inline void guildhall_evaluated_add(guildhall_evaluated *evaluated, size_t index)
{
    evaluated->bits[index / 64] |= UINT64_C(1) << (index % 64);
}
static inline bool guildhall_evaluated_has(const guildhall_evaluated *evaluated, size_t index)
{
    return evaluated->bits[index / 64] >> (index % 64) & 1;
}
static inline void guildhall_evaluated_merge(guildhall_evaluated *into, const guildhall_evaluated *from)
{
    for (size_t i = 0; i < into->words; i++) into->bits[i] |= from->bits[i];
}

#endif
