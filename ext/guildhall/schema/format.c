#include "format.h"

static const struct {
    const char *name;
    guildhall_format *check;
} formats[] = {
    {"date", guildhall_format_date},
    {"time", guildhall_format_time},
    {"date-time", guildhall_format_date_time},
    {"ipv4", guildhall_format_ipv4},
    {"ipv6", guildhall_format_ipv6},
    {"hostname", guildhall_format_hostname},
    {"email", guildhall_format_email},
    {"uri", guildhall_format_uri},
    {"uri-reference", guildhall_format_uri_reference},
    {"iri", guildhall_format_iri},
    {"iri-reference", guildhall_format_iri_reference},
    {"uri-template", guildhall_format_uri_template},
    {"uuid", guildhall_format_uuid},
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
