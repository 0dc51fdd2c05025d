/* The formats that payloads are full of, over bytes. Without Ruby. The others are regular expressions (lib/guildhall/schema/formats.rb). */
#ifndef GUILDHALL_SCHEMA_FORMAT_H
#define GUILDHALL_SCHEMA_FORMAT_H

#include "text.h"

/* The format's number; -1 when this file does not know it. */
int guildhall_format_number(const char *name);
bool guildhall_format_check(int number, guildhall_text text);

#endif
