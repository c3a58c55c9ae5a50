/* Vectors of bytes for codec/simd/payload_kernels.h: the operators of GCC and clang, and what has
 * no operator, for one instruction set. A file payload_*.c selects that by UVH_OCTETS_AVX512,
 * UVH_OCTETS_AVX2 or UVH_OCTETS_NEON; SSE4.2 is the default.
 *
 *   UVH_OCTETS_TABLE(table)             a table of 16 bytes for UVH_OCTETS_LOOK_UP
 *   UVH_OCTETS_LOOK_UP(table, indices)  indices are 0 to 15
 *   UVH_OCTETS_LESS(a, b)               a - b, at least 0
 *   UVH_OCTETS_ARE_ZERO(bytes)
 *   UVH_OCTETS_ARE_ASCII(bytes) */
#ifndef UVH_CODEC_SIMD_OCTETS_H
#define UVH_CODEC_SIMD_OCTETS_H

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#if defined(UVH_OCTETS_NEON)
#include <arm_neon.h>
enum { UVH_OCTETS_SIZE = 16 };
typedef uint8x16_t uvh_octets;
#define UVH_OCTETS_TABLE(table)            vld1q_u8(table)
#define UVH_OCTETS_LOOK_UP(table, indices) vqtbl1q_u8(table, indices)
#define UVH_OCTETS_LESS(a, b)              vqsubq_u8(a, b)
#define UVH_OCTETS_ARE_ZERO(bytes)         (vmaxvq_u8(bytes) == 0)
#define UVH_OCTETS_ARE_ASCII(bytes)        (vmaxvq_u8(bytes) < 0x80)
#else
#include <immintrin.h>
#define UVH_OCTETS_16(table) _mm_load_si128((const __m128i *)(const void *)(table))
#if defined(UVH_OCTETS_AVX512)
enum { UVH_OCTETS_SIZE = 64 };
typedef __m512i uvh_octets;
#define UVH_OCTETS_TABLE(table)            _mm512_broadcast_i32x4(UVH_OCTETS_16(table))
#define UVH_OCTETS_LOOK_UP(table, indices) _mm512_shuffle_epi8(table, indices)
#define UVH_OCTETS_LESS(a, b)              _mm512_subs_epu8(a, b)
#define UVH_OCTETS_ARE_ZERO(bytes)         (_mm512_test_epi8_mask(bytes, bytes) == 0)
#define UVH_OCTETS_ARE_ASCII(bytes)        (_mm512_movepi8_mask(bytes) == 0)
#elif defined(UVH_OCTETS_AVX2)
enum { UVH_OCTETS_SIZE = 32 };
typedef __m256i uvh_octets;
#define UVH_OCTETS_TABLE(table)            _mm256_broadcastsi128_si256(UVH_OCTETS_16(table))
#define UVH_OCTETS_LOOK_UP(table, indices) _mm256_shuffle_epi8(table, indices)
#define UVH_OCTETS_LESS(a, b)              _mm256_subs_epu8(a, b)
#define UVH_OCTETS_ARE_ZERO(bytes)         _mm256_testz_si256(bytes, bytes)
#define UVH_OCTETS_ARE_ASCII(bytes)        (_mm256_movemask_epi8(bytes) == 0)
#else
enum { UVH_OCTETS_SIZE = 16 };
typedef __m128i uvh_octets;
#define UVH_OCTETS_TABLE(table)            UVH_OCTETS_16(table)
#define UVH_OCTETS_LOOK_UP(table, indices) _mm_shuffle_epi8(table, indices)
#define UVH_OCTETS_LESS(a, b)              _mm_subs_epu8(a, b)
#define UVH_OCTETS_ARE_ZERO(bytes)         _mm_testz_si128(bytes, bytes)
#define UVH_OCTETS_ARE_ASCII(bytes)        (_mm_movemask_epi8(bytes) == 0)
#endif
#endif

typedef uint32_t uvh_octets_words __attribute__((vector_size(UVH_OCTETS_SIZE)));
typedef uint8_t uvh_octets_bytes __attribute__((vector_size(UVH_OCTETS_SIZE)));

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_load(const char *p)
{
    uvh_octets bytes;
    memcpy(&bytes, p, sizeof(bytes));
    return bytes;
}

static UVH_ALWAYS_INLINE void uvh_octets_store(char *p, uvh_octets bytes)
{
    memcpy(p, &bytes, sizeof(bytes));
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_of_word(uint32_t word)
{
    return (uvh_octets)(word - (uvh_octets_words){0});
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_all(uint8_t byte)
{
    return uvh_octets_of_word(byte * 0x01010101U);
}

static UVH_ALWAYS_INLINE uvh_octets uvh_octets_high_halves(uvh_octets bytes)
{
    return (uvh_octets)((uvh_octets_bytes)bytes >> 4);
}

#endif
