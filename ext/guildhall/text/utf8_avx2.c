/* UTF-8, 32 bytes at a time, on processors with AVX2. */
#include "utf8_vectors.h"

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

/* Non-zero bytes where an error is. The others: the bytes one, two and three before each byte of the block. */
WITH_AVX2 static inline __m256i errors(const tables *table, __m256i block, __m256i previous1, __m256i previous2, __m256i previous3)
{
    __m256i first_high = _mm256_shuffle_epi8(table->first_high, _mm256_and_si256(_mm256_srli_epi16(previous1, 4), table->low_half));
    __m256i first_low = _mm256_shuffle_epi8(table->first_low, _mm256_and_si256(previous1, table->low_half));
    __m256i second_high = _mm256_shuffle_epi8(table->second_high, _mm256_and_si256(_mm256_srli_epi16(block, 4), table->low_half));
    __m256i pairs = _mm256_and_si256(_mm256_and_si256(first_high, first_low), second_high);
    __m256i third = _mm256_subs_epu8(previous2, _mm256_set1_epi8(0xE0 - 0x80));
    __m256i fourth = _mm256_subs_epu8(previous3, _mm256_set1_epi8(0xF0 - 0x80));
    __m256i continued = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(continued, pairs);
}

WITH_AVX2 static inline __m256i load(const uint8_t *bytes) { return _mm256_loadu_si256((const __m256i *)bytes); }

/* Of the first block. */
WITH_AVX2 static inline __m256i first_errors(const tables *table, __m256i block)
{
    __m256i across = _mm256_permute2x128_si256(block, block, 0x08); /* zeros, then the lower half */
    return errors(table, block, _mm256_alignr_epi8(block, across, 15), _mm256_alignr_epi8(block, across, 14),
                  _mm256_alignr_epi8(block, across, 13));
}

/* To load the bytes before again costs less than to shift them in. */
WITH_AVX2 static inline __m256i next_errors(const tables *table, const uint8_t *bytes, __m256i block)
{
    return errors(table, block, load(bytes - 1), load(bytes - 2), load(bytes - 3));
}

/* Sequences that a block of ASCII leaves open before it are an error of the block. */
WITH_AVX2 const uint8_t *guildhall_utf8_skip_avx2(const uint8_t *bytes, const uint8_t *end)
{
    const tables table = load_tables();
    const uint8_t *begin = bytes;
    if (end - bytes < 32) return bytes;
    __m256i block = load(bytes), error = first_errors(&table, block);
    if (!_mm256_testz_si256(error, error)) return begin;
    bytes += 32;
    for (; end - bytes >= 64; bytes += 64) { /* two at once: neither waits for the other */
        __m256i first = load(bytes), second = load(bytes + 32);
        if (!_mm256_movemask_epi8(_mm256_or_si256(first, second))) {
            error = _mm256_subs_epu8(load(bytes - 32), table.open_at_end);
        } else {
            error = _mm256_or_si256(next_errors(&table, bytes, first), next_errors(&table, bytes + 32, second));
        }
        if (!_mm256_testz_si256(error, error)) return guildhall_utf8_boundary(begin, bytes);
    }
    if (end - bytes >= 32) {
        error = next_errors(&table, bytes, load(bytes));
        if (_mm256_testz_si256(error, error)) bytes += 32;
    }
    return guildhall_utf8_boundary(begin, bytes);
}

#endif
