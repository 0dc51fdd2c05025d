/* Makes a tape of a JSON text. Without Ruby, from any thread; never reads past the end; needs no terminator. */
#ifndef GUILDHALL_JSON_PARSE_H
#define GUILDHALL_JSON_PARSE_H

#include "tape.h"

/* What is accepted beyond RFC 8259, and how much of it. */
typedef struct {
    uint32_t max_nesting;       /* non-empty containers inside each other */
    uint32_t max_digits;        /* of an integer: to make a number of them takes more than linear time */
    uint32_t max_decimal_digits; /* of a number with a fraction or an exponent, written out; UINT32_MAX: any, they become doubles */
    size_t max_bytes;           /* of the text; at most GUILDHALL_JSON_BYTES_LIMIT */
    unsigned allow_nan : 1;            /* NaN, Infinity, -Infinity */
    unsigned allow_duplicate_key : 1;  /* the last of equal keys counts, in the place of the first */
    unsigned allow_invalid_utf8 : 1;   /* strings are taken as they are; type UTF8 then means unchecked */
    unsigned allow_trailing_comma : 1; /* one comma before a closing bracket */
    unsigned allow_control_characters : 1; /* unescaped ones in strings */
    unsigned symbol_keys : 1;          /* keys are valid UTF-8 even so: there are no other Symbols */
} guildhall_json_rules;

extern const guildhall_json_rules guildhall_json_strict;

/* What can come of a parse, in words that end a sentence's beginning: "at byte 12: expected a key". */
#define GUILDHALL_JSON_STATUSES(X) \
    X(VALID, "valid") \
    X(EMPTY, "the input is empty") \
    X(UNEXPECTED_END, "unexpected end of input") \
    X(UNEXPECTED, "unexpected character") \
    X(AFTER_END, "unexpected character after the document") \
    X(EXPECTED_KEY, "expected an object key in double quotes") \
    X(EXPECTED_COLON, "expected ':' after the object key") \
    X(EXPECTED_COMMA_OR_BRACKET, "expected ',' or ']' after an array element") \
    X(EXPECTED_COMMA_OR_BRACE, "expected ',' or '}' after an object value") \
    X(BAD_NUMBER, "invalid number") \
    X(TOO_MANY_DIGITS, "a number that has, written out, more digits than max_digits") \
    X(NAN, "NaN and Infinity are not JSON (allow_nan: true accepts them)") \
    X(OPEN_STRING, "unexpected end of input inside a string") \
    X(CONTROL_CHARACTER, "control character inside a string") \
    X(BAD_ESCAPE, "invalid escape sequence") \
    X(BAD_UNICODE_ESCAPE, "invalid \\u escape") \
    X(LONE_SURROGATE, "\\u escape of half a surrogate pair") \
    X(INVALID_UTF8, "invalid UTF-8 (allow_invalid_utf8: true accepts it)") \
    X(DUPLICATE_KEY, "duplicate key (allow_duplicate_key: true accepts it)") \
    X(TOO_DEEP, "nested deeper than max_nesting") \
    X(TOO_LONG, "longer than max_bytes") \
    X(NO_MEMORY, "out of memory")

#define GUILDHALL_JSON_STATUS(name, text) GUILDHALL_JSON_##name,
typedef enum { GUILDHALL_JSON_STATUSES(GUILDHALL_JSON_STATUS) } guildhall_json_status;

const char *guildhall_json_status_text(guildhall_json_status status);

#define GUILDHALL_JSON_REMEMBERED 512

#define GUILDHALL_JSON_KNOWN_BYTES 32
#define GUILDHALL_JSON_KNOWN_BITS 11 /* 2^11 known keys: webhooks of all kinds have several hundred */
#define GUILDHALL_JSON_CUE_BITS 14

/* See key_predictor.h. */
typedef struct {
    uint8_t bytes[GUILDHALL_JSON_KNOWN_BYTES]; /* the key as it stood in the text: with its quotes and the colon */
    uint64_t print;                            /* its fingerprint */
    uint32_t mask;                             /* which of the bytes count */
    uint32_t span;                             /* how many do */
    uint32_t node;                             /* on the tape, but for the offset */
} guildhall_json_known_key;

/* What the parser comes back to when it leaves a container. */
typedef struct {
    uint64_t print; /* the fingerprint of the keys so far of the object around it */
    uint64_t cue;   /* what the next key there is foreseen by */
} guildhall_json_place;

/* Memory for parsing, kept between texts; owned by one thread at a time. All zero at first. */
typedef struct {
    guildhall_json_node *nodes;
    size_t capacity; /* of nodes and places, in nodes */
    uint32_t *table; /* for finding duplicate keys */
    size_t table_capacity;
    uint64_t seed;   /* of the hash of keys; 0: not drawn yet */
    guildhall_json_place *places; /* by depth */
    uint64_t unique[GUILDHALL_JSON_REMEMBERED]; /* fingerprints of lists of keys that are unique */
    guildhall_json_known_key known[1 << GUILDHALL_JSON_KNOWN_BITS];
    uint16_t foreseen[1 << GUILDHALL_JSON_CUE_BITS]; /* the slot of the key that came last time */
    uint32_t missed, blind, pause; /* keys not foreseen in this window; still to be read without foreseeing; how many that were last time */
    size_t passed;                 /* nodes in this window, but for those of the text at hand */
} guildhall_json_scratch;

void guildhall_json_scratch_free(guildhall_json_scratch *scratch);

/* The scratch of the calling native thread, freed with it; NULL when there is no memory. What it holds is valid until
 * the next parse on this thread. */
guildhall_json_scratch *guildhall_json_scratch_current(void);

/* Gives back the memory that an unusually large text needed. */
void guildhall_json_scratch_trim(guildhall_json_scratch *scratch);

typedef struct {
    guildhall_json_status status;
    size_t error_offset; /* in bytes, unless VALID */
    size_t count; /* nodes in scratch->nodes, when VALID */
    int deduplicated; /* pairs that are in the text are not on the tape */
} guildhall_json_outcome;

/* Digits of a number in JSON when it is written out, without an exponent. */
uint64_t guildhall_json_written_digits(const uint8_t *text, size_t length);

guildhall_json_outcome guildhall_json_parse(const uint8_t *bytes, size_t length, const guildhall_json_rules *rules,
                                            guildhall_json_scratch *scratch);

#endif
