/* Memory for a parse, which each native thread keeps; which parser is taken; what its statuses mean. */
#include <stdlib.h>
#include "key_predictor.h"
#include "memory/thread_memory.h"
#include "parse.h"
#include "text/simd.h"
#include "text/utf8.h"

const guildhall_json_rules guildhall_json_strict = {.max_nesting = 100, .max_digits = 10000, .max_decimal_digits = UINT32_MAX, .max_bytes = 64 << 20};

typedef guildhall_json_outcome parser(const uint8_t *, size_t, const guildhall_json_rules *, guildhall_json_scratch *);
parser guildhall_json_parse_base, guildhall_json_parse_portable, guildhall_json_parse_avx2;

#define KEPT_NODES ((size_t)1 << 18) /* 2 MiB: texts of up to half a megabyte parse without an allocation */

void guildhall_json_scratch_free(guildhall_json_scratch *scratch)
{
    free(scratch->nodes);
    free(scratch->table);
    free(scratch->places);
    memset(scratch, 0, sizeof *scratch);
}

GUILDHALL_THREAD_MEMORY(guildhall_json_scratch, guildhall_json_scratch_current, guildhall_json_scratch_free)

void guildhall_json_scratch_trim(guildhall_json_scratch *scratch)
{
    if (scratch->capacity > KEPT_NODES || scratch->table_capacity > KEPT_NODES) guildhall_json_scratch_free(scratch);
}

/* A block of at least `needed` items; what was in it is lost. */
static int json_parse_reserve(void *block, size_t *capacity, size_t needed, size_t item)
{
    if (__builtin_expect(needed <= *capacity, 1)) return 1;
    void *made = malloc(needed * item), *old;
    if (!made) return 0;
    memcpy(&old, block, sizeof old);
    free(old);
    memcpy(block, &made, sizeof made);
    *capacity = needed;
    return 1;
}

/* A text of n bytes has at most (n + 1) / 2 values, and each container that is still open when an error ends the parse
 * may have cost one byte only. */
static int json_parse_prepare(guildhall_json_scratch *scratch, size_t length, uint32_t max_nesting)
{
    size_t open = max_nesting < length ? max_nesting : length, nodes = length / 2 + open + 4;
    return json_parse_reserve(&scratch->nodes, &scratch->capacity, nodes < 4096 ? 4096 : nodes, sizeof *scratch->nodes) &&
           json_parse_reserve(&scratch->places, &scratch->places_capacity, open < 128 ? 128 : open + 2, sizeof *scratch->places);
}

/* Slots that no key has come to yet are never looked at, but for the first: the empty key is foreseen at first. */
static void json_parse_begin(guildhall_json_scratch *scratch)
{
    scratch->seed = guildhall_hash_seed();
    uint64_t print = guildhall_json_fingerprint((const uint8_t *)"", 0, (const uint8_t *)"", scratch->seed);
    uint16_t slot = guildhall_json_note_key(scratch->known, (const uint8_t *)"", 0, print);
    scratch->known[0] = scratch->known[slot];
}

/* With AVX2 long strings are read nearly twice as fast; other texts gain nothing, and lose nothing. */
static parser *json_parse_chosen(void)
{
    switch (guildhall_simd()) {
    case GUILDHALL_SIMD_NONE: return guildhall_json_parse_portable;
#ifdef GUILDHALL_AVX2_FILES
    case GUILDHALL_SIMD_AVX2: return guildhall_json_parse_avx2;
#endif
    default: return guildhall_json_parse_base;
    }
}

/* Where the first key of the object goes wrong, if that is before `error`; else `error`. */
static const uint8_t *json_parse_key_error(guildhall_json_view view, uint32_t object, const uint8_t *error)
{
    uint32_t end = guildhall_json_offset(view.nodes[object]);
    for (uint32_t key = object + 1; key < end; key = guildhall_json_next(view.nodes, key + 1)) {
        const uint8_t *source = guildhall_json_source(view, view.nodes[key]);
        const uint8_t *source_end = source + guildhall_json_length(view.nodes[key]);
        const uint8_t *found = guildhall_utf8_error(source, source_end);
        if (found < source_end && found < error) return found;
    }
    return error;
}

static void json_parse_check_keys(guildhall_json_view view, guildhall_json_outcome *outcome)
{
    const uint8_t *error = view.end;
    for (uint32_t i = 0; i < outcome->count; i++) {
        if (guildhall_json_type_of(view.nodes[i]) == GUILDHALL_JSON_OBJECT) error = json_parse_key_error(view, i, error);
    }
    if (error < view.end) *outcome = (guildhall_json_outcome){GUILDHALL_JSON_INVALID_UTF8, (size_t)(error - view.bytes), 0, 0};
}

guildhall_json_outcome guildhall_json_parse(const uint8_t *bytes, size_t length, const guildhall_json_rules *rules,
                                            guildhall_json_scratch *scratch)
{
    size_t limit = rules->max_bytes < GUILDHALL_JSON_BYTES_LIMIT ? rules->max_bytes : GUILDHALL_JSON_BYTES_LIMIT;
    if (length > limit) return (guildhall_json_outcome){GUILDHALL_JSON_TOO_LONG, limit, 0, 0};
    if (!scratch || !json_parse_prepare(scratch, length, rules->max_nesting)) {
        return (guildhall_json_outcome){GUILDHALL_JSON_NO_MEMORY, 0, 0, 0};
    }
    if (__builtin_expect(!scratch->seed, 0)) json_parse_begin(scratch);
    parser *chosen = json_parse_chosen();
    guildhall_json_outcome outcome = chosen(bytes, length, rules, scratch);
    if (__builtin_expect(rules->symbol_keys && rules->allow_invalid_utf8 && outcome.status == GUILDHALL_JSON_VALID, 0)) {
        json_parse_check_keys((guildhall_json_view){bytes, bytes + length, scratch->nodes}, &outcome);
    }
    return outcome;
}

const char *guildhall_json_status_text(guildhall_json_status status)
{
    switch (status) {
    case GUILDHALL_JSON_VALID: return "valid";
    case GUILDHALL_JSON_EMPTY: return "the input is empty";
    case GUILDHALL_JSON_UNEXPECTED_END: return "unexpected end of input";
    case GUILDHALL_JSON_UNEXPECTED: return "unexpected character";
    case GUILDHALL_JSON_AFTER_END: return "unexpected character after the document";
    case GUILDHALL_JSON_EXPECTED_KEY: return "expected an object key in double quotes";
    case GUILDHALL_JSON_EXPECTED_COLON: return "expected ':' after the object key";
    case GUILDHALL_JSON_EXPECTED_COMMA_OR_BRACKET: return "expected ',' or ']' after an array element";
    case GUILDHALL_JSON_EXPECTED_COMMA_OR_BRACE: return "expected ',' or '}' after an object value";
    case GUILDHALL_JSON_BAD_NUMBER: return "invalid number";
    case GUILDHALL_JSON_TOO_MANY_DIGITS: return "a number that has, written out, more digits than max_digits";
    case GUILDHALL_JSON_NAN: return "NaN and Infinity are not JSON (allow_nan: true accepts them)";
    case GUILDHALL_JSON_OPEN_STRING: return "unexpected end of input inside a string";
    case GUILDHALL_JSON_CONTROL_CHARACTER: return "control character inside a string";
    case GUILDHALL_JSON_BAD_ESCAPE: return "invalid escape sequence";
    case GUILDHALL_JSON_BAD_UNICODE_ESCAPE: return "invalid \\u escape";
    case GUILDHALL_JSON_LONE_SURROGATE: return "\\u escape of half a surrogate pair";
    case GUILDHALL_JSON_INVALID_UTF8: return "invalid UTF-8 (allow_invalid_utf8: true accepts it)";
    case GUILDHALL_JSON_DUPLICATE_KEY: return "duplicate key (allow_duplicate_key: true accepts it)";
    case GUILDHALL_JSON_TOO_DEEP: return "nested deeper than max_nesting";
    case GUILDHALL_JSON_TOO_LONG: return "longer than max_bytes";
    case GUILDHALL_JSON_NO_MEMORY: return "out of memory";
    }
    return "unknown status";
}
