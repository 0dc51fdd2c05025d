/* Addresses: IPv4 in dotted decimals, IPv6 of RFC 4291, host names of RFC 1123, mailboxes of RFC 5321. */
#include "format.h"

/* Four numbers up to 255 without leading zeros. */
bool guildhall_format_ipv4(guildhall_text text)
{
    size_t i = 0;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (i >= text.length || text.bytes[i++] != '.')) return false;
        size_t start = i;
        int number = 0;
        while (i < text.length && i - start < 3 && guildhall_is_digit(text.bytes[i]))
            number = number * 10 + (text.bytes[i++] - '0');
        if (i == start || number > 255 || (i - start > 1 && text.bytes[start] == '0')) return false;
    }
    return i == text.length;
}

/* Up to eight groups; one run of zeros may be "::"; the last two groups may be an IPv4 address. */
bool guildhall_format_ipv6(guildhall_text text)
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
        while (i < text.length && i - start < 5 && guildhall_is_hexadecimal(b[i])) i++;
        if (i < text.length && b[i] == '.') {
            return (groups == 6 || (gap && groups < 6)) &&
                   guildhall_format_ipv4((guildhall_text){b + start, text.length - start});
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
        if (!guildhall_is_alphanumeric(b[i]) && b[i] != '-') return false;
    }
    /* Two hyphens there mark an encoding, of which "xn" is the only one. */
    return length < 4 || b[2] != '-' || b[3] != '-' || ((b[0] | 32) == 'x' && (b[1] | 32) == 'n' && length > 4);
}

bool guildhall_format_hostname(guildhall_text text)
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
    return guildhall_is_alphanumeric(byte) || (byte != 0 && strchr("!#$%&'*+-/=?^_`{|}~", byte));
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
    if (length > 7 && memcmp(b + 1, "IPv6:", 5) == 0) return guildhall_format_ipv6((guildhall_text){b + 6, length - 7});
    return guildhall_format_ipv4((guildhall_text){b + 1, length - 2});
}

bool guildhall_format_email(guildhall_text text)
{
    const uint8_t *b = text.bytes;
    size_t at = text.length;
    while (at > 0 && b[at - 1] != '@') at--;
    if (at-- <= 1) return false;
    if (!schema_format_net_dotted_atoms(b, at) && !schema_format_net_quoted(b, at)) return false;
    guildhall_text domain = {b + at + 1, text.length - at - 1};
    return schema_format_net_address_literal(domain.bytes, domain.length) || guildhall_format_hostname(domain);
}
