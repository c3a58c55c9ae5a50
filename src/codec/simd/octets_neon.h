/* Vectors of 16 bytes with NEON for codec/simd/payload_kernels.h. */
#ifndef UVH_CODEC_SIMD_OCTETS_NEON_H
#define UVH_CODEC_SIMD_OCTETS_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { UVH_OCTETS_SIZE = 16 };

typedef uint8x16_t uvh_octets;

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_load(const char *p)
{
    return vld1q_u8((const uint8_t *)p);
}

static UVH_ALWAYS_INLINE void uvh_octets_store(char *p, uvh_octets bytes)
{
    vst1q_u8((uint8_t *)p, bytes);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_of_word(uint32_t word)
{
    return vreinterpretq_u8_u32(vdupq_n_u32(word));
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_all(uint8_t byte)
{
    return vdupq_n_u8(byte);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_table(const uint8_t table[16])
{
    return vld1q_u8(table);
}

/* Indices are 0 to 15. */
static UVH_ALWAYS_INLINE uvh_octets uvh_octets_look_up(uvh_octets table, uvh_octets indices)
{
    return vqtbl1q_u8(table, indices);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_high_halves(uvh_octets bytes)
{
    return vshrq_n_u8(bytes, 4);
}

/* Values are at least 0. */
static UVH_ALWAYS_INLINE uvh_octets uvh_octets_less(uvh_octets a, uvh_octets b)
{
    return vqsubq_u8(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_and(uvh_octets a, uvh_octets b)
{
    return vandq_u8(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_or(uvh_octets a, uvh_octets b)
{
    return vorrq_u8(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_xor(uvh_octets a, uvh_octets b)
{
    return veorq_u8(a, b);
}

static UVH_ALWAYS_INLINE bool uvh_octets_are_zero(uvh_octets bytes)
{
    return vmaxvq_u8(bytes) == 0;
}

static UVH_ALWAYS_INLINE bool uvh_octets_are_ascii(uvh_octets bytes)
{
    return vmaxvq_u8(bytes) < 0x80;
}

#endif
