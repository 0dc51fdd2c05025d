/* Which branch of a union an object is written as: the one that it fits best, all the way down where several resemble it. */
#include <ruby.h>
#include "document/any.h"
#include "fit.h"

typedef guildhall_avro_node node;
typedef guildhall_avro_fit fit;

typedef struct {
    const guildhall_avro_codec *codec;
    guildhall_avro_search *search;
} finder;

static fit avro_branch_fit(const finder *f, uint32_t index, VALUE object, uint32_t depth);

typedef struct {
    const finder *f;
    uint32_t item, depth;
    fit fit;
} search;

/* Is there an end to it, with what fits so far and one value more? */
static int avro_branch_go_on(fit *so_far, fit one)
{
    if (one < *so_far) *so_far = one;
    return *so_far != GUILDHALL_AVRO_NO_FIT;
}

static int avro_branch_pair_fits(VALUE key, VALUE value, VALUE pointer)
{
    search *s = (search *)pointer;
    fit one = RB_TYPE_P(key, T_STRING) || RB_SYMBOL_P(key) ? avro_branch_fit(s->f, s->item, value, s->depth) : GUILDHALL_AVRO_NO_FIT;
    return avro_branch_go_on(&s->fit, one) ? ST_CONTINUE : ST_STOP;
}

static fit avro_branch_map_fit(const finder *f, uint32_t item, VALUE hash, uint32_t depth)
{
    search s = {f, item, depth, GUILDHALL_AVRO_EXACT};
    rb_hash_foreach(hash, avro_branch_pair_fits, (VALUE)&s);
    return s.fit;
}

static fit avro_branch_array_fit(const finder *f, uint32_t item, VALUE array, uint32_t depth)
{
    fit fit = GUILDHALL_AVRO_EXACT;
    for (long i = 0; i < RARRAY_LEN(array); i++) {
        if (!avro_branch_go_on(&fit, avro_branch_fit(f, item, rb_ary_entry(array, i), depth))) break;
    }
    return fit;
}

/* A Hash with a member that the record has no field for is another record. */
static fit avro_branch_record_fit(const finder *f, const node *node, VALUE hash, uint32_t depth)
{
    const uint32_t *operand = f->codec->program.operands + node->first;
    size_t found = 0;
    fit fit = GUILDHALL_AVRO_EXACT;
    for (uint32_t i = 0; i < node->count; i++, operand += 2) {
        VALUE given = guildhall_avro_given(f->codec, hash, operand[1], Qundef);
        if (given == Qundef) avro_branch_go_on(&fit, GUILDHALL_AVRO_FITS);
        else found++;
        if (!avro_branch_go_on(&fit, avro_branch_fit(f, operand[0], given == Qundef ? Qnil : given, depth))) return GUILDHALL_AVRO_NO_FIT;
    }
    return found == RHASH_SIZE(hash) ? fit : GUILDHALL_AVRO_NO_FIT;
}

static inline int avro_branch_is_named(VALUE object)
{
    return !RB_SPECIAL_CONST_P(object) && RB_BUILTIN_TYPE(object) == T_STRUCT &&
           rb_obj_class(object) == guildhall_avro_branch_class();
}

/* Without its namespace, unless `full`. */
static int avro_branch_has_name(const finder *f, const node *node, VALUE name, int full)
{
    VALUE own = guildhall_avro_named(node) ? guildhall_avro_name(f->codec, node)
                                           : rb_str_new_cstr(guildhall_avro_type_name(node));
    if (full) return RTEST(rb_str_equal(own, name));
    long rest = RSTRING_LEN(own) - RSTRING_LEN(name);
    return rest > 0 && RSTRING_PTR(own)[rest - 1] == '.' &&
           !memcmp(RSTRING_PTR(own) + rest, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
}

/* Which branch a Guildhall::Avro::Branch means, whose value is left in *object; UINT32_MAX: none of these. */
static uint32_t avro_branch_by_name(const finder *f, const node *node, VALUE *object)
{
    VALUE name = rb_obj_as_string(rb_funcall(*object, rb_intern("name"), 0));
    const uint32_t *branches = f->codec->program.operands + node->first;
    *object = rb_funcall(*object, rb_intern("value"), 0);
    for (int full = 1; full >= 0; full--) {
        for (uint32_t i = 0; i < node->count; i++) {
            if (avro_branch_has_name(f, &f->codec->program.nodes[branches[i]], name, full)) return i;
        }
    }
    return UINT32_MAX;
}

#define LOOKS 20000000      /* half a second */
#define LOOKS_BETWEEN 65536 /* two looks at whether the thread is wanted elsewhere */
#define LOOKS_BEFORE 1000   /* few are made again sooner than they are remembered */

/* Limits the search. */
static void avro_branch_look(const finder *f)
{
    if (++f->search->looks > LOOKS) rb_raise(guildhall_encode_error(), "Avro: cannot determine which branches of unions fit within %d comparisons", LOOKS);
    if (f->search->looks % LOOKS_BETWEEN == 0) rb_thread_check_ints();
}

/* If branches resemble each other at every level, a container would be looked at once for each combination of those around it. */
static int avro_branch_worth_remembering(const finder *f, VALUE object)
{
    if (f->search->looks < LOOKS_BEFORE || RB_SPECIAL_CONST_P(object)) return 0;
    return RB_BUILTIN_TYPE(object) == T_HASH || RB_BUILTIN_TYPE(object) == T_ARRAY || guildhall_document_p(object);
}

static int avro_branch_remembered(const finder *f, uint32_t index, VALUE object, fit *found)
{
    VALUE fits = f->search->known ? rb_hash_lookup2(f->search->known, object, Qnil) : Qnil;
    VALUE known = NIL_P(fits) ? Qnil : rb_hash_lookup2(fits, UINT2NUM(index), Qnil);
    if (!NIL_P(known)) *found = (fit)FIX2INT(known);
    return !NIL_P(known);
}

/* The Hash keeps the object, so that no other one comes to have its identity. */
static void avro_branch_remember(const finder *f, uint32_t index, VALUE object, fit found)
{
    if (!f->search->known) f->search->known = rb_funcall(rb_hash_new(), rb_intern("compare_by_identity"), 0);
    VALUE fits = rb_hash_lookup2(f->search->known, object, Qnil);
    if (NIL_P(fits)) rb_hash_aset(f->search->known, object, fits = rb_hash_new());
    rb_hash_aset(fits, UINT2NUM(index), INT2FIX(found));
}

/* A number with a fraction is a decimal, or none of these: it is no date and no timestamp where the union has decimals. */
static fit avro_branch_unless_decimal(const finder *f, const node *node, VALUE object, fit found)
{
    const uint32_t *branches = f->codec->program.operands + node->first;
    if (RB_LIKELY(found != GUILDHALL_AVRO_CUT) || !rb_obj_is_kind_of(object, rb_cNumeric)) return found;
    for (uint32_t i = 0; i < node->count; i++) {
        if (guildhall_avro_is_decimal(f->codec, &f->codec->program.nodes[branches[i]])) return GUILDHALL_AVRO_NO_FIT;
    }
    return found;
}

/* The first of the branches that fit best, and how well. */
static fit avro_branch_best(const finder *f, const node *node, VALUE object, uint32_t depth, uint32_t *best)
{
    const uint32_t *branches = f->codec->program.operands + node->first;
    fit found = GUILDHALL_AVRO_NO_FIT;
    if (avro_branch_is_named(object)) {
        if ((*best = avro_branch_by_name(f, node, &object)) == UINT32_MAX) return GUILDHALL_AVRO_NO_FIT;
        return avro_branch_fit(f, branches[*best], object, depth);
    }
    for (uint32_t i = 0; i < node->count && found != GUILDHALL_AVRO_EXACT; i++) {
        fit one = avro_branch_fit(f, branches[i], object, depth);
        if (one <= found) continue;
        found = one;
        *best = i;
    }
    return avro_branch_unless_decimal(f, node, object, found);
}

static fit avro_branch_fit_of(const finder *f, uint32_t index, VALUE object, uint32_t depth)
{
    const node *node = &f->codec->program.nodes[index];
    const uint32_t *operand = f->codec->program.operands + node->first;
    object = guildhall_document_plain(object);
    fit fit = depth ? guildhall_avro_resembles_reduced(f->codec, node, &object) : GUILDHALL_AVRO_NO_FIT;
    if (!fit) return GUILDHALL_AVRO_NO_FIT;
    uint32_t best;
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_ARRAY: return avro_branch_array_fit(f, *operand, object, depth - 1);
    case GUILDHALL_AVRO_MAP: return avro_branch_map_fit(f, *operand, object, depth - 1);
    case GUILDHALL_AVRO_RECORD: return avro_branch_record_fit(f, node, object, depth - 1);
    case GUILDHALL_AVRO_UNION: return avro_branch_best(f, node, object, depth - 1, &best);
    default: return fit;
    }
}

/* All the way down: only where more than one branch of a union resembles the object. */
static fit avro_branch_fit(const finder *f, uint32_t index, VALUE object, uint32_t depth)
{
    fit found;
    avro_branch_look(f);
    int remember = avro_branch_worth_remembering(f, object);
    if (remember && avro_branch_remembered(f, index, object, &found)) return found;
    found = avro_branch_fit_of(f, index, object, depth);
    if (remember) avro_branch_remember(f, index, object, found);
    return found;
}

/* The branch that the object resembles most; of several containers, the one that what is inside fits best. Where only one
 * resembles it, what does not fit inside is reported there. */
static uint32_t avro_branch_by_fit(const finder *f, const node *node, VALUE object, uint32_t depth)
{
    const guildhall_avro_program *program = &f->codec->program;
    const uint32_t *branches = program->operands + node->first;
    uint32_t best = UINT32_MAX, containers = 0;
    fit found = GUILDHALL_AVRO_NO_FIT;
    for (uint32_t i = 0; i < node->count; i++) {
        VALUE reduced = object;
        fit one = guildhall_avro_resembles_reduced(f->codec, &program->nodes[branches[i]], &reduced);
        if (one && program->nodes[branches[i]].type >= GUILDHALL_AVRO_ARRAY) containers++;
        if (one <= found) continue;
        found = one;
        best = i;
        if (found == GUILDHALL_AVRO_EXACT && !containers) return best;
    }
    if (!avro_branch_unless_decimal(f, node, object, found)) return UINT32_MAX;
    if (containers < 2) return best;
    return avro_branch_best(f, node, object, depth, &best) ? best : UINT32_MAX;
}

/* A Document of a record knows its name: only that distinguishes records with the same fields. */
static uint32_t avro_branch_of_document(const finder *f, const node *node, VALUE object, uint32_t depth)
{
    VALUE name = guildhall_document_p(object) ? rb_check_funcall(object, rb_intern("type_name"), 0, NULL) : Qundef;
    const uint32_t *branches = f->codec->program.operands + node->first;
    for (uint32_t i = 0; name != Qundef && !NIL_P(name) && i < node->count; i++) {
        const guildhall_avro_node *branch = &f->codec->program.nodes[branches[i]];
        if (branch->type != GUILDHALL_AVRO_RECORD || !avro_branch_has_name(f, branch, name, 1)) continue;
        return avro_branch_fit(f, branches[i], object, depth) ? i : UINT32_MAX;
    }
    return UINT32_MAX;
}

uint32_t guildhall_avro_branch_of(const guildhall_avro_codec *codec, const node *node, VALUE *object, uint32_t depth,
                                  guildhall_avro_search *search)
{
    const finder f = {codec, search};
    search->looks = 0;
    if (RB_UNLIKELY(avro_branch_is_named(*object))) return avro_branch_by_name(&f, node, object);
    uint32_t found = avro_branch_of_document(&f, node, *object, depth);
    if (found == UINT32_MAX) found = avro_branch_by_fit(&f, node, *object, depth);
    if (RB_LIKELY(found != UINT32_MAX)) return found;
    *object = guildhall_document_plain(*object);
    return avro_branch_by_fit(&f, node, *object, depth);
}
