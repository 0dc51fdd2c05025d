/* Memory for a parse, and which parser this processor takes. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "../simd.h"
#include "json_parse.h"

const guildhall_json_rules guildhall_json_strict = {.max_nesting = 100, .max_digits = 10000, .max_bytes = 64 << 20};

typedef guildhall_json_outcome parser(const uint8_t *, size_t, const guildhall_json_rules *, guildhall_json_scratch *);
parser guildhall_json_parse_base, guildhall_json_parse_portable, guildhall_json_parse_avx2;

/* A block of at least `needed` items; what was in it is lost. */
static int reserve(void *block, size_t *capacity, size_t needed, size_t item)
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

/* A text of n bytes has at most (n + 1) / 2 values, and each container that is still open when a fault ends the parse
 * may have cost one byte only. */
static int prepare(guildhall_json_scratch *scratch, size_t length, uint32_t max_nesting)
{
    size_t open = max_nesting < length ? max_nesting : length, nodes = length / 2 + open + 4;
    return reserve(&scratch->nodes, &scratch->capacity, nodes < 4096 ? 4096 : nodes, sizeof *scratch->nodes) &&
           reserve(&scratch->places, &scratch->places_capacity, open < 128 ? 128 : open + 2, sizeof *scratch->places);
}

static uint64_t draw_seed(const void *salt)
{
    uint64_t seed = 0;
    if (getentropy(&seed, sizeof seed) != 0) seed = (uint64_t)(uintptr_t)salt ^ (uint64_t)time(NULL) << 32;
    return seed | 1;
}


static parser *chosen(void)
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
    if (!scratch || !prepare(scratch, length, rules->max_nesting)) {
        return (guildhall_json_outcome){GUILDHALL_JSON_NO_MEMORY, 0, 0, 0};
    }
    if (__builtin_expect(!scratch->seed, 0)) scratch->seed = draw_seed(scratch);
    return chosen()(bytes, length, rules, scratch);
}
