/* How Ruby objects fit the types of a schema; and which branch of a union an object is written as: the one that it fits best, all the way
 * down where several resemble it. */
#include <float.h>
#include <math.h>
#include <ruby.h>
#include <ruby/encoding.h>
#include "document/any.h"
#include "fit.h"

typedef guildhall_avro_node node;

/* Worse to better. CUT: a part of it is lost, such as a DateTime's time of day. WITHOUT_MEANING: it is no value of the logical type.
 * EXACT: it comes back from there as it is. */
typedef enum { NO_FIT, CUT, WITHOUT_MEANING, FITS, EXACT } fit;

static ID id_encode, id_decode, id_to_i, id_finite;

const char *guildhall_avro_type_name(const node *node)
{
    static const char *names[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum",
                                  "array", "map", "union", "record"};
    return node->type < sizeof names / sizeof *names ? names[node->type] : "nothing";
}

VALUE guildhall_avro_label(const guildhall_avro_codec *codec, const node *branch)
{
    return guildhall_avro_named(branch) ? guildhall_avro_name(codec, branch) : rb_str_new_cstr(guildhall_avro_type_name(branch));
}

static inline int avro_fit_integer_fits(VALUE object, int is_int)
{
    if (RB_FIXNUM_P(object)) return !is_int || (FIX2LONG(object) >= INT32_MIN && FIX2LONG(object) <= INT32_MAX);
    if (is_int || !RB_TYPE_P(object, T_BIGNUM)) return 0;
    return rb_absint_size(object, NULL) < 8 || (rb_big_cmp(object, LL2NUM(INT64_MIN)) != INT2FIX(-1) &&
                                                rb_big_cmp(object, LL2NUM(INT64_MAX)) != INT2FIX(1));
}

int guildhall_avro_is_real(VALUE object)
{
    if (RB_FLOAT_TYPE_P(object) || RB_INTEGER_TYPE_P(object)) return 1;
    return !RB_SPECIAL_CONST_P(object) && !strcmp(rb_obj_classname(object), "BigDecimal");
}

int64_t guildhall_avro_symbol_index(const guildhall_avro_codec *codec, const node *node, VALUE object)
{
    if (!RB_TYPE_P(object, T_STRING)) return -1;
    for (uint32_t i = 0; i < node->count; i++) {
        if (rb_str_equal(codec->constants[codec->program.operands[node->first + i]], object)) return i;
    }
    return -1;
}

VALUE guildhall_avro_given(const guildhall_avro_codec *codec, VALUE hash, uint32_t name)
{
    VALUE found = rb_hash_lookup2(hash, codec->constants[name], Qundef);
    return RB_LIKELY(found != Qundef) ? found : rb_hash_lookup2(hash, rb_str_intern(codec->constants[name]), Qundef);
}

static inline int avro_fit_is_timestamp(const node *node) { return node->meaning >= GUILDHALL_AVRO_MILLIS; }

/* The units of a Time, or of what its clock shows; nil: no long has as many. */
static VALUE avro_fit_units(const node *node, VALUE time)
{
    if (!RB_FIXNUM_P(rb_funcall(time, id_to_i, 0))) return Qnil; /* which no timespec has either */
    struct timespec spec = rb_time_timespec(time);
    int64_t units = guildhall_avro_units(node->meaning), offset = guildhall_avro_local(node->meaning) ? NUM2LL(rb_time_utc_offset(time)) : 0;
    __int128 whole = ((__int128)spec.tv_sec + offset) * units + spec.tv_nsec / (1000000000 / units);
    return whole < INT64_MIN || whole > INT64_MAX ? Qnil : LL2NUM((int64_t)whole);
}

/* Is this what a decoder gives for bytes that are no value of the logical type: an Integer, a text, a binary String? Timestamps have
 * no such numbers. */
static int avro_fit_is_without_meaning(const guildhall_avro_codec *codec, const node *node, VALUE object)
{
    if (node->meaning != GUILDHALL_AVRO_CONVERTED || guildhall_avro_resembles(codec, node, object) != EXACT) return 0;
    return NIL_P(rb_funcall(codec->constants[node->kept], id_decode, 1, object));
}

/* What a logical type's value is in the bytes, Integer or String; nil when it is no value of the type. Ruby decides all but Times. */
static VALUE avro_fit_raw(const guildhall_avro_codec *codec, const node *node, VALUE object)
{
    if (avro_fit_is_timestamp(node) && rb_obj_is_kind_of(object, rb_cTime)) return avro_fit_units(node, object);
    VALUE raw = rb_funcall(codec->constants[node->kept], id_encode, 1, object);
    return NIL_P(raw) && avro_fit_is_without_meaning(codec, node, object) ? object : raw;
}

static inline fit avro_fit_exact_if(int condition) { return condition ? EXACT : NO_FIT; }
static inline fit avro_fit_text_fit(VALUE object, int binary) { return (RB_ENCODING_GET(object) == guildhall_binary_index) == binary ? EXACT : FITS; }

/* What a binary String means beyond ASCII is unknown. */
static fit avro_fit_string_fit(VALUE object)
{
    fit fit = avro_fit_text_fit(object, 0);
    return fit == EXACT || rb_enc_str_asciionly_p(object) ? fit : NO_FIT;
}

/* Ruby warns where an Integer is more than any double. */
static double avro_fit_double(VALUE object)
{
    if (RB_FLOAT_TYPE_P(object)) return RFLOAT_VALUE(object);
    if (RB_TYPE_P(object, T_BIGNUM) && rb_absint_size(object, NULL) >= 128) {
        if (rb_big_cmp(object, DBL2NUM(DBL_MAX)) == INT2FIX(1) || rb_big_cmp(object, DBL2NUM(-DBL_MAX)) == INT2FIX(-1)) return INFINITY;
    }
    return NUM2DBL(object);
}

/* Would a number with an end be written as one without? */
static int avro_fit_overflows(VALUE object, double wide, int is_float)
{
    if (!isinf(is_float ? (float)wide : wide)) return 0;
    if (RB_FLOAT_TYPE_P(object)) return !isinf(wide);
    return RB_INTEGER_TYPE_P(object) || RTEST(rb_funcall(object, id_finite, 0));
}

static fit avro_fit_real_fit(VALUE object, int is_float)
{
    if (RB_FIXNUM_P(object)) return FITS;
    if (!guildhall_avro_is_real(object)) return NO_FIT;
    double wide = avro_fit_double(object);
    if (avro_fit_overflows(object, wide, is_float)) return NO_FIT;
    if (!RB_FLOAT_TYPE_P(object)) return FITS;
    return is_float && (double)(float)wide != wide && wide == wide ? FITS : EXACT;
}

int guildhall_avro_resembles(const guildhall_avro_codec *codec, const node *node, VALUE object)
{
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: return avro_fit_exact_if(NIL_P(object));
    case GUILDHALL_AVRO_BOOLEAN: return avro_fit_exact_if(object == Qtrue || object == Qfalse);
    case GUILDHALL_AVRO_INT: return avro_fit_exact_if(avro_fit_integer_fits(object, 1));
    case GUILDHALL_AVRO_LONG: return avro_fit_exact_if(avro_fit_integer_fits(object, 0));
    case GUILDHALL_AVRO_FLOAT: return avro_fit_real_fit(object, 1);
    case GUILDHALL_AVRO_DOUBLE: return avro_fit_real_fit(object, 0);
    case GUILDHALL_AVRO_BYTES: return RB_TYPE_P(object, T_STRING) ? avro_fit_text_fit(object, 1) : NO_FIT;
    case GUILDHALL_AVRO_STRING: return RB_TYPE_P(object, T_STRING) ? avro_fit_string_fit(object) : NO_FIT;
    case GUILDHALL_AVRO_FIXED:
        return RB_TYPE_P(object, T_STRING) && RSTRING_LEN(object) == (long)node->count ? avro_fit_text_fit(object, 1) : NO_FIT;
    case GUILDHALL_AVRO_ENUM: return avro_fit_exact_if(guildhall_avro_symbol_index(codec, node, object) >= 0);
    case GUILDHALL_AVRO_ARRAY: return avro_fit_exact_if(RB_TYPE_P(object, T_ARRAY));
    case GUILDHALL_AVRO_MAP: case GUILDHALL_AVRO_RECORD: return avro_fit_exact_if(RB_TYPE_P(object, T_HASH));
    case GUILDHALL_AVRO_UNION: return EXACT;
    default: return NO_FIT;
    }
}

int guildhall_avro_reduce(const guildhall_avro_codec *codec, const node *node, VALUE *object)
{
    if (node->meaning == GUILDHALL_AVRO_PLAIN) return 1;
    *object = avro_fit_raw(codec, node, *object);
    return !NIL_P(*object);
}

/* Is a part of the object lost: a number's fraction, or the time of day of what was a date and more? */
static int avro_fit_is_cut(VALUE reduced, VALUE back, VALUE object)
{
    if (rb_obj_is_kind_of(object, rb_cNumeric)) return RB_INTEGER_TYPE_P(reduced) && !RTEST(rb_equal(reduced, object));
    return rb_obj_is_kind_of(object, rb_obj_class(back)) && rb_obj_class(object) != rb_obj_class(back) && !rb_obj_is_kind_of(object, rb_cTime) &&
           !RTEST(rb_equal(back, object));
}

/* Does a branch have a logical type whose values are numbers with a fraction? */
static int avro_fit_is_decimal(const guildhall_avro_codec *codec, const node *node)
{
    if (node->meaning != GUILDHALL_AVRO_CONVERTED || (node->type != GUILDHALL_AVRO_BYTES && node->type != GUILDHALL_AVRO_FIXED)) return 0;
    return !NIL_P(rb_funcall(codec->constants[node->kept], id_encode, 1, INT2FIX(0)));
}

/* Does the value under a logical type decode to this very object? */
static fit avro_fit_back(const guildhall_avro_codec *codec, const node *node, VALUE reduced, VALUE object)
{
    VALUE back = avro_fit_is_timestamp(node) ? guildhall_avro_time(node->meaning, NUM2LL(reduced))
                                    : rb_funcall(codec->constants[node->kept], id_decode, 1, reduced);
    if (NIL_P(back)) return WITHOUT_MEANING;
    if (avro_fit_is_cut(reduced, back, object)) return CUT;
    return rb_obj_class(back) == rb_obj_class(object) && RTEST(rb_equal(back, object)) ? EXACT : FITS;
}

/* How the object resembles the type under its logical type. */
static fit avro_fit_reduced(const guildhall_avro_codec *codec, const node *node, VALUE *object)
{
    if (RB_LIKELY(node->meaning == GUILDHALL_AVRO_PLAIN)) return guildhall_avro_resembles(codec, node, *object);
    VALUE given = *object;
    if (!guildhall_avro_reduce(codec, node, object) || !guildhall_avro_resembles(codec, node, *object)) return NO_FIT;
    return avro_fit_back(codec, node, *object, given);
}

/* ---- branches */

typedef guildhall_avro_search finder;

static fit avro_fit_deep(finder *f, uint32_t index, VALUE object, uint32_t depth);

typedef struct {
    finder *f;
    uint32_t item, depth;
    fit fit;
} search;

/* Is there an end to it, with what fits so far and one value more? */
static int avro_fit_branch_go_on(fit *so_far, fit one)
{
    if (one < *so_far) *so_far = one;
    return *so_far != NO_FIT;
}

static int avro_fit_branch_pair_fits(VALUE key, VALUE value, VALUE pointer)
{
    search *s = (search *)pointer;
    fit one = RB_TYPE_P(key, T_STRING) || RB_SYMBOL_P(key) ? avro_fit_deep(s->f, s->item, value, s->depth) : NO_FIT;
    return avro_fit_branch_go_on(&s->fit, one) ? ST_CONTINUE : ST_STOP;
}

static fit avro_fit_branch_map_fit(finder *f, uint32_t item, VALUE hash, uint32_t depth)
{
    search s = {f, item, depth, EXACT};
    rb_hash_foreach(hash, avro_fit_branch_pair_fits, (VALUE)&s);
    return s.fit;
}

static fit avro_fit_branch_array_fit(finder *f, uint32_t item, VALUE array, uint32_t depth)
{
    fit fit = EXACT;
    for (long i = 0; i < RARRAY_LEN(array); i++) {
        if (!avro_fit_branch_go_on(&fit, avro_fit_deep(f, item, rb_ary_entry(array, i), depth))) break;
    }
    return fit;
}

/* A Hash with a member that the record has no field for is another record. */
static fit avro_fit_branch_record_fit(finder *f, const node *node, VALUE hash, uint32_t depth)
{
    const uint32_t *operand = f->codec->program.operands + node->first;
    size_t found = 0;
    fit fit = EXACT;
    for (uint32_t i = 0; i < node->count; i++, operand += 2) {
        VALUE given = guildhall_avro_given(f->codec, hash, operand[1]);
        if (given == Qundef) avro_fit_branch_go_on(&fit, FITS);
        else found++;
        if (!avro_fit_branch_go_on(&fit, avro_fit_deep(f, operand[0], given == Qundef ? Qnil : given, depth))) return NO_FIT;
    }
    return found == RHASH_SIZE(hash) ? fit : NO_FIT;
}

static inline int avro_fit_branch_is_named(VALUE object)
{
    return !RB_SPECIAL_CONST_P(object) && RB_BUILTIN_TYPE(object) == T_STRUCT && rb_obj_class(object) == guildhall_avro_branch_class();
}

/* Without its namespace, unless `full`. */
static int avro_fit_branch_has_name(finder *f, const node *node, VALUE name, int full)
{
    VALUE own = guildhall_avro_label(f->codec, node);
    if (full) return RTEST(rb_str_equal(own, name));
    long rest = RSTRING_LEN(own) - RSTRING_LEN(name);
    return rest > 0 && RSTRING_PTR(own)[rest - 1] == '.' && !memcmp(RSTRING_PTR(own) + rest, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
}

/* Which branch a Guildhall::Avro::Branch means, whose value is left in *object; UINT32_MAX: none of these. */
static uint32_t avro_fit_branch_by_name(finder *f, const node *node, VALUE *object)
{
    VALUE name = rb_obj_as_string(rb_funcall(*object, rb_intern("name"), 0));
    const uint32_t *branches = f->codec->program.operands + node->first;
    *object = rb_funcall(*object, rb_intern("value"), 0);
    for (int full = 1; full >= 0; full--) {
        for (uint32_t i = 0; i < node->count; i++) {
            if (avro_fit_branch_has_name(f, &f->codec->program.nodes[branches[i]], name, full)) return i;
        }
    }
    return UINT32_MAX;
}

#define LOOKS 20000000      /* half a second */
#define LOOKS_BETWEEN 65536 /* two looks at whether the thread is wanted elsewhere */
#define LOOKS_BEFORE 1000   /* few are made again sooner than they are remembered */

/* Limits the search. */
static void avro_fit_branch_look(finder *f)
{
    if (++f->looks > LOOKS) rb_raise(guildhall_encode_error(), "Avro: cannot determine which branches of unions fit within %d comparisons", LOOKS);
    if (f->looks % LOOKS_BETWEEN == 0) rb_thread_check_ints();
}

/* If branches resemble each other at every level, a container would be looked at once for each combination of those around it. */
static int avro_fit_branch_worth_remembering(finder *f, VALUE object)
{
    if (f->looks < LOOKS_BEFORE || RB_SPECIAL_CONST_P(object)) return 0;
    return RB_BUILTIN_TYPE(object) == T_HASH || RB_BUILTIN_TYPE(object) == T_ARRAY || guildhall_document_p(object);
}

static int avro_fit_branch_remembered(finder *f, uint32_t index, VALUE object, fit *found)
{
    VALUE fits = f->known ? rb_hash_lookup2(f->known, object, Qnil) : Qnil;
    VALUE known = NIL_P(fits) ? Qnil : rb_hash_lookup2(fits, UINT2NUM(index), Qnil);
    if (!NIL_P(known)) *found = (fit)FIX2INT(known);
    return !NIL_P(known);
}

/* The Hash keeps the object, so that no other one comes to have its identity. */
static void avro_fit_branch_remember(finder *f, uint32_t index, VALUE object, fit found)
{
    if (!f->known) f->known = rb_funcall(rb_hash_new(), rb_intern("compare_by_identity"), 0);
    VALUE fits = rb_hash_lookup2(f->known, object, Qnil);
    if (NIL_P(fits)) rb_hash_aset(f->known, object, fits = rb_hash_new());
    rb_hash_aset(fits, UINT2NUM(index), INT2FIX(found));
}

/* A number with a fraction is a decimal, or none of these: it is no date and no timestamp where the union has decimals. */
static fit avro_fit_branch_unless_decimal(finder *f, const node *node, VALUE object, fit found)
{
    const uint32_t *branches = f->codec->program.operands + node->first;
    if (RB_LIKELY(found != CUT) || !rb_obj_is_kind_of(object, rb_cNumeric)) return found;
    for (uint32_t i = 0; i < node->count; i++) {
        if (avro_fit_is_decimal(f->codec, &f->codec->program.nodes[branches[i]])) return NO_FIT;
    }
    return found;
}

/* The first of the branches that fit best, and how well. */
static fit avro_fit_branch_best(finder *f, const node *node, VALUE object, uint32_t depth, uint32_t *best)
{
    const uint32_t *branches = f->codec->program.operands + node->first;
    fit found = NO_FIT;
    if (avro_fit_branch_is_named(object)) {
        if ((*best = avro_fit_branch_by_name(f, node, &object)) == UINT32_MAX) return NO_FIT;
        return avro_fit_deep(f, branches[*best], object, depth);
    }
    for (uint32_t i = 0; i < node->count && found != EXACT; i++) {
        fit one = avro_fit_deep(f, branches[i], object, depth);
        if (one <= found) continue;
        found = one;
        *best = i;
    }
    return avro_fit_branch_unless_decimal(f, node, object, found);
}

static fit avro_fit_under(finder *f, uint32_t index, VALUE object, uint32_t depth)
{
    const node *node = &f->codec->program.nodes[index];
    const uint32_t *operand = f->codec->program.operands + node->first;
    object = guildhall_document_plain(object);
    fit fit = depth ? avro_fit_reduced(f->codec, node, &object) : NO_FIT;
    if (!fit) return NO_FIT;
    uint32_t best;
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_ARRAY: return avro_fit_branch_array_fit(f, *operand, object, depth - 1);
    case GUILDHALL_AVRO_MAP: return avro_fit_branch_map_fit(f, *operand, object, depth - 1);
    case GUILDHALL_AVRO_RECORD: return avro_fit_branch_record_fit(f, node, object, depth - 1);
    case GUILDHALL_AVRO_UNION: return avro_fit_branch_best(f, node, object, depth - 1, &best);
    default: return fit;
    }
}

/* All the way down: only where more than one branch of a union resembles the object. */
static fit avro_fit_deep(finder *f, uint32_t index, VALUE object, uint32_t depth)
{
    fit found;
    avro_fit_branch_look(f);
    int remember = avro_fit_branch_worth_remembering(f, object);
    if (remember && avro_fit_branch_remembered(f, index, object, &found)) return found;
    found = avro_fit_under(f, index, object, depth);
    if (remember) avro_fit_branch_remember(f, index, object, found);
    return found;
}

/* The branch that the object resembles most; of several containers, the one that what is inside fits best. Where only one
 * resembles it, what does not fit inside is reported there. */
static uint32_t avro_fit_branch_by_fit(finder *f, const node *node, VALUE object, uint32_t depth)
{
    const guildhall_avro_program *program = &f->codec->program;
    const uint32_t *branches = program->operands + node->first;
    uint32_t best = UINT32_MAX, containers = 0;
    fit found = NO_FIT;
    for (uint32_t i = 0; i < node->count; i++) {
        VALUE reduced = object;
        fit one = avro_fit_reduced(f->codec, &program->nodes[branches[i]], &reduced);
        if (one && program->nodes[branches[i]].type >= GUILDHALL_AVRO_ARRAY) containers++;
        if (one <= found) continue;
        found = one;
        best = i;
        if (found == EXACT && !containers) return best;
    }
    if (!avro_fit_branch_unless_decimal(f, node, object, found)) return UINT32_MAX;
    if (containers < 2) return best;
    return avro_fit_branch_best(f, node, object, depth, &best) ? best : UINT32_MAX;
}

/* A Document of a record knows its name: only that distinguishes records with the same fields. */
static uint32_t avro_fit_branch_of_document(finder *f, const node *node, VALUE object, uint32_t depth)
{
    VALUE name = guildhall_document_p(object) ? rb_check_funcall(object, rb_intern("type_name"), 0, NULL) : Qundef;
    const uint32_t *branches = f->codec->program.operands + node->first;
    for (uint32_t i = 0; name != Qundef && !NIL_P(name) && i < node->count; i++) {
        const guildhall_avro_node *branch = &f->codec->program.nodes[branches[i]];
        if (branch->type != GUILDHALL_AVRO_RECORD || !avro_fit_branch_has_name(f, branch, name, 1)) continue;
        return avro_fit_deep(f, branches[i], object, depth) ? i : UINT32_MAX;
    }
    return UINT32_MAX;
}

uint32_t guildhall_avro_branch_of(finder *f, const node *node, VALUE *object, uint32_t depth)
{
    f->looks = 0;
    if (RB_UNLIKELY(avro_fit_branch_is_named(*object))) return avro_fit_branch_by_name(f, node, object);
    uint32_t found = avro_fit_branch_of_document(f, node, *object, depth);
    if (found == UINT32_MAX) found = avro_fit_branch_by_fit(f, node, *object, depth);
    if (RB_LIKELY(found != UINT32_MAX)) return found;
    *object = guildhall_document_plain(*object);
    return avro_fit_branch_by_fit(f, node, *object, depth);
}

void guildhall_init_avro_fit(void)
{
    id_encode = rb_intern("encode");
    id_decode = rb_intern("decode");
    id_to_i = rb_intern("to_i");
    id_finite = rb_intern("finite?");
}
