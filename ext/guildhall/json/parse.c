/* Memory for a parse, which each native thread keeps; which parser is taken; what its statuses mean. */
#include <stdlib.h>
#include "key_predictor.h"
#include "memory/thread_memory.h"
#include "parse.h"
#include "text/simd.h"

const guildhall_json_rules guildhall_json_strict = {.max_nesting = 100, .max_digits = 10000, .max_decimal_digits = UINT32_MAX, .max_bytes = 64 << 20};

typedef guildhall_json_outcome parser(const uint8_t *, size_t, const guildhall_json_rules *, guildhall_json_scratch *);
parser guildhall_json_parse_base, guildhall_json_parse_portable, guildhall_json_parse_avx2;

#define LEAST_NODES 4096
#define KEPT_NODES ((size_t)1 << 18) /* 2 MiB: texts of up to half a megabyte parse without an allocation */

void guildhall_json_scratch_free(guildhall_json_scratch *scratch)
{
    free(scratch->nodes);
    free(scratch->table);
    memset(scratch, 0, sizeof *scratch);
}

GUILDHALL_THREAD_MEMORY(guildhall_json_scratch, guildhall_json_scratch_current, guildhall_json_scratch_free)

void guildhall_json_scratch_trim(guildhall_json_scratch *scratch)
{
    if (scratch->capacity > KEPT_NODES || scratch->table_capacity > KEPT_NODES) guildhall_json_scratch_free(scratch);
}

/* Room for the nodes and, behind them, the places. A text of n bytes has at most (n + 1) / 2 values, and each container that is still open
 * when an error ends the parse may have cost one byte only. */
static int json_parse_prepare(guildhall_json_scratch *scratch, size_t length, uint32_t max_nesting)
{
    size_t open = max_nesting < length ? max_nesting : length, nodes = length / 2 + open + 4;
    size_t needed = nodes + (open + 2) * (sizeof *scratch->places / sizeof *scratch->nodes);
    if (__builtin_expect(needed > scratch->capacity, 0)) {
        free(scratch->nodes);
        scratch->capacity = needed < LEAST_NODES ? LEAST_NODES : needed;
        scratch->nodes = malloc(scratch->capacity * sizeof *scratch->nodes);
        if (!scratch->nodes) return scratch->capacity = 0, 0;
    }
    scratch->places = (guildhall_json_place *)(scratch->nodes + nodes);
    return 1;
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

guildhall_json_outcome guildhall_json_parse(const uint8_t *bytes, size_t length, const guildhall_json_rules *rules,
                                            guildhall_json_scratch *scratch)
{
    size_t limit = rules->max_bytes < GUILDHALL_JSON_BYTES_LIMIT ? rules->max_bytes : GUILDHALL_JSON_BYTES_LIMIT;
    if (length > limit) return (guildhall_json_outcome){GUILDHALL_JSON_TOO_LONG, limit, 0, 0};
    if (!scratch || !json_parse_prepare(scratch, length, rules->max_nesting)) {
        return (guildhall_json_outcome){GUILDHALL_JSON_NO_MEMORY, 0, 0, 0};
    }
    if (__builtin_expect(!scratch->seed, 0)) json_parse_begin(scratch);
    return json_parse_chosen()(bytes, length, rules, scratch);
}

#define TEXT(name, text) text,

const char *guildhall_json_status_text(guildhall_json_status status)
{
    static const char *const texts[] = {GUILDHALL_JSON_STATUSES(TEXT)};
    return texts[status];
}
