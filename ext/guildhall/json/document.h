/* JSON Documents: a position's offset is the index of a value on the tape, its other fields are 0. */
#ifndef GUILDHALL_JSON_DOCUMENT_H
#define GUILDHALL_JSON_DOCUMENT_H

#include "codec.h"
#include "document/object.h"
#include "tape.h"

extern guildhall_document_format guildhall_json_documents;

static inline guildhall_json_view guildhall_json_view_of(const guildhall_view *view)
{
    return (guildhall_json_view){view->bytes, view->bytes + view->length, view->entries};
}

static inline const guildhall_json_codec *guildhall_json_codec_in(const guildhall_view *view)
{
    return (const guildhall_json_codec *)view->codec;
}

static inline int guildhall_json_document_p(VALUE object) { return guildhall_document_of_format(object, &guildhall_json_documents); }

/* The JSON that the Document was made of, as it was written; NULL where duplicate keys were taken out of it. */
const uint8_t *guildhall_json_document_source(const guildhall_cursor *cursor, size_t *length);

void guildhall_init_json_document(VALUE json);

#endif
