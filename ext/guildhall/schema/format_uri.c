/* URIs of RFC 3986, IRIs of RFC 3987 (everything beyond ASCII that is not private use), templates of RFC 6570. */
#include "format.h"

/* What a byte may be part of. */
enum { UNRESERVED = 1, SUB_DELIM = 2, COLON = 4, AT = 8, SLASH = 16, QUESTION = 32, HASH = 64, SCHEME = 128, OUTSIDE = 256 };
#define USER_INFO (UNRESERVED | SUB_DELIM | COLON)
#define REGISTERED_NAME (UNRESERVED | SUB_DELIM)
#define PATH (UNRESERVED | SUB_DELIM | COLON | AT | SLASH)
#define QUERY (PATH | QUESTION)

/* OUTSIDE: of the expressions of a template. */
static const uint16_t classes[256] = {
    ['0' ... '9'] = UNRESERVED | SCHEME | OUTSIDE,
    ['A' ... 'Z'] = UNRESERVED | SCHEME | OUTSIDE,
    ['a' ... 'z'] = UNRESERVED | SCHEME | OUTSIDE,
    ['-'] = UNRESERVED | SCHEME | OUTSIDE, ['.'] = UNRESERVED | SCHEME | OUTSIDE,
    ['_'] = UNRESERVED | OUTSIDE, ['~'] = UNRESERVED | OUTSIDE,
    ['+'] = SUB_DELIM | SCHEME | OUTSIDE,
    ['!'] = SUB_DELIM | OUTSIDE, ['$'] = SUB_DELIM | OUTSIDE, ['&'] = SUB_DELIM | OUTSIDE,
    ['\''] = SUB_DELIM | OUTSIDE, ['('] = SUB_DELIM | OUTSIDE, [')'] = SUB_DELIM | OUTSIDE,
    ['*'] = SUB_DELIM | OUTSIDE, [','] = SUB_DELIM | OUTSIDE, [';'] = SUB_DELIM | OUTSIDE,
    ['='] = SUB_DELIM | OUTSIDE,
    [':'] = COLON | OUTSIDE, ['@'] = AT | OUTSIDE, ['/'] = SLASH | OUTSIDE, ['?'] = QUESTION | OUTSIDE,
    ['#'] = HASH | OUTSIDE, ['['] = OUTSIDE, [']'] = OUTSIDE,
    [0x80 ... 0xff] = OUTSIDE,
};

/* U+E000–U+F8FF and the planes 15 and 16 are for private use. */
static bool schema_format_uri_private_use(const uint8_t *b, const uint8_t *end)
{
    if (b[0] == 0xee) return true;
    if (b[0] == 0xef && b + 1 < end) return b[1] < 0xa4;
    return b[0] == 0xf4 || (b[0] == 0xf3 && b + 1 < end && b[1] >= 0xb0);
}

/* The first byte of none of these classes. */
static inline const uint8_t *schema_format_uri_run(const uint8_t *b, const uint8_t *end, unsigned allowed)
{
    while (end - b >= 4 && classes[b[0]] & allowed && classes[b[1]] & allowed && classes[b[2]] & allowed &&
           classes[b[3]] & allowed)
        b += 4;
    while (b < end && classes[*b] & allowed) b++;
    return b;
}

/* All bytes of these classes, percent-encoded, or (wide) beyond ASCII. */
static bool schema_format_uri_all(const uint8_t *b, const uint8_t *end, unsigned allowed, bool wide)
{
    for (;;) {
        b = schema_format_uri_run(b, end, allowed);
        if (b == end) return true;
        if (*b == '%') {
            if (end - b < 3 || !guildhall_is_hexadecimal(b[1]) || !guildhall_is_hexadecimal(b[2])) return false;
            b += 3;
        } else {
            if (*b < 0x80 || !wide || ((allowed & QUESTION) == 0 && schema_format_uri_private_use(b, end))) return false;
            b++;
        }
    }
}

static const uint8_t *schema_format_uri_find(const uint8_t *b, const uint8_t *end, char byte)
{
    const uint8_t *found = b < end ? memchr(b, byte, (size_t)(end - b)) : NULL;
    return found ? found : end;
}

/* "[…]": an IPv6 address, or a later kind: v1.name. */
static bool schema_format_uri_ip_literal(const uint8_t *b, const uint8_t *end)
{
    if (b < end && (*b | 32) == 'v') {
        const uint8_t *dot = schema_format_uri_find(b, end, '.');
        if (dot == end || dot == b + 1 || dot + 1 == end) return false;
        for (const uint8_t *digit = b + 1; digit < dot; digit++) {
            if (!guildhall_is_hexadecimal(*digit)) return false;
        }
        return schema_format_uri_all(dot + 1, end, USER_INFO, false);
    }
    return guildhall_format_ipv6((guildhall_text){b, (size_t)(end - b)});
}

static bool schema_format_uri_authority(const uint8_t *b, const uint8_t *end, bool wide)
{
    const uint8_t *at = schema_format_uri_find(b, end, '@');
    if (at < end) {
        if (!schema_format_uri_all(b, at, USER_INFO, wide)) return false;
        b = at + 1;
    }
    const uint8_t *port = end;
    while (port > b && guildhall_is_digit(port[-1])) port--;
    if (port > b && port[-1] == ':') end = port - 1;
    if (b < end && *b == '[') return end[-1] == ']' && schema_format_uri_ip_literal(b + 1, end - 1);
    return schema_format_uri_all(b, end, REGISTERED_NAME, wide);
}

/* The length of a scheme with its colon; 0 when there is none. */
static size_t schema_format_uri_scheme(const uint8_t *b, const uint8_t *end)
{
    if (b == end || !guildhall_is_letter(*b)) return 0;
    const uint8_t *colon = schema_format_uri_run(b, end, SCHEME);
    return colon < end && *colon == ':' ? (size_t)(colon - b + 1) : 0;
}

static bool schema_format_uri_path(const uint8_t *b, const uint8_t *end, bool wide, bool relative)
{
    /* The first segment of a relative reference would be a scheme with its colon. */
    if (relative && schema_format_uri_find(b, end, ':') < schema_format_uri_find(b, end, '/')) return false;
    return schema_format_uri_all(b, end, PATH, wide);
}

static bool schema_format_uri_reference(guildhall_text text, bool wide, bool absolute)
{
    const uint8_t *b = text.bytes, *end = b + text.length;
    size_t scheme_length = schema_format_uri_scheme(b, end);
    if (absolute && scheme_length == 0) return false;
    const uint8_t *fragment = schema_format_uri_find(b, end, '#');
    if (fragment < end && !schema_format_uri_all(fragment + 1, end, QUERY, wide)) return false;
    const uint8_t *query = schema_format_uri_find(b, fragment, '?');
    if (query < fragment && !schema_format_uri_all(query + 1, fragment, QUERY, wide)) return false;
    b += scheme_length;
    if (query - b >= 2 && b[0] == '/' && b[1] == '/') {
        const uint8_t *slash = schema_format_uri_find(b + 2, query, '/');
        return schema_format_uri_authority(b + 2, slash, wide) && schema_format_uri_all(slash, query, PATH, wide);
    }
    return schema_format_uri_path(b, query, wide, scheme_length == 0);
}

bool guildhall_format_uri(guildhall_text text) { return schema_format_uri_reference(text, false, true); }
bool guildhall_format_uri_reference(guildhall_text text) { return schema_format_uri_reference(text, false, false); }
bool guildhall_format_iri(guildhall_text text) { return schema_format_uri_reference(text, true, true); }
bool guildhall_format_iri_reference(guildhall_text text) { return schema_format_uri_reference(text, true, false); }

/* A variable's name: letters, digits, _, percent-encoded, single dots inside. */
static const uint8_t *schema_format_uri_variable_name(const uint8_t *b, const uint8_t *end)
{
    const uint8_t *start = b;
    bool after_dot = true;
    for (; b < end; b++) {
        if (*b == '%') {
            if (end - b < 3 || !guildhall_is_hexadecimal(b[1]) || !guildhall_is_hexadecimal(b[2])) return NULL;
            b += 2;
        } else if (*b == '.' ? after_dot : !guildhall_is_alphanumeric(*b) && *b != '_') {
            break;
        }
        after_dot = *b == '.';
    }
    return b == start || after_dot ? NULL : b;
}

/* An operator (those reserved for later count), names with * or :length, and commas between them. */
static bool schema_format_uri_expression(const uint8_t *b, const uint8_t *end)
{
    if (b < end && *b != 0 && strchr("+#./;?&=,!@|", *b)) b++;
    for (;;) {
        b = schema_format_uri_variable_name(b, end);
        if (b == NULL) return false;
        if (b < end && *b == '*') {
            b++;
        } else if (b < end && *b == ':') {
            const uint8_t *digits = ++b;
            while (b < end && b - digits < 4 && guildhall_is_digit(*b)) b++;
            if (b == digits || *digits == '0') return false;
        }
        if (b == end) return true;
        if (*b++ != ',') return false;
    }
}

bool guildhall_format_uri_template(guildhall_text text)
{
    const uint8_t *b = text.bytes, *end = b + text.length;
    for (;;) {
        b = schema_format_uri_run(b, end, OUTSIDE);
        if (b == end) return true;
        if (*b == '{') {
            const uint8_t *close = schema_format_uri_find(b, end, '}');
            if (close == end || !schema_format_uri_expression(b + 1, close)) return false;
            b = close + 1;
        } else {
            if (*b != '%' || end - b < 3 || !guildhall_is_hexadecimal(b[1]) || !guildhall_is_hexadecimal(b[2])) return false;
            b += 3;
        }
    }
}
