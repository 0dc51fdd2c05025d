/* Schemas that are applied to the same value. */

static bool check_all_of(const step *s)
{
    bool valid = true;
    for (uint32_t i = 0; i < s->it->list.count && (valid || !settled(s)); i++) valid &= apply(s, s->it->list.indexes[i]);
    return valid;
}

/* Why no branch holds: each branch's errors, one list. */
static bool fail_branches(const step *s, VALUE detail)
{
    guildhall_walk *walk = s->walk;
    if (walk->mode == GUILDHALL_WALK_VERDICT) return false;
    VALUE errors = walk->errors, causes = rb_ary_new();
    walk->errors = causes;
    for (uint32_t i = 0; i < s->it->list.count; i++)
        walk_schema(walk, s->it->list.indexes[i], s->n, s->at, NULL, s->within);
    walk->errors = errors;
    guildhall_walk_error(walk, s->schema->location, s->it->keyword, s->it->operand, path_of(walk, s->at), detail, causes);
    return false;
}

static bool check_any_of(const step *s)
{
    bool valid = false;
    for (uint32_t i = 0; i < s->it->list.count && (!valid || s->evaluated); i++)
        valid |= holds(s, s->it->list.indexes[i]);
    return valid || fail_branches(s, Qnil);
}

static bool check_one_of(const step *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->it->list.count && count < 2; i++) count += holds(s, s->it->list.indexes[i]);
    if (count == 0) return fail_branches(s, INT2FIX(0));
    return count == 1 || fail(s, INT2FIX(2));
}

static bool check_not(const step *s)
{
    step other = *s;
    other.evaluated = NULL;
    return check(s, !holds(&other, s->it->schema));
}

static bool check_branch(const step *s)
{
    uint32_t chosen = holds(s, s->it->branch.test) ? s->it->branch.yes : s->it->branch.no;
    return chosen == GUILDHALL_NO_SCHEMA || apply(s, chosen);
}
