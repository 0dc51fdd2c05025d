/* Keywords of objects. */

static bool schema_walker_fail_missing(const step *s)
{
    const guildhall_members *members = s->it->members;
    if (s->walk->mode == GUILDHALL_WALK_VERDICT) return false;
    for (uint32_t i = 0; i < members->required_count; i++) {
        guildhall_text name = members->names.texts[members->required[i]];
        node ignored;
        if (schema_node_find_member(s->walk, s->n, name, &ignored)) continue;
        VALUE missing = rb_utf8_str_new((const char *)name.bytes, (long)name.length);
        guildhall_walk_error(s->walk, s->schema->location, guildhall_walk_required, s->it->operand,
                             schema_walker_path_of(s->walk, s->at), missing, Qnil);
        if (schema_walker_settled(s)) break;
    }
    return false;
}

/* One member by all that speaks about it: its name's schema, the patterns', or the one for all others. */
static bool schema_walker_check_member(const step *s, uint32_t name, node key, node value, size_t ordinal)
{
    const guildhall_members *members = s->it->members;
    const frame here = {s->at, key, -1};
    bool spoken = false, valid = true;
    if (name != GUILDHALL_TABLE_NONE && members->schemas[name] != GUILDHALL_NO_SCHEMA) {
        spoken = true;
        valid = schema_walker_descend(s, members->schemas[name], value, &here);
    }
    for (uint32_t i = 0; i < members->pattern_count && (valid || !schema_walker_settled(s)); i++) {
        if (!guildhall_walk_match(s->walk, RARRAY_AREF(members->patterns, i), schema_node_string_of(s->walk, key))) continue;
        spoken = true;
        valid &= schema_walker_descend(s, members->pattern_schemas[i], value, &here);
    }
    if (!spoken && members->additional != GUILDHALL_NO_SCHEMA) {
        spoken = true;
        valid &= schema_walker_descend(s, members->additional, value, &here);
    }
    if (spoken && s->evaluated) guildhall_evaluated_add(s->evaluated, ordinal);
    if (members->member_names != GUILDHALL_NO_SCHEMA && (valid || !schema_walker_settled(s)))
        valid &= schema_walker_descend(s, members->member_names, key, &here);
    return valid;
}

static inline uint32_t schema_walker_name_of(guildhall_walk *walk, const guildhall_table *names, node key, uint32_t expected)
{
    guildhall_text text = schema_node_text_of(walk, key);
    if (expected < names->count && guildhall_text_equal(names->texts[expected], text)) return expected; /* often in the schema's order */
    return guildhall_table_find(names, text);
}

static bool schema_walker_check_members(const step *s)
{
    const guildhall_members *members = s->it->members;
    uint32_t missing = members->required_count, expected = 0;
    bool valid = true;
    node key, value;
    guildhall_walk_count_members(s->walk, schema_node_size_of(s->walk, s->n));
    MEMBERS_OF(s->walk, s->n, cursor);
    for (size_t ordinal = 0; schema_node_next_member(&cursor, &key, &value); ordinal++) {
        uint32_t name = schema_walker_name_of(s->walk, &members->names, key, expected);
        if (name != GUILDHALL_TABLE_NONE) {
            expected = name + 1;
            missing -= members->needs[name] != 0;
        }
        if (schema_walker_check_member(s, name, key, value, ordinal)) continue;
        valid = false;
        if (schema_walker_settled(s)) break;
    }
    MEMBERS_END(cursor);
    if (!valid && schema_walker_settled(s)) return false;
    return missing == 0 ? valid : schema_walker_fail_missing(s);
}

static bool schema_walker_check_unevaluated_members(const step *s)
{
    bool valid = true;
    node key, value;
    guildhall_walk_count_members(s->walk, schema_node_size_of(s->walk, s->n));
    MEMBERS_OF(s->walk, s->n, cursor);
    for (size_t ordinal = 0; schema_node_next_member(&cursor, &key, &value); ordinal++) {
        if (guildhall_evaluated_has(s->evaluated, ordinal)) continue;
        guildhall_evaluated_add(s->evaluated, ordinal);
        if (schema_walker_descend(s, s->it->schema, value, &(frame){s->at, key, -1})) continue;
        valid = false;
        if (schema_walker_settled(s)) break;
    }
    MEMBERS_END(cursor);
    return valid;
}

static bool schema_walker_check_dependent_names(const step *s, const guildhall_texts *names)
{
    node ignored;
    for (uint32_t i = 0; i < names->count; i++) {
        if (schema_node_find_member(s->walk, s->n, names->texts[i], &ignored)) continue;
        return schema_walker_fail(s, rb_utf8_str_new((const char *)names->texts[i].bytes, (long)names->texts[i].length));
    }
    return true;
}

static bool schema_walker_check_dependents(const step *s)
{
    const guildhall_dependents *dependents = s->it->dependents;
    bool valid = true;
    node ignored;
    for (uint32_t i = 0; i < dependents->keys.count; i++) {
        if (!schema_node_find_member(s->walk, s->n, dependents->keys.texts[i], &ignored)) continue;
        valid &= s->it->op == GUILDHALL_OP_DEPENDENT_SCHEMAS ? schema_walker_apply(s, dependents->schemas[i])
                                                             : schema_walker_check_dependent_names(s, &dependents->names[i]);
        if (!valid && schema_walker_settled(s)) break;
    }
    return valid;
}
