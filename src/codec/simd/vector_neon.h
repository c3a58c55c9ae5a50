/* Vectors of 16 bytes with NEON, which every 64-bit ARM CPU has. NEON cannot gather one bit of each
 * byte, but narrow bytes of all ones or all zeros to four bits, so its masks have four bits per
 * byte. */
#ifndef UVH_CODEC_SIMD_VECTOR_NEON_H
#define UVH_CODEC_SIMD_VECTOR_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "codec/text/chars.h"

enum { UVH_VECTOR_SIZE = 16, UVH_VECTOR_BITS = 4 };

typedef uint8x16_t uvh_vector;

static UVH_ALWAYS_INLINE uvh_vector uvh_vector_load(const char *p)
{
    return vld1q_u8((const uint8_t *)p);
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_mask(uint8x16_t matches)
{
    /* Of each two bytes in 16 bits, keeps the lower nibble of the first and the upper nibble of the
     * second. */
    uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(matches), 4);
    return vget_lane_u64(vreinterpret_u64_u8(halves), 0);
}

/* Controls and DEL. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_controls(uvh_vector bytes)
{
    return uvh_vector_mask(
        vorrq_u8(vcltq_u8(bytes, vdupq_n_u8(' ')), vceqq_u8(bytes, vdupq_n_u8(0x7f))));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_colons(uvh_vector bytes)
{
    return uvh_vector_mask(vceqq_u8(bytes, vdupq_n_u8(':')));
}

/* The bytes that are not in a set given by nibbles, see uvh_chars_row_bits. A byte above 0x7f looks
 * up 0, so it is in no set. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_not_in(uvh_vector bytes, const uint8_t rows_of_set[16])
{
    uint8x16_t row = vqtbl1q_u8(vld1q_u8(rows_of_set), vandq_u8(bytes, vdupq_n_u8(0x0f)));
    uint8x16_t bit = vqtbl1q_u8(vld1q_u8(uvh_chars_row_bits), vshrq_n_u8(bytes, 4));
    return ~uvh_vector_mask(vtstq_u8(row, bit));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_target_ends(uvh_vector bytes)
{
    /* DEL or a byte above it, plus one, is negative or 0 as a signed number. */
    int8x16_t next = vreinterpretq_s8_u8(vaddq_u8(bytes, vdupq_n_u8(1)));
    uint8x16_t not_visible = vcleq_s8(next, vdupq_n_s8(' ' + 1));
    uint8x16_t number_sign = vceqq_u8(bytes, vdupq_n_u8('#'));
    return uvh_vector_mask(vorrq_u8(not_visible, number_sign));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_questions(uvh_vector bytes)
{
    return uvh_vector_mask(vceqq_u8(bytes, vdupq_n_u8('?')));
}

static UVH_ALWAYS_INLINE bool uvh_lines_equal(const char *p, const char text[16],
                                              const char mask[16])
{
    uint8x16_t differs = veorq_u8(uvh_vector_load(p), uvh_vector_load(text));
    return vmaxvq_u8(vandq_u8(differs, uvh_vector_load(mask))) == 0;
}

#endif
