/* The tape: what a JSON text is made of, eight bytes a value, in the order of the text. Without Ruby.
 *
 * nodes[0] is the root. A container is followed by its children: an array by its elements, an object by key, value,
 * key, value … Each node:
 *
 *   bits 0–3    type
 *   bits 4–31   array: number of elements; object: number of pairs; text and numbers: length in bytes
 *   bits 32–63  array, object: index of the node after its last descendant (its next sibling, if it has one);
 *               text and numbers: offset in the source (of strings: after the opening quote)
 *   INTEGER     bits 4–63: the value itself, signed
 *
 * Strings and long numbers are not copied: they point into the source, which must outlive the tape. Every string is
 * valid UTF-8 (unless the rules allow otherwise), every escape sequence is valid, every number follows RFC 8259, and
 * keys are unique within an object: what the parser returns needs no more checks.
 */
#ifndef GUILDHALL_JSON_TAPE_H
#define GUILDHALL_JSON_TAPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t guildhall_json_node;

typedef enum {
    GUILDHALL_JSON_NULL,
    GUILDHALL_JSON_FALSE,
    GUILDHALL_JSON_TRUE,
    GUILDHALL_JSON_INTEGER,     /* fits 60 bits; see guildhall_json_integer */
    GUILDHALL_JSON_BIG_INTEGER, /* its digits are in the source */
    GUILDHALL_JSON_FLOAT,       /* its digits are in the source; see guildhall_json_double */
    GUILDHALL_JSON_CONSTANT,    /* NaN, Infinity or -Infinity, where the rules allow them */
    GUILDHALL_JSON_ASCII,       /* a string without escapes, all bytes below 0x80 */
    GUILDHALL_JSON_UTF8,        /* a string without escapes, with bytes above 0x7f */
    GUILDHALL_JSON_ESCAPED,     /* a string with escapes: see guildhall_json_unescape */
    GUILDHALL_JSON_ARRAY,
    GUILDHALL_JSON_OBJECT,
    GUILDHALL_JSON_REPEATED     /* an object in which keys occur more than once: only while the text is parsed */
} guildhall_json_type;

/* Longer texts are refused: lengths have 28 bits. */
#define GUILDHALL_JSON_BYTES_LIMIT ((size_t)0x0fffffff)

/* A parsed text: source and tape. */
typedef struct {
    const uint8_t *bytes, *end;
    const guildhall_json_node *nodes;
} guildhall_json_view;

static inline guildhall_json_type guildhall_json_type_of(guildhall_json_node node)
{
    return (guildhall_json_type)(node & 15);
}
static inline int guildhall_json_is_string(guildhall_json_node node)
{
    return (node & 15) >= GUILDHALL_JSON_ASCII && (node & 15) <= GUILDHALL_JSON_ESCAPED;
}
static inline int guildhall_json_is_container(guildhall_json_node node)
{
    return (node & 15) >= GUILDHALL_JSON_ARRAY;
}
/* Elements of an array, pairs of an object, bytes of a string (as written) or number. */
static inline uint32_t guildhall_json_length(guildhall_json_node node) { return (uint32_t)node >> 4; }

/* Offset of a string or number in the source; of a container the index after its last descendant. */
static inline uint32_t guildhall_json_offset(guildhall_json_node node) { return (uint32_t)(node >> 32); }

static inline int64_t guildhall_json_integer(guildhall_json_node node) { return (int64_t)node >> 4; }

/* The bytes of a string or number as they are in the source. */
static inline const uint8_t *guildhall_json_source(guildhall_json_view view, guildhall_json_node node)
{
    return view.bytes + guildhall_json_offset(node);
}
/* The index after the value at `index` and all its descendants: its next sibling, where it has one. The first child
 * of a container is at index + 1. */
static inline uint32_t guildhall_json_next(const guildhall_json_node *nodes, uint32_t index)
{
    return guildhall_json_is_container(nodes[index]) ? guildhall_json_offset(nodes[index]) : index + 1;
}
static inline guildhall_json_node guildhall_json_make(guildhall_json_type type, size_t length, size_t offset)
{
    return (uint64_t)type | (uint64_t)length << 4 | (uint64_t)offset << 32;
}

/* Writes an ESCAPED string's text, never longer than its source; returns its length. */
size_t guildhall_json_unescape(const uint8_t *source, size_t length, uint8_t *out);

/* Is the string (any of the three types) this text? */
int guildhall_json_text_equals(guildhall_json_view view, guildhall_json_node string, const uint8_t *text,
                               size_t length);

/* The index of the value under this key of the object at `object`; 0 when it has no such key. */
uint32_t guildhall_json_find(guildhall_json_view view, uint32_t object, const uint8_t *key, size_t length);

/* The value of a FLOAT or CONSTANT, or of an INTEGER or BIG_INTEGER as a double; correctly rounded. */
double guildhall_json_double(guildhall_json_view view, guildhall_json_node number);

#endif
