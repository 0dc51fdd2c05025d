/* UTF-8, 16 bytes at a time, on 64-bit ARM. */
#include "utf8_vectors.h"

#ifdef GUILDHALL_UTF8_NEON
#include <arm_neon.h>

static inline uint8x16_t utf8_neon_errors(uint8x16_t block, uint8x16_t before)
{
    static const uint8_t high[16] = {FIRST_HIGH}, low[16] = {FIRST_LOW}, second[16] = {SECOND_HIGH};
    uint8x16_t previous1 = vextq_u8(before, block, 15), previous2 = vextq_u8(before, block, 14),
               previous3 = vextq_u8(before, block, 13);
    uint8x16_t pairs = vandq_u8(vandq_u8(vqtbl1q_u8(vld1q_u8(high), vshrq_n_u8(previous1, 4)),
                                         vqtbl1q_u8(vld1q_u8(low), vandq_u8(previous1, vdupq_n_u8(0x0f)))),
                                vqtbl1q_u8(vld1q_u8(second), vshrq_n_u8(block, 4)));
    uint8x16_t third = vqsubq_u8(previous2, vdupq_n_u8(0xE0 - 0x80));
    uint8x16_t fourth = vqsubq_u8(previous3, vdupq_n_u8(0xF0 - 0x80));
    return veorq_u8(vandq_u8(vorrq_u8(third, fourth), vdupq_n_u8(0x80)), pairs);
}

const uint8_t *guildhall_utf8_skip_neon(const uint8_t *bytes, const uint8_t *end)
{
    const uint8_t *begin = bytes;
    uint8x16_t before = vdupq_n_u8(0);
    for (; end - bytes >= 16; bytes += 16) {
        uint8x16_t block = vld1q_u8(bytes);
        if (vmaxvq_u8(utf8_neon_errors(block, before))) break;
        before = block;
    }
    return guildhall_utf8_boundary(begin, bytes);
}

#endif
