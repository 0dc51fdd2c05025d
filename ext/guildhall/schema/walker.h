/* The walker: an algorithm over nodes, whatever these are. A file that includes it defines first:
 *
 *   node                               a value of the instance, cheap to pass
 *   kind_of(walk, n)                   one of the GUILDHALL_KIND_ bits
 *   is_true(walk, n)                   of a boolean
 *   size_of(walk, n)                   elements or members
 *   number_of(walk, n), text_of(walk, n)
 *   value_of(walk, n), string_of(walk, n)  as a Ruby object; as one that lives until the next string_of
 *   weight_of(walk, n)                 how many Ruby objects value_of makes
 *   item_cursor, items_of(walk, n), next_item(&cursor, &n)
 *   MEMBERS_OF(walk, n, cursor), MEMBERS_END(cursor); next_member(&cursor, &key, &n): keys are nodes too
 *   find_member(walk, n, text)         is there one?
 *
 * Every function answers whether the instance is valid, as far as it looked: in ALL mode they go on after an error.
 */

/* Each builds on those before it. */
#include "walker/step.h"
#include "walker/same.h"
#include "walker/equal.h"
#include "walker/scalars.h"
#include "walker/arrays.h"
#include "walker/objects.h"
#include "walker/branches.h"

static bool check_instruction(const step *s)
{
    switch (s->it->op) {
    case GUILDHALL_OP_NEVER: return fail(s, Qfalse);
    case GUILDHALL_OP_ENUM: return check(s, one_of_values(s->walk, s->n, s->it->values));
    case GUILDHALL_OP_MINIMUM:
    case GUILDHALL_OP_MAXIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MINIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MAXIMUM:
    case GUILDHALL_OP_MULTIPLE_OF: return check_number(s);
    case GUILDHALL_OP_MIN_LENGTH:
    case GUILDHALL_OP_MAX_LENGTH: return check_length(s);
    case GUILDHALL_OP_PATTERN: return check(s, guildhall_walk_match(s->walk, s->it->callable, string_of(s->walk, s->n)));
    case GUILDHALL_OP_FORMAT: return check_format(s);
    case GUILDHALL_OP_FORMAT_CALL:
    case GUILDHALL_OP_CUSTOM: return check_callable(s);
    case GUILDHALL_OP_MIN_ITEMS:
    case GUILDHALL_OP_MIN_PROPERTIES: return check_size(s, true);
    case GUILDHALL_OP_MAX_ITEMS:
    case GUILDHALL_OP_MAX_PROPERTIES: return check_size(s, false);
    case GUILDHALL_OP_UNIQUE_ITEMS: return check_unique(s);
    case GUILDHALL_OP_ITEMS: return check_items(s);
    case GUILDHALL_OP_CONTAINS: return check_contains(s);
    case GUILDHALL_OP_PROPERTIES: return check_members(s);
    case GUILDHALL_OP_DEPENDENT_REQUIRED:
    case GUILDHALL_OP_DEPENDENT_SCHEMAS: return check_dependents(s);
    case GUILDHALL_OP_ALL_OF: return check_all_of(s);
    case GUILDHALL_OP_ANY_OF: return check_any_of(s);
    case GUILDHALL_OP_ONE_OF: return check_one_of(s);
    case GUILDHALL_OP_NOT: return check_not(s);
    case GUILDHALL_OP_IF: return check_branch(s);
    case GUILDHALL_OP_REF: return apply(s, s->it->schema);
    case GUILDHALL_OP_DYNAMIC_REF: return apply(s, guildhall_walk_dynamic(s->walk, s->it->dynamic, s->within));
    case GUILDHALL_OP_UNEVALUATED_ITEMS: return check_unevaluated_items(s);
    case GUILDHALL_OP_UNEVALUATED_PROPERTIES: return check_unevaluated_members(s);
    case GUILDHALL_OPS: break;
    }
    return true;
}

static bool check_instructions(step *s, unsigned kind, bool valid)
{
    const guildhall_program *program = s->walk->program;
    const guildhall_instruction *it = &program->instructions[s->schema->first], *end = it + s->schema->count;
    for (; it < end && (valid || !settled(s)); it++) {
        s->it = it;
        if (it->applies & kind) valid &= check_instruction(s);
    }
    return valid;
}

/* A schema with an `unevaluated…` keeps its own record, and passes it on when it holds. */
static bool check_tracking(step *s, unsigned kind, bool valid)
{
    guildhall_evaluated *outer = s->evaluated, own;
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    guildhall_evaluated_begin(s->walk, &own, size_of(s->walk, s->n));
    s->evaluated = &own;
    valid = check_instructions(s, kind, valid);
    if (valid && outer) guildhall_evaluated_merge(outer, &own);
    guildhall_stack_release(&s->walk->stack, mark);
    return valid;
}

static bool fail_type(const step *s)
{
    if (s->walk->mode != GUILDHALL_WALK_VERDICT)
        guildhall_walk_error(s->walk, s->schema->location, guildhall_walk_type, s->schema->type,
                             path_of(s->walk, s->at), UINT2NUM(kind_of(s->walk, s->n)), Qnil);
    return false;
}

static bool walk_schema(guildhall_walk *walk, uint32_t index, node n, const frame *at, guildhall_evaluated *evaluated,
                        const guildhall_scope *within)
{
    const guildhall_schema *schema = &walk->program->schemas[index];
    guildhall_scope here = {within, schema->resource};
    bool entered = walk->program->dynamic && (within == NULL || within->resource != schema->resource);
    step s = {walk, schema, NULL, n, at, evaluated, entered ? &here : within};
    unsigned kind = kind_of(walk, n);
    enter(walk);
    bool valid = has_type(walk, schema->types, kind, n) || fail_type(&s);
    if (valid || !settled(&s))
        valid &= schema->tracks && (kind & (GUILDHALL_KIND_ARRAY | GUILDHALL_KIND_OBJECT))
                     ? check_tracking(&s, kind, valid) : check_instructions(&s, kind, valid);
    walk->depth--;
    return valid;
}
