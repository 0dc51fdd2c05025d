/* Are two values of the instance equal? And their hashes. */

static bool equal_nodes(guildhall_walk *walk, node a, node b);

static bool equal_items(guildhall_walk *walk, node a, node b)
{
    if (size_of(walk, a) != size_of(walk, b)) return false;
    item_cursor of_a = items_of(walk, a), of_b = items_of(walk, b);
    node item_a, item_b;
    while (next_item(&of_a, &item_a) && next_item(&of_b, &item_b)) {
        if (!equal_nodes(walk, item_a, item_b)) return false;
    }
    return true;
}

static bool equal_members(guildhall_walk *walk, node a, node b)
{
    if (size_of(walk, a) != size_of(walk, b)) return false;
    bool equal = true;
    node key, value, other;
    guildhall_walk_count_members(walk, size_of(walk, a));
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    MEMBERS_OF(walk, a, cursor);
    while (equal && next_member(&cursor, &key, &value))
        equal = find_member(walk, b, text_of(walk, key), &other) && equal_nodes(walk, value, other);
    MEMBERS_END(cursor);
    guildhall_stack_release(&walk->stack, mark);
    return equal;
}

static bool equal_kinds(guildhall_walk *walk, node a, node b)
{
    unsigned kind = kind_of(walk, a), other = kind_of(walk, b);
    if ((kind & GUILDHALL_KIND_NUMBER) && (other & GUILDHALL_KIND_NUMBER))
        return guildhall_number_compare(number_of(walk, a), number_of(walk, b)) == 0;
    if (kind != other) return false;
    switch (kind) {
    case GUILDHALL_KIND_NULL: return true;
    case GUILDHALL_KIND_BOOLEAN: return is_true(walk, a) == is_true(walk, b);
    case GUILDHALL_KIND_STRING: {
        guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
        guildhall_text one = text_of(walk, a), two = text_of(walk, b);
        bool equal = guildhall_text_equal(one, two);
        if (one.length == two.length) guildhall_walk_count_bytes(walk, one.length);
        guildhall_stack_release(&walk->stack, mark);
        return equal;
    }
    case GUILDHALL_KIND_ARRAY: return equal_items(walk, a, b);
    case GUILDHALL_KIND_OBJECT: return equal_members(walk, a, b);
    default: return rb_equal(value_of(walk, a), value_of(walk, b));
    }
}

static bool equal_nodes(guildhall_walk *walk, node a, node b)
{
    enter(walk);
    bool equal = equal_kinds(walk, a, b);
    walk->depth--;
    return equal;
}

static uint64_t hash_text(guildhall_walk *walk, node n)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    guildhall_text text = text_of(walk, n);
    guildhall_walk_count_bytes(walk, text.length);
    uint64_t hash = guildhall_number_secret_hash((uint64_t)rb_memhash(text.bytes, (long)text.length));
    guildhall_stack_release(&walk->stack, mark);
    return hash;
}

static uint64_t hash_of(guildhall_walk *walk, node n);

/* Equal values have equal hashes; members count in any order. Every part is mixed with a secret: a payload whose values all have
 * one hash cannot be written. */
static uint64_t hash_kind(guildhall_walk *walk, node n)
{
    switch (kind_of(walk, n)) {
    case GUILDHALL_KIND_BOOLEAN: return guildhall_number_secret_hash(is_true(walk, n) ? 3 : 5);
    case GUILDHALL_KIND_INTEGER:
    case GUILDHALL_KIND_FLOAT: return guildhall_number_hash(number_of(walk, n), walk->program->max_digits, walk->work);
    case GUILDHALL_KIND_STRING: return hash_text(walk, n);
    case GUILDHALL_KIND_ARRAY: {
        uint64_t hash = 11;
        item_cursor cursor = items_of(walk, n);
        /* Mixed once more: the hash so far is that of an array as well, which the next item may be, and would cancel. */
        for (node item; next_item(&cursor, &item);) {
            hash = guildhall_number_secret_hash(hash ^ guildhall_number_secret_hash(hash_of(walk, item)));
        }
        return hash;
    }
    case GUILDHALL_KIND_OBJECT: {
        uint64_t hash = 13;
        node key, value;
        MEMBERS_OF(walk, n, cursor);
        while (next_member(&cursor, &key, &value)) hash += guildhall_number_secret_hash(hash_text(walk, key) * 3 ^ hash_of(walk, value));
        MEMBERS_END(cursor);
        return hash;
    }
    default: return guildhall_number_secret_hash(1);
    }
}

static uint64_t hash_of(guildhall_walk *walk, node n)
{
    enter(walk);
    uint64_t hash = hash_kind(walk, n);
    walk->depth--;
    return hash;
}
