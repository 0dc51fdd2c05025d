/* The formats that payloads are full of, over bytes. ASCII alone, whatever the locale says. */
#include "format.h"

static bool schema_format_is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }
static bool schema_format_is_letter(uint8_t byte) { return (uint8_t)((byte | 32) - 'a') < 26; }
static bool schema_format_is_alphanumeric(uint8_t byte) { return schema_format_is_digit(byte) || schema_format_is_letter(byte); }
static bool schema_format_is_hexadecimal(uint8_t byte) { return schema_format_is_digit(byte) || (uint8_t)((byte | 32) - 'a') < 6; }

/* ---- date, time and date-time of RFC 3339 */

/* `count` digits as a number; -1 when there are fewer. */
static int schema_format_time_digits(const uint8_t *bytes, size_t left, size_t count)
{
    int number = 0;
    if (left < count) return -1;
    for (size_t i = 0; i < count; i++) {
        if (!schema_format_is_digit(bytes[i])) return -1;
        number = number * 10 + (bytes[i] - '0');
    }
    return number;
}

static int schema_format_time_days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool schema_format_date(guildhall_text text)
{
    const uint8_t *b = text.bytes;
    if (text.length != 10 || b[4] != '-' || b[7] != '-') return false;
    int year = schema_format_time_digits(b, 4, 4), month = schema_format_time_digits(b + 5, 2, 2), day = schema_format_time_digits(b + 8, 2, 2);
    return year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= schema_format_time_days_in(year, month);
}

/* Minutes that a zone adds to UTC: "Z", "+01:30"; false when the text is not a zone. */
static bool schema_format_time_zone(const uint8_t *b, size_t left, int *minutes)
{
    *minutes = 0;
    if (left == 1 && (b[0] | 32) == 'z') return true;
    if (left != 6 || (b[0] != '+' && b[0] != '-') || b[3] != ':') return false;
    int hour = schema_format_time_digits(b + 1, 2, 2), minute = schema_format_time_digits(b + 4, 2, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
    *minutes = (hour * 60 + minute) * (b[0] == '-' ? -1 : 1);
    return true;
}

/* A leap second comes in the last minute of a day of UTC only. */
static bool schema_format_time_leap_second(int hour, int minute, int zone_minutes)
{
    int utc = (hour * 60 + minute - zone_minutes) % 1440;
    return (utc + 1440) % 1440 == 23 * 60 + 59;
}

static bool schema_format_time(guildhall_text text)
{
    const uint8_t *b = text.bytes;
    if (text.length < 9 || b[2] != ':' || b[5] != ':') return false;
    int hour = schema_format_time_digits(b, 2, 2), minute = schema_format_time_digits(b + 3, 2, 2), second = schema_format_time_digits(b + 6, 2, 2);
    int minutes;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
    size_t i = 8;
    if (b[i] == '.') {
        size_t point = i++;
        while (i < text.length && schema_format_is_digit(b[i])) i++;
        if (i == point + 1) return false;
    }
    if (!schema_format_time_zone(b + i, text.length - i, &minutes)) return false;
    return second < 60 || schema_format_time_leap_second(hour, minute, minutes);
}

static bool schema_format_date_time(guildhall_text text)
{
    if (text.length < 11 || (text.bytes[10] | 32) != 't') return false;
    return schema_format_date((guildhall_text){text.bytes, 10}) &&
           schema_format_time((guildhall_text){text.bytes + 11, text.length - 11});
}

/* ---- addresses: IPv4 in dotted decimals, IPv6 of RFC 4291, host names of RFC 1123, mailboxes of RFC 5321 */

/* Four numbers up to 255 without leading zeros. */
static bool schema_format_ipv4(guildhall_text text)
{
    size_t i = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (i >= text.length || text.bytes[i++] != '.')) return false;
        size_t start = i;
        int number = 0;
        while (i < text.length && i - start < 3 && schema_format_is_digit(text.bytes[i]))
            number = number * 10 + (text.bytes[i++] - '0');
        if (i == start || number > 255 || (i - start > 1 && text.bytes[start] == '0')) return false;
    }
    return i == text.length;
}

/* Up to eight groups; one run of zeros may be "::"; the last two groups may be an IPv4 address. */
static bool schema_format_ipv6(guildhall_text text)
{
    const uint8_t *b = text.bytes;
    size_t i = 0, groups = 0;
    bool gap = false;
    if (text.length >= 2 && b[0] == ':' && b[1] == ':') {
        gap = true;
        i = 2;
        if (i == text.length) return true;
    }
    for (;;) {
        size_t start = i;
        while (i < text.length && i - start < 5 && schema_format_is_hexadecimal(b[i])) i++;
        if (i < text.length && b[i] == '.') {
            return (groups == 6 || (gap && groups < 6)) && schema_format_ipv4((guildhall_text){b + start, text.length - start});
        }
        if (i == start || i - start > 4) return false;
        groups++;
        if (i == text.length) return gap ? groups < 8 : groups == 8;
        if (b[i++] != ':' || groups == 8) return false;
        if (i < text.length && b[i] == ':') {
            if (gap) return false;
            gap = true;
            if (++i == text.length) return groups < 8;
        }
    }
}

static bool schema_format_net_label(const uint8_t *b, size_t length)
{
    if (length == 0 || length > 63 || b[0] == '-' || b[length - 1] == '-') return false;
    for (size_t i = 0; i < length; i++) {
        if (!schema_format_is_alphanumeric(b[i]) && b[i] != '-') return false;
    }
    /* Two hyphens there mark an encoding, of which "xn" is the only one. */
    return length < 4 || b[2] != '-' || b[3] != '-' || ((b[0] | 32) == 'x' && (b[1] | 32) == 'n' && length > 4);
}

static bool schema_format_hostname(guildhall_text text)
{
    const uint8_t *start = text.bytes, *end = start + text.length, *dot;
    if (text.length > 253) return false;
    for (; (dot = memchr(start, '.', (size_t)(end - start))); start = dot + 1) {
        if (!schema_format_net_label(start, (size_t)(dot - start))) return false;
    }
    return schema_format_net_label(start, (size_t)(end - start));
}

static bool schema_format_net_atom_byte(uint8_t byte)
{
    return schema_format_is_alphanumeric(byte) || (byte != 0 && strchr("!#$%&'*+-/=?^_`{|}~", byte));
}

/* Atoms with single dots between them. */
static bool schema_format_net_dotted_atoms(const uint8_t *b, size_t length)
{
    bool after_dot = true;
    for (size_t i = 0; i < length; i++) {
        if (b[i] == '.' ? after_dot : !schema_format_net_atom_byte(b[i])) return false;
        after_dot = b[i] == '.';
    }
    return !after_dot;
}

static bool schema_format_net_quoted(const uint8_t *b, size_t length)
{
    if (length < 2 || b[0] != '"' || b[length - 1] != '"') return false;
    for (size_t i = 1; i < length - 1; i++) {
        if (b[i] == '"' || (b[i] == '\\' && ++i == length - 1)) return false;
        if (b[i] < 32 || b[i] > 126) return false;
    }
    return true;
}

static bool schema_format_net_address_literal(const uint8_t *b, size_t length)
{
    if (length < 2 || b[0] != '[' || b[length - 1] != ']') return false;
    if (length > 7 && memcmp(b + 1, "IPv6:", 5) == 0) return schema_format_ipv6((guildhall_text){b + 6, length - 7});
    return schema_format_ipv4((guildhall_text){b + 1, length - 2});
}

static bool schema_format_email(guildhall_text text)
{
    const uint8_t *b = text.bytes;
    size_t at = text.length;
    while (at > 0 && b[at - 1] != '@') at--;
    if (at-- <= 1) return false;
    if (!schema_format_net_dotted_atoms(b, at) && !schema_format_net_quoted(b, at)) return false;
    guildhall_text domain = {b + at + 1, text.length - at - 1};
    return schema_format_net_address_literal(domain.bytes, domain.length) || schema_format_hostname(domain);
}

/* ---- URIs of RFC 3986, IRIs of RFC 3987 (everything beyond ASCII that is not private use), templates of RFC 6570 */

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
    ['*'] = SUB_DELIM | OUTSIDE, [','] = SUB_DELIM | OUTSIDE, [';'] = SUB_DELIM | OUTSIDE, ['='] = SUB_DELIM | OUTSIDE,
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

static bool schema_format_uri_percent(const uint8_t *b, const uint8_t *end)
{
    return *b == '%' && end - b >= 3 && schema_format_is_hexadecimal(b[1]) && schema_format_is_hexadecimal(b[2]);
}

/* All bytes of these classes, percent-encoded, or (wide) beyond ASCII. */
static bool schema_format_uri_all(const uint8_t *b, const uint8_t *end, unsigned allowed, bool wide)
{
    for (;;) {
        b = schema_format_uri_run(b, end, allowed);
        if (b == end) return true;
        if (schema_format_uri_percent(b, end)) {
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
            if (!schema_format_is_hexadecimal(*digit)) return false;
        }
        return schema_format_uri_all(dot + 1, end, USER_INFO, false);
    }
    return schema_format_ipv6((guildhall_text){b, (size_t)(end - b)});
}

static bool schema_format_uri_authority(const uint8_t *b, const uint8_t *end, bool wide)
{
    const uint8_t *at = schema_format_uri_find(b, end, '@');
    if (at < end) {
        if (!schema_format_uri_all(b, at, USER_INFO, wide)) return false;
        b = at + 1;
    }
    const uint8_t *port = end;
    while (port > b && schema_format_is_digit(port[-1])) port--;
    if (port > b && port[-1] == ':') end = port - 1;
    if (b < end && *b == '[') return end[-1] == ']' && schema_format_uri_ip_literal(b + 1, end - 1);
    return schema_format_uri_all(b, end, REGISTERED_NAME, wide);
}

/* The length of a scheme with its colon; 0 when there is none. */
static size_t schema_format_uri_scheme(const uint8_t *b, const uint8_t *end)
{
    if (b == end || !schema_format_is_letter(*b)) return 0;
    const uint8_t *colon = schema_format_uri_run(b, end, SCHEME);
    return colon < end && *colon == ':' ? (size_t)(colon - b + 1) : 0;
}

static bool schema_format_any_uri(guildhall_text text, bool wide, bool absolute)
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
    /* The first segment of a relative reference would be a scheme with its colon. */
    if (scheme_length == 0 && schema_format_uri_find(b, query, ':') < schema_format_uri_find(b, query, '/')) return false;
    return schema_format_uri_all(b, query, PATH, wide);
}

static bool schema_format_uri(guildhall_text text) { return schema_format_any_uri(text, false, true); }
static bool schema_format_uri_reference(guildhall_text text) { return schema_format_any_uri(text, false, false); }
static bool schema_format_iri(guildhall_text text) { return schema_format_any_uri(text, true, true); }
static bool schema_format_iri_reference(guildhall_text text) { return schema_format_any_uri(text, true, false); }

/* A variable's name: letters, digits, _, percent-encoded, single dots inside. */
static const uint8_t *schema_format_uri_variable_name(const uint8_t *b, const uint8_t *end)
{
    const uint8_t *start = b;
    bool after_dot = true;
    for (; b < end; b++) {
        if (*b == '%') {
            if (!schema_format_uri_percent(b, end)) return NULL;
            b += 2;
        } else if (*b == '.' ? after_dot : !schema_format_is_alphanumeric(*b) && *b != '_') {
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
            while (b < end && b - digits < 4 && schema_format_is_digit(*b)) b++;
            if (b == digits || *digits == '0') return false;
        }
        if (b == end) return true;
        if (*b++ != ',') return false;
    }
}

static bool schema_format_uri_template(guildhall_text text)
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
            if (!schema_format_uri_percent(b, end)) return false;
            b += 3;
        }
    }
}

static bool schema_format_uuid(guildhall_text text)
{
    if (text.length != 36) return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text.bytes[i] != '-' : !schema_format_is_hexadecimal(text.bytes[i])) return false;
    }
    return true;
}

/* ---- all of them */

static const struct {
    const char *name;
    bool (*check)(guildhall_text text);
} formats[] = {
    {"date", schema_format_date},
    {"time", schema_format_time},
    {"date-time", schema_format_date_time},
    {"ipv4", schema_format_ipv4},
    {"ipv6", schema_format_ipv6},
    {"hostname", schema_format_hostname},
    {"email", schema_format_email},
    {"uri", schema_format_uri},
    {"uri-reference", schema_format_uri_reference},
    {"iri", schema_format_iri},
    {"iri-reference", schema_format_iri_reference},
    {"uri-template", schema_format_uri_template},
    {"uuid", schema_format_uuid},
};

int guildhall_format_number(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, name) == 0) return (int)i;
    }
    return -1;
}

bool guildhall_format_check(int number, guildhall_text text) { return formats[number].check(text); }
