/* Memory for a parse, and which parser this processor takes. */
#include <stdlib.h>
#include <time.h>
#include <guildhall/platform.h>
#include "key_predictor.h"
#include "parse.h"
#include "text/simd.h"
#include "text/utf8.h"

const guildhall_json_rules guildhall_json_strict = {.max_nesting = 100, .max_digits = 10000, .max_decimal_digits = UINT32_MAX, .max_bytes = 64 << 20};

typedef guildhall_json_outcome parser(const uint8_t *, size_t, const guildhall_json_rules *, guildhall_json_scratch *);
parser guildhall_json_parse_base, guildhall_json_parse_portable, guildhall_json_parse_avx2;

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

static uint64_t json_parse_draw_seed(const void *salt)
{
    uint64_t seed = 0;
    if (!guildhall_random_bytes(&seed, sizeof seed)) seed = (uint64_t)(uintptr_t)salt ^ (uint64_t)time(NULL) << 32;
    return seed | 1;
}

/* Slots that no key has come to yet are never looked at, but for the first: the empty key is foreseen at first. */
static void json_parse_begin(guildhall_json_scratch *scratch)
{
    scratch->seed = json_parse_draw_seed(scratch);
    uint64_t print = guildhall_json_fingerprint((const uint8_t *)"", 0, (const uint8_t *)"", scratch->seed);
    uint16_t slot = guildhall_json_note_key(scratch->known, (const uint8_t *)"", 0, print);
    scratch->known[0] = scratch->known[slot];
}

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

/* Digits from `at` on; where they end. */
static const uint8_t *json_parse_skip_digits(const uint8_t *at, const uint8_t *end)
{
    while (at < end && (uint8_t)(*at - '0') < 10) at++;
    return at;
}

#define ENDLESS 1000000000 /* an exponent that no limit allows */

static int64_t json_parse_exponent(const uint8_t *at, const uint8_t *end)
{
    int64_t exponent = 0;
    int negative = *at == '-';
    for (at += negative || *at == '+'; at < end && exponent < ENDLESS; at++) exponent = exponent * 10 + (*at - '0');
    return negative ? -exponent : exponent;
}

uint64_t guildhall_json_written_digits(const uint8_t *text, size_t length)
{
    const uint8_t *end = text + length, *first = text + (length && *text == '-');
    const uint8_t *at = json_parse_skip_digits(first, end);
    int64_t whole = at - first, fraction = 0;
    if (whole == 1 && *first == '0') whole = 0; /* 0.1e3 is 100 */
    if (at < end && *at == '.') {
        first = at + 1;
        at = json_parse_skip_digits(first, end);
        fraction = at - first;
    }
    int64_t shift = at + 1 < end ? json_parse_exponent(at + 1, end) : 0;
    whole += shift;
    fraction -= shift;
    return (uint64_t)(whole > 1 ? whole : 1) + (uint64_t)(fraction > 0 ? fraction : 0);
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
    guildhall_json_outcome outcome = json_parse_chosen()(bytes, length, rules, scratch);
    if (__builtin_expect(rules->symbol_keys && rules->allow_invalid_utf8 && outcome.status == GUILDHALL_JSON_VALID, 0)) {
        json_parse_check_keys((guildhall_json_view){bytes, bytes + length, scratch->nodes}, &outcome);
    }
    return outcome;
}
