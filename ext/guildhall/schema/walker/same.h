/* Is a value of the instance equal to one in the schema? */

static bool same_number(guildhall_walk *walk, node n, VALUE other)
{
    if (!RB_INTEGER_TYPE_P(other) && !RB_FLOAT_TYPE_P(other) && !rb_obj_is_kind_of(other, rb_cNumeric)) return false;
    return guildhall_number_compare(number_of(walk, n), guildhall_number_of(other)) == 0;
}

static bool same_text(guildhall_walk *walk, node n, VALUE other)
{
    guildhall_text text = {(const uint8_t *)RSTRING_PTR(other), (size_t)RSTRING_LEN(other)};
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    guildhall_walk_count_bytes(walk, text.length);
    bool equal = guildhall_text_equal(text_of(walk, n), text);
    guildhall_stack_release(&walk->stack, mark);
    return equal;
}

static bool same_as(guildhall_walk *walk, node n, VALUE other);

static bool same_items(guildhall_walk *walk, node n, VALUE array)
{
    if (size_of(walk, n) != (size_t)RARRAY_LEN(array)) return false;
    item_cursor cursor = items_of(walk, n);
    node item;
    for (long i = 0; next_item(&cursor, &item); i++) {
        if (!same_as(walk, item, rb_ary_entry(array, i))) return false;
    }
    return true;
}

static bool same_members(guildhall_walk *walk, node n, VALUE hash)
{
    if (size_of(walk, n) != (size_t)RHASH_SIZE(hash)) return false;
    bool same = true;
    node key, value;
    guildhall_walk_count_members(walk, size_of(walk, n));
    MEMBERS_OF(walk, n, cursor);
    while (same && next_member(&cursor, &key, &value)) {
        VALUE other = rb_hash_lookup2(hash, string_of(walk, key), Qundef);
        same = other != Qundef && same_as(walk, value, other);
    }
    MEMBERS_END(cursor);
    return same;
}

static bool same_kind(guildhall_walk *walk, node n, VALUE other)
{
    switch (kind_of(walk, n)) {
    case GUILDHALL_KIND_NULL: return NIL_P(other);
    case GUILDHALL_KIND_BOOLEAN: return other == (is_true(walk, n) ? Qtrue : Qfalse);
    case GUILDHALL_KIND_INTEGER:
    case GUILDHALL_KIND_FLOAT: return same_number(walk, n, other);
    case GUILDHALL_KIND_STRING: return RB_TYPE_P(other, T_STRING) && same_text(walk, n, other);
    case GUILDHALL_KIND_ARRAY: return RB_TYPE_P(other, T_ARRAY) && same_items(walk, n, other);
    case GUILDHALL_KIND_OBJECT: return RB_TYPE_P(other, T_HASH) && same_members(walk, n, other);
    default: return false;
    }
}

/* Equal to a value of the schema, as JSON understands it: 1 is 1.0, and nothing else is what it is not. */
static bool same_as(guildhall_walk *walk, node n, VALUE other)
{
    enter(walk);
    bool same = same_kind(walk, n, other);
    walk->depth--;
    return same;
}

static bool one_of_others(guildhall_walk *walk, node n, VALUE others)
{
    for (long i = 0; i < RARRAY_LEN(others); i++) {
        if (same_as(walk, n, RARRAY_AREF(others, i))) return true;
    }
    return false;
}

static bool one_of_values(guildhall_walk *walk, node n, const guildhall_enum *values)
{
    switch (kind_of(walk, n)) {
    case GUILDHALL_KIND_NULL: return values->null;
    case GUILDHALL_KIND_BOOLEAN: return is_true(walk, n) ? values->yes : values->no;
    case GUILDHALL_KIND_STRING: {
        guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
        guildhall_text text = text_of(walk, n);
        guildhall_walk_count_bytes(walk, text.length);
        bool found = guildhall_table_find(&values->texts, text) != GUILDHALL_TABLE_NONE;
        guildhall_stack_release(&walk->stack, mark);
        return found;
    }
    default: return one_of_others(walk, n, values->others);
    }
}
