/* The formats that payloads are full of, over bytes. Without Ruby. The others are regular expressions (lib/guildhall/schema/formats.rb). */
#ifndef GUILDHALL_SCHEMA_FORMAT_H
#define GUILDHALL_SCHEMA_FORMAT_H

#include "text.h"

typedef bool guildhall_format(guildhall_text text);

/* @return the format's number; -1 when this file does not know it */
int guildhall_format_number(const char *name);
bool guildhall_format_check(int number, guildhall_text text);

/* format_time.c */
guildhall_format guildhall_format_date, guildhall_format_time, guildhall_format_date_time;
/* format_net.c */
guildhall_format guildhall_format_ipv4, guildhall_format_ipv6, guildhall_format_hostname, guildhall_format_email;
/* format_uri.c */
guildhall_format guildhall_format_uri, guildhall_format_uri_reference, guildhall_format_iri,
    guildhall_format_iri_reference, guildhall_format_uri_template;
/* format.c */
guildhall_format guildhall_format_uuid;

/* ASCII alone, whatever the locale says. */
static inline bool guildhall_is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }
static inline bool guildhall_is_letter(uint8_t byte) { return (uint8_t)((byte | 32) - 'a') < 26; }
static inline bool guildhall_is_alphanumeric(uint8_t byte)
{
    return guildhall_is_digit(byte) || guildhall_is_letter(byte);
}
static inline bool guildhall_is_hexadecimal(uint8_t byte)
{
    return guildhall_is_digit(byte) || (uint8_t)((byte | 32) - 'a') < 6;
}

#endif
