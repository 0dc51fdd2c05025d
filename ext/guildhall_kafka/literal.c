/* Whether bytes contain others. Without Ruby. */
#include "reading.h"
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__SSE2__)
/* Of 16 places at once, those where the first and the last byte fit. */
static uint32_t literal_candidates(const uint8_t *at, size_t size, __m128i first, __m128i last)
{
    __m128i begins = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)at), first);
    __m128i ends = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(at + size - 1)), last);
    return (uint32_t)_mm_movemask_epi8(_mm_and_si128(begins, ends));
}
#endif

bool guildhall_contains(const uint8_t *bytes, size_t length, const uint8_t *literal, size_t size)
{
    if (size == 0) return true;
    if (size > length) return false;
    size_t places = length - size + 1, at = 0;
#if defined(__SSE2__)
    const __m128i first = _mm_set1_epi8((char)literal[0]), last = _mm_set1_epi8((char)literal[size - 1]);
    for (; at + 16 <= places; at += 16) {
        for (uint32_t found = literal_candidates(bytes + at, size, first, last); found; found &= found - 1) {
            if (memcmp(bytes + at + __builtin_ctz(found), literal, size) == 0) return true;
        }
    }
#endif
    while (at < places) {
        const uint8_t *found = memchr(bytes + at, literal[0], places - at);
        if (!found) return false;
        if (memcmp(found, literal, size) == 0) return true;
        at = (size_t)(found - bytes) + 1;
    }
    return false;
}
