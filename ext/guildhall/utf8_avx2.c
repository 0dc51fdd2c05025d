/* UTF-8, 32 bytes at a time, on processors with AVX2. */
#include "utf8_blocks.h"

#ifdef GUILDHALL_AVX2
#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2")))

typedef struct {
    __m256i first_high, first_low, second_high, low_half, open_at_end;
} tables;

WITH_AVX2 static inline __m256i twice(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
}

WITH_AVX2 static inline tables load_tables(void)
{
    static const uint8_t first_high[16] = {FIRST_HIGH}, first_low[16] = {FIRST_LOW}, second_high[16] = {SECOND_HIGH};
    return (tables){
        twice(first_high), twice(first_low), twice(second_high), _mm256_set1_epi8(0x0f),
        /* only a lead byte that needs more than the block has left is above these */
        _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                         -1, -1, -1, -1, -1, -1, (char)0xEF, (char)0xDF, (char)0xBF)};
}

/* Non-zero bytes where a fault is. */
WITH_AVX2 static inline __m256i faults(const tables *table, __m256i block, __m256i before)
{
    __m256i across = _mm256_permute2x128_si256(before, block, 0x21);
    __m256i previous1 = _mm256_alignr_epi8(block, across, 15), previous2 = _mm256_alignr_epi8(block, across, 14),
            previous3 = _mm256_alignr_epi8(block, across, 13);
    __m256i first_high = _mm256_shuffle_epi8(table->first_high, _mm256_and_si256(_mm256_srli_epi16(previous1, 4), table->low_half));
    __m256i first_low = _mm256_shuffle_epi8(table->first_low, _mm256_and_si256(previous1, table->low_half));
    __m256i second_high = _mm256_shuffle_epi8(table->second_high, _mm256_and_si256(_mm256_srli_epi16(block, 4), table->low_half));
    __m256i pairs = _mm256_and_si256(_mm256_and_si256(first_high, first_low), second_high);
    __m256i third = _mm256_subs_epu8(previous2, _mm256_set1_epi8(0xE0 - 0x80));
    __m256i fourth = _mm256_subs_epu8(previous3, _mm256_set1_epi8(0xF0 - 0x80));
    __m256i continued = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(continued, pairs);
}

WITH_AVX2 const uint8_t *guildhall_utf8_skip_avx2(const uint8_t *bytes, const uint8_t *end)
{
    const tables table = load_tables();
    const uint8_t *begin = bytes;
    __m256i before = _mm256_setzero_si256(), open = _mm256_setzero_si256();
    for (; end - bytes >= 32; bytes += 32) {
        __m256i block = _mm256_loadu_si256((const __m256i *)bytes), fault;
        if (_mm256_movemask_epi8(block) == 0) { /* ASCII */
            fault = open;
            open = _mm256_setzero_si256();
        } else {
            fault = faults(&table, block, before);
            open = _mm256_subs_epu8(block, table.open_at_end);
        }
        if (!_mm256_testz_si256(fault, fault)) break;
        before = block;
    }
    return guildhall_utf8_boundary(begin, bytes);
}

#endif
