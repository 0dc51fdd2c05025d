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
    VALUE made;         /* Hash by identity: a Document => what it decodes to, a text in another encoding => its copy in UTF-8; nil until there is one */
    uint64_t work;      /* schemas applied, values compared and bytes looked at so far, in steps */
    uint64_t called_at, called_cpu; /* clocks in ns when a Regexp or a callable last took long; 0: none has yet */
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
/* What Ruby does counts by the time that it takes: from guildhall_walk_begin_time's answer on. */
uint64_t guildhall_walk_begin_time(void);
void guildhall_walk_count_time(guildhall_walk *walk, uint64_t began);
bool guildhall_walk_match(guildhall_walk *walk, VALUE regexp, VALUE string);
uint32_t guildhall_walk_dynamic(guildhall_walk *walk, const guildhall_dynamic *dynamic, const guildhall_scope *within);
void guildhall_walk_init(void);

/* A step takes about 100 ns. What is done to many things at once counts as the steps that take as long. */
#define GUILDHALL_WALK_BYTES_A_STEP 64   /* of a text */
#define GUILDHALL_WALK_MEMBERS_A_STEP 4  /* members that are passed by */
#define GUILDHALL_WALK_ITEMS_A_STEP 16   /* elements, or slots of a table */
#define GUILDHALL_WALK_NODES_A_STEP 4    /* Ruby objects that are made */

static inline void guildhall_walk_count_some(guildhall_walk *walk, size_t things, size_t a_step)
{
    if (RB_UNLIKELY(things >= a_step)) guildhall_walk_count(walk, things / a_step);
}
static inline void guildhall_walk_count_bytes(guildhall_walk *walk, size_t n) { guildhall_walk_count_some(walk, n, GUILDHALL_WALK_BYTES_A_STEP); }
static inline void guildhall_walk_count_members(guildhall_walk *walk, size_t n) { guildhall_walk_count_some(walk, n, GUILDHALL_WALK_MEMBERS_A_STEP); }
static inline void guildhall_walk_count_items(guildhall_walk *walk, size_t n) { guildhall_walk_count_some(walk, n, GUILDHALL_WALK_ITEMS_A_STEP); }

/* Is a value one of the schema's, as JSON understands it? 1 is 1.0, and nothing else is what it is not. */
bool guildhall_walk_among(guildhall_walk *walk, VALUE value, VALUE others);

/* The two walkers. Errors are left in walk->errors. */
bool guildhall_walk_value(guildhall_walk *walk, VALUE value);
bool guildhall_walk_tape(guildhall_walk *walk, uint32_t index); /* walk->source: a guildhall_view of JSON */

static inline void guildhall_evaluated_begin(guildhall_walk *walk, guildhall_evaluated *evaluated, size_t size)
{
    evaluated->words = (size + 63) / 64;
    guildhall_walk_count(walk, evaluated->words / GUILDHALL_WALK_ITEMS_A_STEP);
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
