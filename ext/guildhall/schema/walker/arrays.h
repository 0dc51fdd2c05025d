/* Keywords of arrays. */

typedef struct {
    uint64_t hash;
    node n;
    bool taken;
} seen;

/* @return the index of the first element that an earlier one equals; -1 when there is none */
static long repeated_item(guildhall_walk *walk, node n)
{
    size_t size = size_of(walk, n), slots = 4;
    if (size < 2) return -1;
    while (slots < size * 2) slots *= 2;
    seen *table = guildhall_stack_take(&walk->stack, slots * sizeof(seen));
    for (size_t i = 0; i < slots; i++) table[i].taken = false;
    item_cursor cursor = items_of(walk, n);
    node item;
    for (long index = 0; next_item(&cursor, &item); index++) {
        uint64_t hash = hash_of(walk, item);
        size_t slot = (hash ^ hash >> 32) & (slots - 1);
        for (; table[slot].taken; slot = (slot + 1) & (slots - 1)) {
            if (table[slot].hash == hash && equal_nodes(walk, table[slot].n, item)) return index;
        }
        table[slot] = (seen){hash, item, true};
    }
    return -1;
}

static bool check_unique(const step *s)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    long repeated = repeated_item(s->walk, s->n);
    guildhall_stack_release(&s->walk->stack, mark);
    return repeated < 0 || fail(s, LONG2NUM(repeated));
}

static bool check_items(const step *s)
{
    const guildhall_schema_list *prefix = &s->it->items.prefix;
    item_cursor cursor = items_of(s->walk, s->n);
    node item;
    bool valid = true;
    for (uint32_t i = 0; next_item(&cursor, &item); i++) {
        uint32_t schema = i < prefix->count ? prefix->indexes[i] : s->it->items.rest;
        if (schema == GUILDHALL_NO_SCHEMA) break;
        if (s->evaluated) guildhall_evaluated_add(s->evaluated, i);
        if (descend(s, schema, item, &(frame){s->at, s->n, i})) continue;
        valid = false;
        if (settled(s)) break;
    }
    return valid;
}

static bool check_contains(const step *s)
{
    guildhall_walk *walk = s->walk;
    guildhall_walk_mode mode = walk->mode;
    size_t found = 0;
    item_cursor cursor = items_of(walk, s->n);
    node item;
    walk->mode = GUILDHALL_WALK_VERDICT;
    for (uint32_t i = 0; next_item(&cursor, &item); i++) {
        if (!descend(s, s->it->contains.schema, item, &(frame){s->at, s->n, i})) continue;
        found++;
        if (s->evaluated) guildhall_evaluated_add(s->evaluated, i);
        else if (found >= s->it->contains.min && s->it->contains.max == SIZE_MAX) break;
    }
    walk->mode = mode;
    return (found >= s->it->contains.min && found <= s->it->contains.max) || fail(s, SIZET2NUM(found));
}

static bool check_unevaluated_items(const step *s)
{
    item_cursor cursor = items_of(s->walk, s->n);
    node item;
    bool valid = true;
    for (uint32_t i = 0; next_item(&cursor, &item); i++) {
        if (guildhall_evaluated_has(s->evaluated, i)) continue;
        guildhall_evaluated_add(s->evaluated, i);
        if (descend(s, s->it->schema, item, &(frame){s->at, s->n, i})) continue;
        valid = false;
        if (settled(s)) break;
    }
    return valid;
}
