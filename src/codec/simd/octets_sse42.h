/* Vectors of 16 bytes with SSE4.2 for codec/simd/payload_kernels.h. */
#ifndef UVH_CODEC_SIMD_OCTETS_SSE42_H
#define UVH_CODEC_SIMD_OCTETS_SSE42_H

#include <nmmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { UVH_OCTETS_SIZE = 16 };

typedef __m128i uvh_octets;

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static UVH_ALWAYS_INLINE void uvh_octets_store(char *p, uvh_octets bytes)
{
    _mm_storeu_si128((__m128i *)(void *)p, bytes);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_of_word(uint32_t word)
{
    return _mm_set1_epi32((int)word);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_all(uint8_t byte)
{
    return _mm_set1_epi8((char)byte);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_table(const uint8_t table[16])
{
    return _mm_load_si128((const __m128i *)(const void *)table);
}

/* Indices are 0 to 15. */
static UVH_ALWAYS_INLINE uvh_octets uvh_octets_look_up(uvh_octets table, uvh_octets indices)
{
    return _mm_shuffle_epi8(table, indices);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_high_halves(uvh_octets bytes)
{
    return _mm_and_si128(_mm_srli_epi16(bytes, 4), uvh_octets_all(0x0f));
}

/* Values are at least 0. */
static UVH_ALWAYS_INLINE uvh_octets uvh_octets_less(uvh_octets a, uvh_octets b)
{
    return _mm_subs_epu8(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_and(uvh_octets a, uvh_octets b)
{
    return _mm_and_si128(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_or(uvh_octets a, uvh_octets b)
{
    return _mm_or_si128(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_xor(uvh_octets a, uvh_octets b)
{
    return _mm_xor_si128(a, b);
}

static UVH_ALWAYS_INLINE bool uvh_octets_are_zero(uvh_octets bytes)
{
    return _mm_testz_si128(bytes, bytes);
}

static UVH_ALWAYS_INLINE bool uvh_octets_are_ascii(uvh_octets bytes)
{
    return _mm_movemask_epi8(bytes) == 0;
}

#endif
