#include "number.h"

static ID id_compare, id_multiple;

void guildhall_number_init(void)
{
    id_compare = rb_intern("<=>");
    id_multiple = rb_intern("multiple?");
}

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

bool guildhall_number_multiple(guildhall_number number, guildhall_number divisor)
{
    int64_t a, b;
    if (schema_number_small_integral(number, &a) && schema_number_small_integral(divisor, &b)) return b == 0 ? a == 0 : b == -1 || a % b == 0;
    VALUE module = rb_path2class("Guildhall::Schema::Numbers");
    return RTEST(rb_funcall(module, id_multiple, 2, guildhall_number_value(number), guildhall_number_value(divisor)));
}

bool guildhall_number_integral(guildhall_number number)
{
    switch (number.kind) {
    case GUILDHALL_NUMBER_INTEGER: return true;
    case GUILDHALL_NUMBER_DOUBLE: return isfinite(number.real) && trunc(number.real) == number.real;
    default:
        return RB_INTEGER_TYPE_P(number.object) ||
               rb_equal(number.object, rb_funcall(number.object, rb_intern("floor"), 0)) == Qtrue;
    }
}

uint64_t guildhall_number_hash(guildhall_number number)
{
    int64_t integer;
    if (schema_number_small_integral(number, &integer)) return (uint64_t)integer * 0x9e3779b97f4a7c15ull;
    if (number.kind == GUILDHALL_NUMBER_DOUBLE && isfinite(number.real) && trunc(number.real) != number.real) {
        uint64_t bits;
        memcpy(&bits, &number.real, sizeof bits);
        return bits * 0xc2b2ae3d27d4eb4full;
    }
    return 7; /* too big to be worth telling apart before they are compared */
}
