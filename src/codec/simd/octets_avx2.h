/* Vectors of 32 bytes with AVX2 for codec/simd/payload_kernels.h. */
#ifndef UVH_CODEC_SIMD_OCTETS_AVX2_H
#define UVH_CODEC_SIMD_OCTETS_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum { UVH_OCTETS_SIZE = 32 };

typedef __m256i uvh_octets;

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_load(const char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static UVH_ALWAYS_INLINE void uvh_octets_store(char *p, uvh_octets bytes)
{
    _mm256_storeu_si256((__m256i *)(void *)p, bytes);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_of_word(uint32_t word)
{
    return _mm256_set1_epi32((int)word);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_all(uint8_t byte)
{
    return _mm256_set1_epi8((char)byte);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_table(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)table));
}

/* Indices are 0 to 15. */
static UVH_ALWAYS_INLINE uvh_octets uvh_octets_look_up(uvh_octets table, uvh_octets indices)
{
    return _mm256_shuffle_epi8(table, indices);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_high_halves(uvh_octets bytes)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), uvh_octets_all(0x0f));
}

/* Values are at least 0. */
static UVH_ALWAYS_INLINE uvh_octets uvh_octets_less(uvh_octets a, uvh_octets b)
{
    return _mm256_subs_epu8(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_and(uvh_octets a, uvh_octets b)
{
    return _mm256_and_si256(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_or(uvh_octets a, uvh_octets b)
{
    return _mm256_or_si256(a, b);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_xor(uvh_octets a, uvh_octets b)
{
    return _mm256_xor_si256(a, b);
}

static UVH_ALWAYS_INLINE bool uvh_octets_are_zero(uvh_octets bytes)
{
    return _mm256_testz_si256(bytes, bytes);
}

static UVH_ALWAYS_INLINE bool uvh_octets_are_ascii(uvh_octets bytes)
{
    return _mm256_movemask_epi8(bytes) == 0;
}

#endif
