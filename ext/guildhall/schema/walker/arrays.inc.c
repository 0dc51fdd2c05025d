/* Keywords of arrays. */

typedef struct {
    uint64_t hash; /* 0: nothing is here */
    node n;
} seen;

typedef struct {
    seen *slots;
    size_t size, mask, count, probes; /* `size` elements in all; `probes` that have not been counted as work yet */
} seen_items;

#define FIRST_SLOTS 16
#define GROWTH 16

static void schema_walker_seen_items_make(guildhall_walk *walk, seen_items *items, size_t slots)
{
    guildhall_walk_count_items(walk, slots);
    items->slots = guildhall_stack_take(&walk->stack, slots * sizeof(seen));
    memset(items->slots, 0, slots * sizeof(seen));
    items->mask = slots - 1;
}

/* The slot of a hash after `slot`, or the first free one. */
static inline size_t schema_walker_seen_items_probe(guildhall_walk *walk, seen_items *items, uint64_t hash, size_t slot)
{
    for (; items->slots[slot].hash && items->slots[slot].hash != hash; slot = (slot + 1) & items->mask) {
        if (RB_LIKELY(++items->probes < GUILDHALL_WALK_ITEMS_A_STEP)) continue;
        items->probes = 0;
        guildhall_walk_count(walk, 1);
    }
    return slot;
}

static inline size_t schema_walker_seen_items_place(const seen_items *items, uint64_t hash) { return (hash ^ hash >> 32) & items->mask; }

/* Step by step to what all elements need: that would be touched for two equal ones at the beginning, too. */
static void schema_walker_seen_items_grow(guildhall_walk *walk, seen_items *items)
{
    const seen *old = items->slots;
    size_t slots = items->mask + 1, more = slots * 2;
    while (more < slots * GROWTH && more < items->size * 2) more *= 2;
    schema_walker_seen_items_make(walk, items, more);
    for (size_t i = 0; i < slots; i++) {
        if (!old[i].hash) continue;
        size_t slot = schema_walker_seen_items_place(items, old[i].hash);
        while (items->slots[slot].hash) slot = (slot + 1) & items->mask; /* not counted: what was counted when it came */
        items->slots[slot] = old[i];
    }
}

/* Has an equal one been here? Else it has from now on. */
static bool schema_walker_seen_items_meet(guildhall_walk *walk, seen_items *items, node item)
{
    uint64_t hash = schema_walker_hash_of(walk, item);
    if (!hash) hash = 1;
    if (items->count * 2 > items->mask) schema_walker_seen_items_grow(walk, items);
    size_t slot = schema_walker_seen_items_probe(walk, items, hash, schema_walker_seen_items_place(items, hash));
    while (items->slots[slot].hash) {
        if (schema_walker_equal_nodes(walk, items->slots[slot].n, item)) return true;
        slot = schema_walker_seen_items_probe(walk, items, hash, (slot + 1) & items->mask);
    }
    items->slots[slot] = (seen){hash, item};
    items->count++;
    return false;
}

/* @return the index of the first element that an earlier one equals; -1 when there is none */
static long schema_walker_repeated_item(guildhall_walk *walk, node n)
{
    seen_items items = {.size = schema_node_size_of(walk, n)};
    if (items.size < 2) return -1;
    schema_walker_seen_items_make(walk, &items, FIRST_SLOTS);
    item_cursor cursor = schema_node_items_of(walk, n);
    node item;
    for (long index = 0; schema_node_next_item(&cursor, &item); index++) {
        if (schema_walker_seen_items_meet(walk, &items, item)) return index;
    }
    return -1;
}

NOT_INLINED bool schema_walker_check_unique(const step *s)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    long repeated = schema_walker_repeated_item(s->walk, s->n);
    guildhall_stack_release(&s->walk->stack, mark);
    return repeated < 0 || schema_walker_fail(s, LONG2NUM(repeated));
}

/* The schema of the element at `i`; NO_SCHEMA: nothing is said about it. */
static inline uint32_t schema_walker_schema_of_item(const step *s, uint32_t i)
{
    if (s->it->op == GUILDHALL_OP_UNEVALUATED_ITEMS) return guildhall_evaluated_has(s->evaluated, i) ? GUILDHALL_NO_SCHEMA : s->it->schema;
    return i < s->it->items.prefix.count ? s->it->items.prefix.indexes[i] : s->it->items.rest;
}

static bool schema_walker_check_items(const step *s)
{
    guildhall_walk_count_items(s->walk, schema_node_size_of(s->walk, s->n));
    item_cursor cursor = schema_node_items_of(s->walk, s->n);
    node item;
    bool valid = true;
    for (uint32_t i = 0; schema_node_next_item(&cursor, &item); i++) {
        uint32_t schema = schema_walker_schema_of_item(s, i);
        if (schema == GUILDHALL_NO_SCHEMA) {
            if (s->it->op == GUILDHALL_OP_ITEMS) break; /* nor about those after it */
            continue;
        }
        if (s->evaluated) guildhall_evaluated_add(s->evaluated, i);
        if (schema_walker_descend(s, schema, item, &(frame){s->at, s->n, i})) continue;
        valid = false;
        if (schema_walker_settled(s)) break;
    }
    return valid;
}

NOT_INLINED bool schema_walker_check_contains(const step *s)
{
    guildhall_walk *walk = s->walk;
    guildhall_walk_mode mode = walk->mode;
    size_t found = 0;
    guildhall_walk_count_items(walk, schema_node_size_of(walk, s->n));
    item_cursor cursor = schema_node_items_of(walk, s->n);
    node item;
    walk->mode = GUILDHALL_WALK_VERDICT;
    for (uint32_t i = 0; schema_node_next_item(&cursor, &item); i++) {
        if (!schema_walker_descend(s, s->it->contains.schema, item, &(frame){s->at, s->n, i})) continue;
        found++;
        if (s->evaluated && s->it->contains.evaluates) guildhall_evaluated_add(s->evaluated, i);
        else if (found >= s->it->contains.min && s->it->contains.max == SIZE_MAX) break;
    }
    walk->mode = mode;
    return (found >= s->it->contains.min && found <= s->it->contains.max) || schema_walker_fail(s, SIZET2NUM(found));
}
