#include "number.h"
#include "text/hash.h"

static ID id_compare, id_multiple, id_residue;

/* Of the hashes: nobody outside knows them. The modulus is odd and has 61 bits, so that it is a Fixnum. */
static uint64_t seed, modulus;

void guildhall_number_init(void)
{
    id_compare = rb_intern("<=>");
    id_multiple = rb_intern("multiple?");
    id_residue = rb_intern("residue");
    seed = guildhall_hash_seed();
    modulus = (guildhall_mix(seed, 0x9E3779B97F4A7C15ull) >> 4) | (uint64_t)1 << 60 | 1;
}

uint64_t guildhall_number_secret_hash(uint64_t value) { return guildhall_mix(value ^ seed, 0xd6e8feb86659fd93ull ^ seed); }

static guildhall_number schema_number_of_integer(int64_t integer)
{
    return (guildhall_number){.kind = GUILDHALL_NUMBER_INTEGER, .integer = integer};
}

guildhall_number guildhall_number_of(VALUE numeric)
{
    if (FIXNUM_P(numeric)) return schema_number_of_integer(FIX2LONG(numeric));
    if (RB_FLOAT_TYPE_P(numeric))
        return (guildhall_number){.kind = GUILDHALL_NUMBER_DOUBLE, .real = RFLOAT_VALUE(numeric)};
    return (guildhall_number){.kind = GUILDHALL_NUMBER_OBJECT, .object = numeric};
}

VALUE guildhall_number_value(guildhall_number number)
{
    switch (number.kind) {
    case GUILDHALL_NUMBER_INTEGER: return LL2NUM(number.integer);
    case GUILDHALL_NUMBER_DOUBLE: return DBL2NUM(number.real);
    default: return number.object;
    }
}

static int schema_number_sign(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int schema_number_compare_doubles(double a, double b)
{
    if (isnan(a) || isnan(b)) return 2;
    return (a > b) - (a < b);
}

/* Exact: a double is split into its whole part and the rest, because 2⁶³ − 1 as a double would be 2⁶³. */
static int schema_number_compare_mixed(int64_t integer, double real)
{
    if (isnan(real)) return 2;
    if (real >= 0x1p63) return -1;
    if (real < -0x1p63) return 1;
    int order = schema_number_sign(integer, (int64_t)real);
    return order != 0 ? order : schema_number_compare_doubles(trunc(real), real);
}

int guildhall_number_compare(guildhall_number a, guildhall_number b)
{
    if (a.kind == GUILDHALL_NUMBER_OBJECT || b.kind == GUILDHALL_NUMBER_OBJECT) {
        VALUE order = rb_funcall(guildhall_number_value(a), id_compare, 1, guildhall_number_value(b));
        return NIL_P(order) ? 2 : NUM2INT(order);
    }
    if (a.kind == b.kind)
        return a.kind == GUILDHALL_NUMBER_INTEGER ? schema_number_sign(a.integer, b.integer) : schema_number_compare_doubles(a.real, b.real);
    if (a.kind == GUILDHALL_NUMBER_INTEGER) return schema_number_compare_mixed(a.integer, b.real);
    int order = schema_number_compare_mixed(b.integer, a.real);
    return order == 2 ? 2 : -order;
}

static bool schema_number_small_integral(guildhall_number number, int64_t *integer)
{
    if (number.kind == GUILDHALL_NUMBER_INTEGER) {
        *integer = number.integer;
        return true;
    }
    if (number.kind != GUILDHALL_NUMBER_DOUBLE || !(fabs(number.real) < 0x1p53) || trunc(number.real) != number.real)
        return false;
    *integer = (int64_t)number.real;
    return true;
}

static VALUE schema_number_module(void) { return rb_path2class("Guildhall::Schema::Numbers"); }

bool guildhall_number_multiple(guildhall_number number, guildhall_number divisor, uint32_t max_digits)
{
    int64_t a, b;
    if (schema_number_small_integral(number, &a) && schema_number_small_integral(divisor, &b)) return b == 0 ? a == 0 : b == -1 || a % b == 0;
    return RTEST(rb_funcall(schema_number_module(), id_multiple, 3, guildhall_number_value(number), guildhall_number_value(divisor),
                            UINT2NUM(max_digits)));
}

static bool schema_number_is_decimal(VALUE object) { return !RB_SPECIAL_CONST_P(object) && !strcmp(rb_obj_classname(object), "BigDecimal"); }

/* Without the digits of what a large exponent stands for: they could be thousands of millions. */
static bool schema_number_object_integral(VALUE object)
{
    if (RB_INTEGER_TYPE_P(object)) return true;
    if (RB_TYPE_P(object, T_RATIONAL)) return rb_rational_den(object) == INT2FIX(1);
    if (schema_number_is_decimal(object)) return RTEST(rb_funcall(rb_funcall(object, rb_intern("frac"), 0), rb_intern("zero?"), 0));
    return rb_equal(object, rb_funcall(object, rb_intern("floor"), 0)) == Qtrue;
}

bool guildhall_number_integral(guildhall_number number)
{
    switch (number.kind) {
    case GUILDHALL_NUMBER_INTEGER: return true;
    case GUILDHALL_NUMBER_DOUBLE: return isfinite(number.real) && trunc(number.real) == number.real;
    default: return schema_number_object_integral(number.object);
    }
}

static uint64_t schema_number_residue_of_integer(int64_t integer)
{
    int64_t rest = integer % (int64_t)modulus;
    return (uint64_t)(rest < 0 ? rest + (int64_t)modulus : rest);
}

static uint64_t schema_number_times(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b % modulus); }

/* Of a whole number beyond 2⁵³: its 53 bits times a power of two. */
static uint64_t schema_number_residue_of_double(double real)
{
    int exponent;
    uint64_t rest = (uint64_t)(frexp(fabs(real), &exponent) * 0x1p53) % modulus, power = 2;
    for (exponent -= 53; exponent; exponent >>= 1) {
        if (exponent & 1) rest = schema_number_times(rest, power);
        power = schema_number_times(power, power);
    }
    return real < 0 && rest ? modulus - rest : rest;
}

static uint64_t schema_number_bits(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return ~bits; /* no residue is as large as that of a number that is not tiny */
}

static uint64_t schema_number_hash_object(VALUE object, uint32_t max_digits, uint64_t salt)
{
    VALUE whole = object;
    if (!schema_number_object_integral(object)) {
        if (rb_equal(object, object) != Qtrue) return guildhall_number_secret_hash(salt);
        if (!schema_number_is_decimal(object) && !RB_TYPE_P(object, T_RATIONAL)) return guildhall_number_secret_hash(7);
        return guildhall_number_secret_hash((uint64_t)NUM2LL(rb_hash(object)));
    }
    if (RB_TYPE_P(object, T_RATIONAL)) whole = rb_rational_num(object);
    VALUE rest = rb_funcall(schema_number_module(), id_residue, 3, whole, ULL2NUM(modulus), UINT2NUM(max_digits));
    return guildhall_number_secret_hash(NUM2ULL(rest));
}

uint64_t guildhall_number_hash(guildhall_number number, uint32_t max_digits, uint64_t salt)
{
    int64_t integer;
    if (schema_number_small_integral(number, &integer)) return guildhall_number_secret_hash(schema_number_residue_of_integer(integer));
    if (number.kind == GUILDHALL_NUMBER_OBJECT) return schema_number_hash_object(number.object, max_digits, salt);
    if (isnan(number.real)) return guildhall_number_secret_hash(salt);
    if (isinf(number.real) || trunc(number.real) != number.real) return guildhall_number_secret_hash(schema_number_bits(number.real));
    return guildhall_number_secret_hash(schema_number_residue_of_double(number.real));
}
