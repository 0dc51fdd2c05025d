/* The walker: an algorithm over nodes, whatever these are. A file that includes it defines first:
 *
 *   node                               a value of the instance, cheap to pass
 *   kind_of(walk, n)                   one of the GUILDHALL_KIND_ bits
 *   is_true(walk, n)                   of a boolean
 *   size_of(walk, n)                   elements or members
 *   number_of(walk, n), text_of(walk, n)
 *   value_of(walk, n), string_of(walk, n)  as a Ruby object; as one that lives until the next string_of
 *   item_cursor, items_of(walk, n), next_item(&cursor, &n)
 *   MEMBERS_OF(walk, n, cursor), MEMBERS_END(cursor); next_member(&cursor, &key, &n): keys are nodes too
 *   find_member(walk, n, text)         is there one?
 *
 * Every function answers whether the instance is valid, as far as it looked: in ALL mode they go on after a fault.
 */

typedef struct frame {
    const struct frame *parent;
    node key;       /* where not in an array */
    long index;     /* -1: not in an array */
} frame;

static VALUE path_of(guildhall_walk *walk, const frame *at)
{
    VALUE path = rb_ary_new();
    for (; at->parent != NULL; at = at->parent)
        rb_ary_push(path, at->index < 0 ? value_of(walk, at->key) : LONG2NUM(at->index));
    return rb_ary_reverse(path);
}

typedef struct {
    guildhall_walk *walk;
    const guildhall_schema *schema;
    const guildhall_instruction *it;
    node n;
    const frame *at;
    guildhall_evaluated *evaluated; /* NULL: nobody asks */
    const guildhall_scope *within;
} step;

static bool walk_schema(guildhall_walk *walk, uint32_t index, node n, const frame *at, guildhall_evaluated *evaluated,
                        const guildhall_scope *within);

static bool fail(const step *s, VALUE detail)
{
    if (s->walk->mode != GUILDHALL_WALK_VERDICT)
        guildhall_walk_fault(s->walk, s->schema->location, s->it->keyword, s->it->operand, path_of(s->walk, s->at),
                             detail, Qnil);
    return false;
}

static inline bool check(const step *s, bool valid)
{
    return valid || fail(s, Qnil);
}

/* Is there nothing more to be found out once something is invalid? */
static inline bool settled(const step *s) { return s->walk->mode != GUILDHALL_WALK_ALL; }

static inline bool has_type(guildhall_walk *walk, unsigned types, unsigned kind, node n)
{
    if (types & kind) return true;
    return kind == GUILDHALL_KIND_FLOAT && (types & GUILDHALL_KIND_INTEGER) &&
           guildhall_number_integral(number_of(walk, n));
}

/* A value inside this one. Most schemas say no more than a type. */
static inline bool descend(const step *s, uint32_t index, node n, const frame *at)
{
    const guildhall_schema *schema = &s->walk->program->schemas[index];
    if (schema->count == 0 && (schema->types & kind_of(s->walk, n))) return true;
    return walk_schema(s->walk, index, n, at, NULL, s->within);
}

/* This value again, by another schema. */
static inline bool apply(const step *s, uint32_t index)
{
    return walk_schema(s->walk, index, s->n, s->at, s->evaluated, s->within);
}

/* The same without noting faults; what the schema speaks about counts only where it holds. */
static bool holds(const step *s, uint32_t index)
{
    guildhall_walk *walk = s->walk;
    guildhall_walk_mode mode = walk->mode;
    walk->mode = GUILDHALL_WALK_VERDICT;
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    guildhall_evaluated branch = {NULL, s->evaluated ? s->evaluated->words : 0};
    if (s->evaluated) guildhall_evaluated_begin(walk, &branch, branch.words * 64);
    bool valid = walk_schema(walk, index, s->n, s->at, s->evaluated ? &branch : NULL, s->within);
    if (valid && s->evaluated) guildhall_evaluated_merge(s->evaluated, &branch);
    guildhall_stack_release(&walk->stack, mark);
    walk->mode = mode;
    return valid;
}

/* One level deeper: everything that recurses passes here, and takes the level back when it is done. */
static inline void enter(guildhall_walk *walk)
{
    guildhall_walk_count(walk, 1);
    if (++walk->depth > GUILDHALL_WALK_DEPTH || (walk->depth % 16 == 0 && ruby_stack_check())) guildhall_walk_too_deep();
}

/* Values */

static bool same_number(guildhall_walk *walk, node n, VALUE other)
{
    if (!RB_INTEGER_TYPE_P(other) && !RB_FLOAT_TYPE_P(other) && !rb_obj_is_kind_of(other, rb_cNumeric)) return false;
    return guildhall_number_compare(number_of(walk, n), guildhall_number_of(other)) == 0;
}

static bool same_text(guildhall_walk *walk, node n, VALUE other)
{
    guildhall_text text = {(const uint8_t *)RSTRING_PTR(other), (size_t)RSTRING_LEN(other)};
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    bool equal = guildhall_text_equal(text_of(walk, n), text);
    guildhall_stack_release(&walk->stack, mark);
    return equal;
}

static bool same_as(guildhall_walk *walk, node n, VALUE other);

static bool same_items(guildhall_walk *walk, node n, VALUE array)
{
    if (size_of(walk, n) != (size_t)RARRAY_LEN(array)) return false;
    item_cursor of = items_of(walk, n);
    node item;
    for (long i = 0; next_item(&of, &item); i++) {
        if (!same_as(walk, item, rb_ary_entry(array, i))) return false;
    }
    return true;
}

static bool same_members(guildhall_walk *walk, node n, VALUE hash)
{
    if (size_of(walk, n) != (size_t)RHASH_SIZE(hash)) return false;
    bool same = true;
    node key, value;
    MEMBERS_OF(walk, n, of);
    while (same && next_member(&of, &key, &value)) {
        VALUE other = rb_hash_lookup2(hash, string_of(walk, key), Qundef);
        same = other != Qundef && same_as(walk, value, other);
    }
    MEMBERS_END(of);
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
        bool found = guildhall_table_find(&values->texts, text_of(walk, n)) != GUILDHALL_TABLE_NONE;
        guildhall_stack_release(&walk->stack, mark);
        return found;
    }
    default: return one_of_others(walk, n, values->others);
    }
}

/* Strings */

static bool check_length(const step *s)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    size_t characters = guildhall_text_characters(text_of(s->walk, s->n));
    guildhall_stack_release(&s->walk->stack, mark);
    bool valid = s->it->op == GUILDHALL_OP_MIN_LENGTH ? characters >= s->it->limit : characters <= s->it->limit;
    return valid || fail(s, SIZET2NUM(characters));
}

static bool check_format(const step *s)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    bool valid = guildhall_format_check(s->it->format, text_of(s->walk, s->n));
    guildhall_stack_release(&s->walk->stack, mark);
    return check(s, valid);
}

static bool check_callable(const step *s)
{
    VALUE arguments[] = {value_of(s->walk, s->n), s->it->operand};
    int count = s->it->op == GUILDHALL_OP_CUSTOM ? 2 : 1;
    VALUE answer = rb_funcallv(s->it->callable, rb_intern("call"), count, arguments);
    if (RB_TYPE_P(answer, T_STRING)) return fail(s, answer);
    return check(s, RTEST(answer));
}

/* Arrays */

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
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    MEMBERS_OF(walk, a, of);
    while (equal && next_member(&of, &key, &value))
        equal = find_member(walk, b, text_of(walk, key), &other) && equal_nodes(walk, value, other);
    MEMBERS_END(of);
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
        bool equal = guildhall_text_equal(text_of(walk, a), text_of(walk, b));
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
    uint64_t hash = rb_memhash(text.bytes, (long)text.length);
    guildhall_stack_release(&walk->stack, mark);
    return hash;
}

static uint64_t hash_of(guildhall_walk *walk, node n);

/* Equal values have equal hashes; members count in any order. */
static uint64_t hash_kind(guildhall_walk *walk, node n)
{
    switch (kind_of(walk, n)) {
    case GUILDHALL_KIND_BOOLEAN: return is_true(walk, n) ? 3 : 5;
    case GUILDHALL_KIND_INTEGER:
    case GUILDHALL_KIND_FLOAT: return guildhall_number_hash(number_of(walk, n));
    case GUILDHALL_KIND_STRING: return hash_text(walk, n);
    case GUILDHALL_KIND_ARRAY: {
        uint64_t hash = 11;
        item_cursor of = items_of(walk, n);
        for (node item; next_item(&of, &item);) hash = hash * 0x9e3779b97f4a7c15ull + hash_of(walk, item);
        return hash;
    }
    case GUILDHALL_KIND_OBJECT: {
        uint64_t hash = 13;
        node key, value;
        MEMBERS_OF(walk, n, of);
        while (next_member(&of, &key, &value)) hash += hash_text(walk, key) * 0xc2b2ae3d27d4eb4full ^ hash_of(walk, value);
        MEMBERS_END(of);
        return hash;
    }
    default: return 1;
    }
}

static uint64_t hash_of(guildhall_walk *walk, node n)
{
    enter(walk);
    uint64_t hash = hash_kind(walk, n);
    walk->depth--;
    return hash;
}

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
    item_cursor of = items_of(walk, n);
    node item;
    for (long index = 0; next_item(&of, &item); index++) {
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
    item_cursor of = items_of(s->walk, s->n);
    node item;
    bool valid = true;
    for (uint32_t i = 0; next_item(&of, &item); i++) {
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
    item_cursor of = items_of(walk, s->n);
    node item;
    walk->mode = GUILDHALL_WALK_VERDICT;
    for (uint32_t i = 0; next_item(&of, &item); i++) {
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
    item_cursor of = items_of(s->walk, s->n);
    node item;
    bool valid = true;
    for (uint32_t i = 0; next_item(&of, &item); i++) {
        if (guildhall_evaluated_has(s->evaluated, i)) continue;
        guildhall_evaluated_add(s->evaluated, i);
        if (descend(s, s->it->schema, item, &(frame){s->at, s->n, i})) continue;
        valid = false;
        if (settled(s)) break;
    }
    return valid;
}

/* Objects */

static bool fail_missing(const step *s)
{
    const guildhall_members *members = s->it->members;
    if (s->walk->mode == GUILDHALL_WALK_VERDICT) return false;
    for (uint32_t i = 0; i < members->required_count; i++) {
        guildhall_text name = members->names.texts[members->required[i]];
        node ignored;
        if (find_member(s->walk, s->n, name, &ignored)) continue;
        VALUE missing = rb_utf8_str_new((const char *)name.bytes, (long)name.length);
        guildhall_walk_fault(s->walk, s->schema->location, guildhall_walk_required, s->it->operand,
                             path_of(s->walk, s->at), missing, Qnil);
        if (settled(s)) break;
    }
    return false;
}

/* One member by all that speaks about it: its name's schema, the patterns', or the one for all others. */
static bool check_member(const step *s, uint32_t name, node key, node value, size_t ordinal)
{
    const guildhall_members *members = s->it->members;
    const frame here = {s->at, key, -1};
    bool spoken = false, valid = true;
    if (name != GUILDHALL_TABLE_NONE && members->schemas[name] != GUILDHALL_NO_SCHEMA) {
        spoken = true;
        valid = descend(s, members->schemas[name], value, &here);
    }
    for (uint32_t i = 0; i < members->pattern_count && (valid || !settled(s)); i++) {
        if (!guildhall_walk_match(RARRAY_AREF(members->patterns, i), string_of(s->walk, key))) continue;
        spoken = true;
        valid &= descend(s, members->pattern_schemas[i], value, &here);
    }
    if (!spoken && members->additional != GUILDHALL_NO_SCHEMA) {
        spoken = true;
        valid &= descend(s, members->additional, value, &here);
    }
    if (spoken && s->evaluated) guildhall_evaluated_add(s->evaluated, ordinal);
    if (members->member_names != GUILDHALL_NO_SCHEMA && (valid || !settled(s)))
        valid &= descend(s, members->member_names, key, &here);
    return valid;
}

static inline uint32_t name_of(guildhall_walk *walk, const guildhall_table *names, node key, uint32_t expected)
{
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    guildhall_text text = text_of(walk, key);
    uint32_t name = expected < names->count && guildhall_text_equal(names->texts[expected], text)
                        ? expected /* members often come in the schema's order */
                        : guildhall_table_find(names, text);
    guildhall_stack_release(&walk->stack, mark);
    return name;
}

static bool check_members(const step *s)
{
    const guildhall_members *members = s->it->members;
    uint32_t missing = members->required_count, expected = 0;
    bool valid = true;
    node key, value;
    MEMBERS_OF(s->walk, s->n, of);
    for (size_t ordinal = 0; next_member(&of, &key, &value); ordinal++) {
        uint32_t name = name_of(s->walk, &members->names, key, expected);
        if (name != GUILDHALL_TABLE_NONE) {
            expected = name + 1;
            missing -= members->needs[name] != 0;
        }
        if (check_member(s, name, key, value, ordinal)) continue;
        valid = false;
        if (settled(s)) break;
    }
    MEMBERS_END(of);
    if (!valid && settled(s)) return false;
    return missing == 0 ? valid : fail_missing(s);
}

static bool check_unevaluated_members(const step *s)
{
    bool valid = true;
    node key, value;
    MEMBERS_OF(s->walk, s->n, of);
    for (size_t ordinal = 0; next_member(&of, &key, &value); ordinal++) {
        if (guildhall_evaluated_has(s->evaluated, ordinal)) continue;
        guildhall_evaluated_add(s->evaluated, ordinal);
        if (descend(s, s->it->schema, value, &(frame){s->at, key, -1})) continue;
        valid = false;
        if (settled(s)) break;
    }
    MEMBERS_END(of);
    return valid;
}

static bool check_dependent_names(const step *s, const guildhall_texts *names)
{
    node ignored;
    for (uint32_t i = 0; i < names->count; i++) {
        if (find_member(s->walk, s->n, names->texts[i], &ignored)) continue;
        return fail(s, rb_utf8_str_new((const char *)names->texts[i].bytes, (long)names->texts[i].length));
    }
    return true;
}

static bool check_dependents(const step *s)
{
    const guildhall_dependents *dependents = s->it->dependents;
    bool valid = true;
    node ignored;
    for (uint32_t i = 0; i < dependents->count; i++) {
        if (!find_member(s->walk, s->n, dependents->keys[i], &ignored)) continue;
        valid &= s->it->op == GUILDHALL_OP_DEPENDENT_SCHEMAS ? apply(s, dependents->schemas[i])
                                                             : check_dependent_names(s, &dependents->names[i]);
        if (!valid && settled(s)) break;
    }
    return valid;
}

/* Schemas applied to the same value */

static bool check_all_of(const step *s)
{
    bool valid = true;
    for (uint32_t i = 0; i < s->it->list.count && (valid || !settled(s)); i++) valid &= apply(s, s->it->list.indexes[i]);
    return valid;
}

/* Why no branch holds: each branch's faults, one list. */
static bool fail_branches(const step *s, VALUE detail)
{
    guildhall_walk *walk = s->walk;
    if (walk->mode == GUILDHALL_WALK_VERDICT) return false;
    VALUE faults = walk->faults, causes = rb_ary_new();
    walk->faults = causes;
    for (uint32_t i = 0; i < s->it->list.count; i++)
        walk_schema(walk, s->it->list.indexes[i], s->n, s->at, NULL, s->within);
    walk->faults = faults;
    guildhall_walk_fault(walk, s->schema->location, s->it->keyword, s->it->operand, path_of(walk, s->at), detail, causes);
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

static bool check_number(const step *s)
{
    guildhall_number number = number_of(s->walk, s->n);
    if (s->it->op == GUILDHALL_OP_MULTIPLE_OF) return check(s, guildhall_number_multiple(number, s->it->number));
    int order = guildhall_number_compare(number, s->it->number);
    if (order == 2) return fail(s, Qnil);
    switch (s->it->op) {
    case GUILDHALL_OP_MINIMUM: return check(s, order >= 0);
    case GUILDHALL_OP_MAXIMUM: return check(s, order <= 0);
    case GUILDHALL_OP_EXCLUSIVE_MINIMUM: return check(s, order > 0);
    default: return check(s, order < 0);
    }
}

static bool check_size(const step *s, bool at_least)
{
    size_t size = size_of(s->walk, s->n);
    return (at_least ? size >= s->it->limit : size <= s->it->limit) || fail(s, SIZET2NUM(size));
}

static bool check_instruction(const step *s)
{
    switch (s->it->op) {
    case GUILDHALL_OP_NEVER: return fail(s, Qfalse);
    case GUILDHALL_OP_ENUM: return check(s, one_of_values(s->walk, s->n, s->it->values));
    case GUILDHALL_OP_MINIMUM:
    case GUILDHALL_OP_MAXIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MINIMUM:
    case GUILDHALL_OP_EXCLUSIVE_MAXIMUM:
    case GUILDHALL_OP_MULTIPLE_OF: return check_number(s);
    case GUILDHALL_OP_MIN_LENGTH:
    case GUILDHALL_OP_MAX_LENGTH: return check_length(s);
    case GUILDHALL_OP_PATTERN: return check(s, guildhall_walk_match(s->it->callable, string_of(s->walk, s->n)));
    case GUILDHALL_OP_FORMAT: return check_format(s);
    case GUILDHALL_OP_FORMAT_CALL:
    case GUILDHALL_OP_CUSTOM: return check_callable(s);
    case GUILDHALL_OP_MIN_ITEMS:
    case GUILDHALL_OP_MIN_PROPERTIES: return check_size(s, true);
    case GUILDHALL_OP_MAX_ITEMS:
    case GUILDHALL_OP_MAX_PROPERTIES: return check_size(s, false);
    case GUILDHALL_OP_UNIQUE_ITEMS: return check_unique(s);
    case GUILDHALL_OP_ITEMS: return check_items(s);
    case GUILDHALL_OP_CONTAINS: return check_contains(s);
    case GUILDHALL_OP_PROPERTIES: return check_members(s);
    case GUILDHALL_OP_DEPENDENT_REQUIRED:
    case GUILDHALL_OP_DEPENDENT_SCHEMAS: return check_dependents(s);
    case GUILDHALL_OP_ALL_OF: return check_all_of(s);
    case GUILDHALL_OP_ANY_OF: return check_any_of(s);
    case GUILDHALL_OP_ONE_OF: return check_one_of(s);
    case GUILDHALL_OP_NOT: return check_not(s);
    case GUILDHALL_OP_IF: return check_branch(s);
    case GUILDHALL_OP_REF: return apply(s, s->it->schema);
    case GUILDHALL_OP_DYNAMIC_REF: return apply(s, guildhall_walk_dynamic(s->it->dynamic, s->within));
    case GUILDHALL_OP_UNEVALUATED_ITEMS: return check_unevaluated_items(s);
    case GUILDHALL_OP_UNEVALUATED_PROPERTIES: return check_unevaluated_members(s);
    case GUILDHALL_OPS: break;
    }
    return true;
}

static bool check_instructions(step *s, unsigned kind, bool valid)
{
    const guildhall_program *program = s->walk->program;
    const guildhall_instruction *it = &program->instructions[s->schema->first], *end = it + s->schema->count;
    for (; it < end && (valid || !settled(s)); it++) {
        s->it = it;
        if (it->applies & kind) valid &= check_instruction(s);
    }
    return valid;
}

/* A schema with an `unevaluated…` keeps its own record, and passes it on when it holds. */
static bool check_tracking(step *s, unsigned kind, bool valid)
{
    guildhall_evaluated *outer = s->evaluated, own;
    guildhall_stack_mark mark = guildhall_stack_marked(&s->walk->stack);
    guildhall_evaluated_begin(s->walk, &own, size_of(s->walk, s->n));
    s->evaluated = &own;
    valid = check_instructions(s, kind, valid);
    if (valid && outer) guildhall_evaluated_merge(outer, &own);
    guildhall_stack_release(&s->walk->stack, mark);
    return valid;
}

static bool fail_type(const step *s)
{
    if (s->walk->mode != GUILDHALL_WALK_VERDICT)
        guildhall_walk_fault(s->walk, s->schema->location, guildhall_walk_type, s->schema->type,
                             path_of(s->walk, s->at), UINT2NUM(kind_of(s->walk, s->n)), Qnil);
    return false;
}

static bool walk_schema(guildhall_walk *walk, uint32_t index, node n, const frame *at, guildhall_evaluated *evaluated,
                        const guildhall_scope *within)
{
    const guildhall_schema *schema = &walk->program->schemas[index];
    guildhall_scope here = {within, schema->resource};
    bool entered = walk->program->dynamic && (within == NULL || within->resource != schema->resource);
    step s = {walk, schema, NULL, n, at, evaluated, entered ? &here : within};
    unsigned kind = kind_of(walk, n);
    enter(walk);
    bool valid = has_type(walk, schema->types, kind, n) || fail_type(&s);
    if (valid || !settled(&s))
        valid &= schema->tracks && (kind & (GUILDHALL_KIND_ARRAY | GUILDHALL_KIND_OBJECT))
                     ? check_tracking(&s, kind, valid) : check_instructions(&s, kind, valid);
    walk->depth--;
    return valid;
}
