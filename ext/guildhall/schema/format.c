#include "format.h"

static const struct {
    const char *name;
    guildhall_format *check;
} formats[] = {
    {"date", guildhall_format_date},
    {"time", guildhall_format_time},
    {"date-time", guildhall_format_date_time},
    {"duration", guildhall_format_duration},
    {"ipv4", guildhall_format_ipv4},
    {"ipv6", guildhall_format_ipv6},
    {"hostname", guildhall_format_hostname},
    {"idn-hostname", guildhall_format_idn_hostname},
    {"email", guildhall_format_email},
    {"idn-email", guildhall_format_idn_email},
    {"uri", guildhall_format_uri},
    {"uri-reference", guildhall_format_uri_reference},
    {"iri", guildhall_format_iri},
    {"iri-reference", guildhall_format_iri_reference},
    {"uri-template", guildhall_format_uri_template},
    {"uuid", guildhall_format_uuid},
    {"json-pointer", guildhall_format_json_pointer},
    {"relative-json-pointer", guildhall_format_relative_json_pointer},
};

int guildhall_format_number(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i].name, name) == 0) return (int)i;
    }
    return -1;
}

bool guildhall_format_check(int number, guildhall_text text)
{
    return formats[number].check(text);
}

bool guildhall_format_uuid(guildhall_text text)
{
    if (text.length != 36) return false;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text.bytes[i] != '-' : !guildhall_is_hexadecimal(text.bytes[i])) return false;
    }
    return true;
}

/* "" or "/…": each ~ is followed by 0 or 1 (RFC 6901). */
bool guildhall_format_json_pointer(guildhall_text text)
{
    if (text.length > 0 && text.bytes[0] != '/') return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.bytes[i] != '~') continue;
        if (i + 1 == text.length || (text.bytes[i + 1] != '0' && text.bytes[i + 1] != '1')) return false;
    }
    return true;
}

/* How many levels up, then a pointer, or # for the name there. */
bool guildhall_format_relative_json_pointer(guildhall_text text)
{
    size_t i = 0;
    while (i < text.length && guildhall_is_digit(text.bytes[i])) i++;
    if (i == 0 || (i > 1 && text.bytes[0] == '0')) return false;
    if (i + 1 == text.length && text.bytes[i] == '#') return true;
    return guildhall_format_json_pointer((guildhall_text){text.bytes + i, text.length - i});
}
