/* Documents, for those who take them for what they represent. */
#ifndef GUILDHALL_DOCUMENT_PLAIN_H
#define GUILDHALL_DOCUMENT_PLAIN_H

#include <ruby.h>

/* Is it a Document of any format? */
int guildhall_document_p(VALUE object);
/* The Hash or Array that it represents, all the way down. */
VALUE guildhall_document_decoded_value(VALUE document);

static inline VALUE guildhall_document_plain(VALUE object)
{
    if (RB_LIKELY(RB_SPECIAL_CONST_P(object) || RB_BUILTIN_TYPE(object) != T_DATA)) return object;
    return guildhall_document_p(object) ? guildhall_document_decoded_value(object) : object;
}

#endif
