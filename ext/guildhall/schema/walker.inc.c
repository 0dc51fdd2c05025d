/* The walker: an algorithm over nodes, whatever these are. A file that includes it defines first:
 *
 *   node                               a value of the instance, cheap to pass
 *   schema_node_kind_of(walk, n)                   one of the GUILDHALL_KIND_ bits
 *   schema_node_is_true(walk, n)                   of a boolean
 *   schema_node_size_of(walk, n)                   elements or members
 *   schema_node_number_of(walk, n)
 *   schema_node_text_of(walk, n)                   counts its bytes; may take room on the stack, which the schema gives back
 *   schema_node_value_of(walk, n), schema_node_string_of(walk, n)  as a Ruby object; as one that lives until the next string_of
 *   schema_node_weight_of(walk, n)                 how many Ruby objects value_of makes
 *   item_cursor, schema_node_items_of(walk, n), schema_node_next_item(&cursor, &n)
 *   MEMBERS_OF(walk, n, cursor), MEMBERS_END(cursor); schema_node_next_member(&cursor, &key, &n): keys are nodes too
 *   schema_node_find_member(walk, n, text)         is there one?
 *
 * Every function answers whether the instance is valid, as far as it looked: in ALL mode they go on after an error.
 */

/* Each builds on those before it. */
#include "walker/step.inc.c"
#include "walker/values.inc.c"
#include "walker/scalars.inc.c"
#include "walker/arrays.inc.c"
#include "walker/objects.inc.c"
#include "walker/branches.inc.c"

static bool schema_walker_check_instruction(const step *s)
{
#define CHECK(constant, name, kinds, check) case GUILDHALL_OP_##constant: return schema_walker_check_##check(s);
    switch (s->it->op) {
        GUILDHALL_EACH_OP(CHECK)
    case GUILDHALL_OPS: break;
    }
    return true;
#undef CHECK
}

static bool schema_walker_check_instructions(step *s, unsigned kind, bool valid)
{
    const guildhall_program *program = s->walk->program;
    const guildhall_instruction *it = &program->instructions[s->schema->first], *end = it + s->schema->count;
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    for (; it < end && (valid || !schema_walker_settled(s)); it++) {
        s->it = it;
        if (it->applies & kind) valid &= schema_walker_check_instruction(s);
    }
    guildhall_stack_release(&s->walk->stack, mark); /* texts */
    return valid;
}

/* A schema with an `unevaluated…` keeps its own record, and passes it on when it holds. */
static bool schema_walker_check_tracking(step *s, unsigned kind, bool valid)
{
    guildhall_evaluated *outer = s->evaluated, own;
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    guildhall_evaluated_begin(s->walk, &own, schema_node_size_of(s->walk, s->n));
    s->evaluated = &own;
    valid = schema_walker_check_instructions(s, kind, valid);
    if (valid && outer) guildhall_evaluated_merge(outer, &own);
    guildhall_stack_release(&s->walk->stack, mark);
    return valid;
}

static bool schema_walker_fail_type(const step *s)
{
    if (s->walk->mode != GUILDHALL_WALK_VERDICT)
        guildhall_walk_error(s->walk, s->schema->location, guildhall_walk_type, s->schema->type,
                             schema_walker_path_of(s->walk, s->at), UINT2NUM(schema_node_kind_of(s->walk, s->n)), Qnil);
    return false;
}

static bool schema_walker_walk_schema(guildhall_walk *walk, uint32_t index, node n, const frame *at, guildhall_evaluated *evaluated,
                        const guildhall_scope *within)
{
    const guildhall_schema *schema = &walk->program->schemas[index];
    guildhall_scope here = {within, schema->resource};
    bool entered = walk->program->dynamic && (within == NULL || within->resource != schema->resource);
    step s = {walk, schema, NULL, n, at, evaluated, entered ? &here : within};
    unsigned kind = schema_node_kind_of(walk, n);
    schema_walker_enter(walk);
    bool valid = schema_walker_has_type(walk, schema->types, kind, n) || schema_walker_fail_type(&s);
    if (valid || !schema_walker_settled(&s))
        valid &= schema->tracks && (kind & (GUILDHALL_KIND_ARRAY | GUILDHALL_KIND_OBJECT))
                     ? schema_walker_check_tracking(&s, kind, valid) : schema_walker_check_instructions(&s, kind, valid);
    walk->depth--;
    return valid;
}
