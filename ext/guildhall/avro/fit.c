/* How Ruby objects fit the types of a schema. */
#include <float.h>
#include <math.h>
#include <ruby.h>
#include <ruby/encoding.h>
#include "fit.h"
#include "values/frozen.h"

typedef guildhall_avro_node node;
typedef guildhall_avro_fit fit;

static ID id_encode, id_decode, id_to_i, id_finite;

const char *guildhall_avro_type_name(const node *node)
{
    static const char *names[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum",
                                  "array", "map", "union", "record"};
    return node->type < sizeof names / sizeof *names ? names[node->type] : "nothing";
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

VALUE guildhall_avro_given(const guildhall_avro_codec *codec, VALUE hash, uint32_t name, VALUE fallback)
{
    VALUE found = rb_hash_lookup2(hash, codec->constants[name], Qundef);
    if (RB_LIKELY(found != Qundef)) return found;
    return rb_hash_lookup2(hash, rb_str_intern(codec->constants[name]), fallback);
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
    if (node->meaning != GUILDHALL_AVRO_CONVERTED || guildhall_avro_resembles(codec, node, object) != GUILDHALL_AVRO_EXACT) return 0;
    return NIL_P(rb_funcall(codec->constants[node->kept], id_decode, 1, object));
}

/* What a logical type's value is in the bytes, Integer or String; nil when it is no value of the type. Ruby decides all but Times. */
static VALUE avro_fit_raw(const guildhall_avro_codec *codec, const node *node, VALUE object)
{
    if (avro_fit_is_timestamp(node) && rb_obj_is_kind_of(object, rb_cTime)) return avro_fit_units(node, object);
    VALUE raw = rb_funcall(codec->constants[node->kept], id_encode, 1, object);
    return NIL_P(raw) && avro_fit_is_without_meaning(codec, node, object) ? object : raw;
}

static inline fit avro_fit_exact_if(int condition) { return condition ? GUILDHALL_AVRO_EXACT : GUILDHALL_AVRO_NO_FIT; }
static inline fit avro_fit_text_fit(VALUE object, int binary) { return (RB_ENCODING_GET(object) == guildhall_binary_index) == binary ? GUILDHALL_AVRO_EXACT : GUILDHALL_AVRO_FITS; }

/* What a binary String means beyond ASCII is unknown. */
static fit avro_fit_string_fit(VALUE object)
{
    fit fit = avro_fit_text_fit(object, 0);
    return fit == GUILDHALL_AVRO_EXACT || rb_enc_str_asciionly_p(object) ? fit : GUILDHALL_AVRO_NO_FIT;
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
    if (RB_FIXNUM_P(object)) return GUILDHALL_AVRO_FITS;
    if (!guildhall_avro_is_real(object)) return GUILDHALL_AVRO_NO_FIT;
    double wide = avro_fit_double(object);
    if (avro_fit_overflows(object, wide, is_float)) return GUILDHALL_AVRO_NO_FIT;
    if (!RB_FLOAT_TYPE_P(object)) return GUILDHALL_AVRO_FITS;
    return is_float && (double)(float)wide != wide && wide == wide ? GUILDHALL_AVRO_FITS : GUILDHALL_AVRO_EXACT;
}

fit guildhall_avro_resembles(const guildhall_avro_codec *codec, const node *node, VALUE object)
{
    switch ((guildhall_avro_type)node->type) {
    case GUILDHALL_AVRO_NULL: return avro_fit_exact_if(NIL_P(object));
    case GUILDHALL_AVRO_BOOLEAN: return avro_fit_exact_if(object == Qtrue || object == Qfalse);
    case GUILDHALL_AVRO_INT: return avro_fit_exact_if(avro_fit_integer_fits(object, 1));
    case GUILDHALL_AVRO_LONG: return avro_fit_exact_if(avro_fit_integer_fits(object, 0));
    case GUILDHALL_AVRO_FLOAT: return avro_fit_real_fit(object, 1);
    case GUILDHALL_AVRO_DOUBLE: return avro_fit_real_fit(object, 0);
    case GUILDHALL_AVRO_BYTES: return RB_TYPE_P(object, T_STRING) ? avro_fit_text_fit(object, 1) : GUILDHALL_AVRO_NO_FIT;
    case GUILDHALL_AVRO_STRING: return RB_TYPE_P(object, T_STRING) ? avro_fit_string_fit(object) : GUILDHALL_AVRO_NO_FIT;
    case GUILDHALL_AVRO_FIXED:
        return RB_TYPE_P(object, T_STRING) && RSTRING_LEN(object) == (long)node->count ? avro_fit_text_fit(object, 1) : GUILDHALL_AVRO_NO_FIT;
    case GUILDHALL_AVRO_ENUM: return avro_fit_exact_if(guildhall_avro_symbol_index(codec, node, object) >= 0);
    case GUILDHALL_AVRO_ARRAY: return avro_fit_exact_if(RB_TYPE_P(object, T_ARRAY));
    case GUILDHALL_AVRO_MAP: case GUILDHALL_AVRO_RECORD: return avro_fit_exact_if(RB_TYPE_P(object, T_HASH));
    case GUILDHALL_AVRO_UNION: return GUILDHALL_AVRO_EXACT;
    default: return GUILDHALL_AVRO_NO_FIT;
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

int guildhall_avro_is_decimal(const guildhall_avro_codec *codec, const node *node)
{
    if (node->meaning != GUILDHALL_AVRO_CONVERTED || (node->type != GUILDHALL_AVRO_BYTES && node->type != GUILDHALL_AVRO_FIXED)) return 0;
    return !NIL_P(rb_funcall(codec->constants[node->kept], id_encode, 1, INT2FIX(0)));
}

/* Does the value under a logical type decode to this very object? */
static fit avro_fit_back(const guildhall_avro_codec *codec, const node *node, VALUE reduced, VALUE object)
{
    VALUE back = avro_fit_is_timestamp(node) ? guildhall_avro_time(node->meaning, NUM2LL(reduced))
                                    : rb_funcall(codec->constants[node->kept], id_decode, 1, reduced);
    if (NIL_P(back)) return GUILDHALL_AVRO_WITHOUT_MEANING;
    if (avro_fit_is_cut(reduced, back, object)) return GUILDHALL_AVRO_CUT;
    return rb_obj_class(back) == rb_obj_class(object) && RTEST(rb_equal(back, object)) ? GUILDHALL_AVRO_EXACT : GUILDHALL_AVRO_FITS;
}

fit guildhall_avro_resembles_reduced(const guildhall_avro_codec *codec, const node *node, VALUE *object)
{
    if (RB_LIKELY(node->meaning == GUILDHALL_AVRO_PLAIN)) return guildhall_avro_resembles(codec, node, *object);
    VALUE given = *object;
    if (!guildhall_avro_reduce(codec, node, object) || !guildhall_avro_resembles(codec, node, *object)) return GUILDHALL_AVRO_NO_FIT;
    return avro_fit_back(codec, node, *object, given);
}

void guildhall_init_avro_fit(void)
{
    id_encode = rb_intern("encode");
    id_decode = rb_intern("decode");
    id_to_i = rb_intern("to_i");
    id_finite = rb_intern("finite?");
}
