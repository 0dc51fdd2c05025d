/* A step of the walk: which schema looks at which value, how an error is recorded, and how the walk goes on. */

/* Whose variables would make every level of the walk take more of the C stack. */
#define NOT_INLINED static __attribute__((noinline))

typedef struct frame {
    const struct frame *parent;
    node key;       /* where not in an array */
    long index;     /* -1: not in an array */
} frame;

static VALUE schema_walker_path_of(guildhall_walk *walk, const frame *at)
{
    VALUE path = rb_ary_new();
    guildhall_walk_count(walk, walk->depth);
    for (; at->parent != NULL; at = at->parent)
        rb_ary_push(path, at->index < 0 ? schema_node_value_of(walk, at->key) : LONG2NUM(at->index));
    return rb_ary_reverse(path);
}

typedef struct {
    guildhall_walk *walk;
    const guildhall_schema *schema;
    const guildhall_instruction *it;
    node n;
    const frame *at;
    guildhall_evaluated *evaluated; /* NULL: not wanted */
    const guildhall_scope *within;
} step;

static bool schema_walker_walk_schema(guildhall_walk *walk, uint32_t index, node n, const frame *at, guildhall_evaluated *evaluated,
                        const guildhall_scope *within);

static bool schema_walker_fail(const step *s, VALUE detail)
{
    if (s->walk->mode != GUILDHALL_WALK_VERDICT)
        guildhall_walk_error(s->walk, s->schema->location, s->it->keyword, s->it->operand, schema_walker_path_of(s->walk, s->at),
                             detail, Qnil);
    return false;
}

static inline bool schema_walker_check(const step *s, bool valid)
{
    return valid || schema_walker_fail(s, Qnil);
}

/* Is there nothing more to be found out once something is invalid? */
static inline bool schema_walker_settled(const step *s) { return s->walk->mode != GUILDHALL_WALK_ALL; }

static inline bool schema_walker_has_type(guildhall_walk *walk, unsigned types, unsigned kind, node n)
{
    if (types & kind) return true;
    return kind == GUILDHALL_KIND_FLOAT && (types & GUILDHALL_KIND_INTEGER) &&
           guildhall_number_integral(schema_node_number_of(walk, n));
}

/* A value inside this one. Most schemas say no more than a type. */
static inline bool schema_walker_descend(const step *s, uint32_t index, node n, const frame *at)
{
    const guildhall_schema *schema = &s->walk->program->schemas[index];
    if (schema->count == 0 && (schema->types & schema_node_kind_of(s->walk, n))) return true;
    return schema_walker_walk_schema(s->walk, index, n, at, NULL, s->within);
}

/* This value again, by another schema. */
static inline bool schema_walker_apply(const step *s, uint32_t index)
{
    return schema_walker_walk_schema(s->walk, index, s->n, s->at, s->evaluated, s->within);
}

static bool schema_walker_check_never(const step *s) { return schema_walker_fail(s, Qfalse); }
static bool schema_walker_check_ref(const step *s) { return schema_walker_apply(s, s->it->schema); }
static bool schema_walker_check_dynamic_ref(const step *s)
{
    return schema_walker_apply(s, guildhall_walk_dynamic(s->walk, s->it->dynamic, s->within));
}

/* The same without recording errors; what the schema speaks about counts only where it holds. */
static bool schema_walker_holds(const step *s, uint32_t index)
{
    guildhall_walk *walk = s->walk;
    guildhall_walk_mode mode = walk->mode;
    walk->mode = GUILDHALL_WALK_VERDICT;
    guildhall_stack_mark mark = guildhall_stack_marked(&walk->stack);
    guildhall_evaluated branch = {NULL, s->evaluated ? s->evaluated->words : 0};
    if (s->evaluated) guildhall_evaluated_begin(walk, &branch, branch.words * 64);
    bool valid = schema_walker_walk_schema(walk, index, s->n, s->at, s->evaluated ? &branch : NULL, s->within);
    if (valid && s->evaluated) guildhall_evaluated_merge(s->evaluated, &branch);
    guildhall_stack_release(&walk->stack, mark);
    walk->mode = mode;
    return valid;
}

/* One level deeper: everything that recurses passes here, and takes the level back when it is done. */
static inline void schema_walker_enter(guildhall_walk *walk)
{
    guildhall_walk_count(walk, 1);
    if (++walk->depth > GUILDHALL_WALK_DEPTH || (walk->depth % 16 == 0 && ruby_stack_check())) guildhall_walk_too_deep();
}
