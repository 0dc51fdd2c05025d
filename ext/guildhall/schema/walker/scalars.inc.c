/* Keywords of strings and numbers, and what callables of the user say. */

static bool schema_walker_check_length(const step *s)
{
    size_t characters = guildhall_text_characters(schema_node_text_of(s->walk, s->n));
    bool valid = s->it->op == GUILDHALL_OP_MIN_LENGTH ? characters >= s->it->limit : characters <= s->it->limit;
    return valid || schema_walker_fail(s, SIZET2NUM(characters));
}

static bool schema_walker_check_format(const step *s)
{
    return schema_walker_check(s, guildhall_format_check(s->it->format, schema_node_text_of(s->walk, s->n)));
}

static bool schema_walker_check_pattern(const step *s)
{
    return schema_walker_check(s, guildhall_walk_match(s->walk, s->it->callable, schema_node_string_of(s->walk, s->n)));
}

static bool schema_walker_check_callable(const step *s)
{
    guildhall_walk_count(s->walk, schema_node_weight_of(s->walk, s->n) / GUILDHALL_WALK_NODES_A_STEP);
    VALUE arguments[] = {schema_node_value_of(s->walk, s->n), s->it->operand};
    int count = s->it->op == GUILDHALL_OP_CUSTOM ? 2 : 1;
    uint64_t began = guildhall_walk_begin_time();
    VALUE answer = rb_funcallv(s->it->callable, rb_intern("call"), count, arguments);
    guildhall_walk_count_time(s->walk, began);
    if (RB_TYPE_P(answer, T_STRING)) return schema_walker_fail(s, answer);
    return schema_walker_check(s, RTEST(answer));
}

static bool schema_walker_check_multiple(const step *s, guildhall_number number)
{
    uint64_t began = guildhall_walk_begin_time();
    bool multiple = guildhall_number_multiple(number, s->it->number, s->walk->program->max_digits);
    guildhall_walk_count_time(s->walk, began);
    return schema_walker_check(s, multiple);
}

static bool schema_walker_check_number(const step *s)
{
    guildhall_number number = schema_node_number_of(s->walk, s->n);
    if (s->it->op == GUILDHALL_OP_MULTIPLE_OF) return schema_walker_check_multiple(s, number);
    int order = guildhall_number_compare(number, s->it->number);
    if (order == 2) return schema_walker_fail(s, Qnil);
    switch (s->it->op) {
    case GUILDHALL_OP_MINIMUM: return schema_walker_check(s, order >= 0);
    case GUILDHALL_OP_MAXIMUM: return schema_walker_check(s, order <= 0);
    case GUILDHALL_OP_EXCLUSIVE_MINIMUM: return schema_walker_check(s, order > 0);
    default: return schema_walker_check(s, order < 0);
    }
}

static bool schema_walker_check_size(const step *s)
{
    size_t size = schema_node_size_of(s->walk, s->n);
    bool at_least = s->it->op == GUILDHALL_OP_MIN_ITEMS || s->it->op == GUILDHALL_OP_MIN_PROPERTIES;
    return (at_least ? size >= s->it->limit : size <= s->it->limit) || schema_walker_fail(s, SIZET2NUM(size));
}
