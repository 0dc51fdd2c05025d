/* Is a value of the instance equal to one in the schema, to another one of the instance? And hashes. */

static bool schema_walker_one_of_values(guildhall_walk *walk, node n, const guildhall_enum *values)
{
    unsigned kind = schema_node_kind_of(walk, n);
    switch (kind) {
    case GUILDHALL_KIND_NULL: return values->null;
    case GUILDHALL_KIND_BOOLEAN: return schema_node_is_true(walk, n) ? values->yes : values->no;
    case GUILDHALL_KIND_STRING: return guildhall_table_find(&values->texts, schema_node_text_of(walk, n)) != GUILDHALL_TABLE_NONE;
    }
    if (RARRAY_LEN(values->others) == 0) return false;
    if (kind & GUILDHALL_KIND_NUMBER) return guildhall_walk_among(walk, guildhall_number_value(schema_node_number_of(walk, n)), values->others);
    guildhall_walk_count(walk, schema_node_weight_of(walk, n) / GUILDHALL_WALK_NODES_A_STEP);
    return guildhall_walk_among(walk, schema_node_value_of(walk, n), values->others);
}

static bool schema_walker_check_enum(const step *s) { return schema_walker_check(s, schema_walker_one_of_values(s->walk, s->n, s->it->values)); }

static bool schema_walker_equal_nodes(guildhall_walk *walk, node a, node b);

static bool schema_walker_equal_items(guildhall_walk *walk, node a, node b)
{
    if (schema_node_size_of(walk, a) != schema_node_size_of(walk, b)) return false;
    item_cursor of_a = schema_node_items_of(walk, a), of_b = schema_node_items_of(walk, b);
    node item_a, item_b;
    while (schema_node_next_item(&of_a, &item_a) && schema_node_next_item(&of_b, &item_b)) {
        if (!schema_walker_equal_nodes(walk, item_a, item_b)) return false;
    }
    return true;
}

static bool schema_walker_equal_members(guildhall_walk *walk, node a, node b)
{
    if (schema_node_size_of(walk, a) != schema_node_size_of(walk, b)) return false;
    bool equal = true;
    node key, value, other;
    guildhall_walk_count_members(walk, schema_node_size_of(walk, a));
    MEMBERS_OF(walk, a, cursor);
    while (equal && schema_node_next_member(&cursor, &key, &value))
        equal = schema_node_find_member(walk, b, schema_node_text_of(walk, key), &other) && schema_walker_equal_nodes(walk, value, other);
    MEMBERS_END(cursor);
    return equal;
}

static bool schema_walker_equal_kinds(guildhall_walk *walk, node a, node b)
{
    unsigned kind = schema_node_kind_of(walk, a), other = schema_node_kind_of(walk, b);
    if ((kind & GUILDHALL_KIND_NUMBER) && (other & GUILDHALL_KIND_NUMBER))
        return guildhall_number_compare(schema_node_number_of(walk, a), schema_node_number_of(walk, b)) == 0;
    if (kind != other) return false;
    switch (kind) {
    case GUILDHALL_KIND_NULL: return true;
    case GUILDHALL_KIND_BOOLEAN: return schema_node_is_true(walk, a) == schema_node_is_true(walk, b);
    case GUILDHALL_KIND_STRING: return guildhall_text_equal(schema_node_text_of(walk, a), schema_node_text_of(walk, b));
    case GUILDHALL_KIND_ARRAY: return schema_walker_equal_items(walk, a, b);
    case GUILDHALL_KIND_OBJECT: return schema_walker_equal_members(walk, a, b);
    default: return rb_equal(schema_node_value_of(walk, a), schema_node_value_of(walk, b));
    }
}

static bool schema_walker_equal_nodes(guildhall_walk *walk, node a, node b)
{
    schema_walker_enter(walk);
    bool equal = schema_walker_equal_kinds(walk, a, b);
    walk->depth--;
    return equal;
}

static uint64_t schema_walker_hash_text(guildhall_walk *walk, node n)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    guildhall_text text = schema_node_text_of(walk, n);
    uint64_t hash = guildhall_number_secret_hash((uint64_t)rb_memhash(text.bytes, (long)text.length));
    guildhall_stack_release(&walk->stack, mark);
    return hash;
}

static uint64_t schema_walker_hash_of(guildhall_walk *walk, node n);

/* Equal values have equal hashes; members count in any order. Every part is mixed with a secret: a payload whose values all have
 * one hash cannot be written. */
static uint64_t schema_walker_hash_kind(guildhall_walk *walk, node n)
{
    switch (schema_node_kind_of(walk, n)) {
    case GUILDHALL_KIND_BOOLEAN: return guildhall_number_secret_hash(schema_node_is_true(walk, n) ? 3 : 5);
    case GUILDHALL_KIND_INTEGER:
    case GUILDHALL_KIND_FLOAT: return guildhall_number_hash(schema_node_number_of(walk, n), walk->program->max_digits, walk->work);
    case GUILDHALL_KIND_STRING: return schema_walker_hash_text(walk, n);
    case GUILDHALL_KIND_ARRAY: {
        uint64_t hash = 11;
        item_cursor cursor = schema_node_items_of(walk, n);
        /* Mixed once more: the hash so far is that of an array as well, which the next item may be, and would cancel. */
        for (node item; schema_node_next_item(&cursor, &item);) {
            hash = guildhall_number_secret_hash(hash ^ guildhall_number_secret_hash(schema_walker_hash_of(walk, item)));
        }
        return hash;
    }
    case GUILDHALL_KIND_OBJECT: {
        uint64_t hash = 13;
        node key, value;
        MEMBERS_OF(walk, n, cursor);
        while (schema_node_next_member(&cursor, &key, &value))
            hash += guildhall_number_secret_hash(schema_walker_hash_text(walk, key) * 3 ^ schema_walker_hash_of(walk, value));
        MEMBERS_END(cursor);
        return hash;
    }
    default: return guildhall_number_secret_hash(1);
    }
}

static uint64_t schema_walker_hash_of(guildhall_walk *walk, node n)
{
    schema_walker_enter(walk);
    uint64_t hash = schema_walker_hash_kind(walk, n);
    walk->depth--;
    return hash;
}
