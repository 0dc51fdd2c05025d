/* Schemas that are applied to the same value. */

static bool schema_walker_check_all_of(const step *s)
{
    bool valid = true;
    for (uint32_t i = 0; i < s->it->list.count && (valid || !schema_walker_settled(s)); i++)
        valid &= schema_walker_apply(s, s->it->list.indexes[i]);
    return valid;
}

/* Why no branch holds: each branch's errors, one list. */
static bool schema_walker_fail_branches(const step *s, VALUE detail)
{
    guildhall_walk *walk = s->walk;
    if (walk->mode == GUILDHALL_WALK_VERDICT) return false;
    VALUE errors = walk->errors, causes = rb_ary_new();
    walk->errors = causes;
    for (uint32_t i = 0; i < s->it->list.count; i++)
        schema_walker_walk_schema(walk, s->it->list.indexes[i], s->n, s->at, NULL, s->within);
    walk->errors = errors;
    guildhall_walk_error(walk, s->schema->location, s->it->keyword, s->it->operand, schema_walker_path_of(walk, s->at), detail, causes);
    return false;
}

static bool schema_walker_check_any_of(const step *s)
{
    bool valid = false;
    for (uint32_t i = 0; i < s->it->list.count && (!valid || s->evaluated); i++)
        valid |= schema_walker_holds(s, s->it->list.indexes[i]);
    return valid || schema_walker_fail_branches(s, Qnil);
}

static bool schema_walker_check_one_of(const step *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->it->list.count && count < 2; i++) count += schema_walker_holds(s, s->it->list.indexes[i]);
    if (count == 0) return schema_walker_fail_branches(s, INT2FIX(0));
    return count == 1 || schema_walker_fail(s, INT2FIX(2));
}

NOT_INLINED bool schema_walker_check_not(const step *s)
{
    step other = *s;
    other.evaluated = NULL;
    return schema_walker_check(s, !schema_walker_holds(&other, s->it->schema));
}

static bool schema_walker_check_branch(const step *s)
{
    uint32_t chosen = schema_walker_holds(s, s->it->branch.test) ? s->it->branch.yes : s->it->branch.no;
    return chosen == GUILDHALL_NO_SCHEMA || schema_walker_apply(s, chosen);
}
