/* Vectors of 16 bytes with SSE4.2, or of 32 bytes with AVX2 (UVH_VECTOR_AVX2). UVH_VECTOR_AVX512
 * adds the masks of 64 bytes at once to those of AVX2, which have a lower latency. */
#ifndef UVH_CODEC_SIMD_VECTOR_X86_H
#define UVH_CODEC_SIMD_VECTOR_X86_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "codec/text/chars.h"

#define UVH_VECTOR_16(bytes) _mm_load_si128((const __m128i *)(const void *)(bytes))
#if defined(UVH_VECTOR_AVX2) || defined(UVH_VECTOR_AVX512)
enum { UVH_VECTOR_SIZE = 32, UVH_VECTOR_BITS = 1 };
typedef __m256i uvh_vector;
#define UVH_VECTOR_OP(name)     _mm256_##name
#define UVH_VECTOR_WHOLE(name)  _mm256_##name##_si256
#define UVH_VECTOR_TABLE(bytes) _mm256_broadcastsi128_si256(UVH_VECTOR_16(bytes))
#else
enum { UVH_VECTOR_SIZE = 16, UVH_VECTOR_BITS = 1 };
typedef __m128i uvh_vector;
#define UVH_VECTOR_OP(name)     _mm_##name
#define UVH_VECTOR_WHOLE(name)  _mm_##name##_si128
#define UVH_VECTOR_TABLE(bytes) UVH_VECTOR_16(bytes)
#endif

static UVH_ALWAYS_INLINE uvh_vector uvh_vector_load(const char *p)
{
    return UVH_VECTOR_WHOLE(loadu)((const uvh_vector *)(const void *)p);
}

static UVH_ALWAYS_INLINE uvh_vector uvh_vector_of(const uint8_t bytes[UVH_VECTOR_SIZE])
{
    return UVH_VECTOR_WHOLE(load)((const uvh_vector *)(const void *)bytes);
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_mask(uvh_vector matches)
{
    return (uint32_t)UVH_VECTOR_OP(movemask_epi8)(matches);
}

static UVH_ALWAYS_INLINE uvh_vector uvh_vector_equal(uvh_vector a, const uint8_t *bytes)
{
    return UVH_VECTOR_OP(cmpeq_epi8)(a, uvh_vector_of(bytes));
}

/* Controls and DEL. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_controls(uvh_vector bytes)
{
    uvh_vector least =
        UVH_VECTOR_OP(min_epu8)(bytes, uvh_vector_of(uvh_chars_vectors.last_control));
    return uvh_vector_mask(UVH_VECTOR_OP(cmpeq_epi8)(least, bytes) |
                           uvh_vector_equal(bytes, uvh_chars_vectors.del));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_colons(uvh_vector bytes)
{
    return uvh_vector_mask(uvh_vector_equal(bytes, uvh_chars_vectors.colon));
}

/* The bytes that are not in a set given by nibbles, see uvh_chars_row_bits. A byte above 0x7f looks
 * up 0, so it is in no set. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_not_in(uvh_vector bytes, const uint8_t rows_of_set[16])
{
    uvh_vector high =
        UVH_VECTOR_OP(srli_epi16)(bytes, 4) & uvh_vector_of(uvh_chars_vectors.low_half);
    uvh_vector in = UVH_VECTOR_OP(shuffle_epi8)(UVH_VECTOR_TABLE(rows_of_set), bytes) &
                    UVH_VECTOR_OP(shuffle_epi8)(UVH_VECTOR_TABLE(uvh_chars_row_bits), high);
    return uvh_vector_mask(UVH_VECTOR_OP(cmpeq_epi8)(in, UVH_VECTOR_WHOLE(setzero)()));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_target_ends(uvh_vector bytes)
{
    /* DEL or a byte above it, plus one, is negative or 0 as a signed number. */
    uvh_vector next = UVH_VECTOR_OP(add_epi8)(bytes, uvh_vector_of(uvh_chars_vectors.one));
    uvh_vector not_visible =
        UVH_VECTOR_OP(cmpgt_epi8)(uvh_vector_of(uvh_chars_vectors.next_visible), next);
    return uvh_vector_mask(not_visible | uvh_vector_equal(bytes, uvh_chars_vectors.number_sign));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_questions(uvh_vector bytes)
{
    return uvh_vector_mask(uvh_vector_equal(bytes, uvh_chars_vectors.question));
}

static UVH_ALWAYS_INLINE bool uvh_lines_equal(const char *p, const char text[16],
                                              const char mask[16])
{
    __m128i differs = _mm_loadu_si128((const __m128i *)(const void *)p) ^ UVH_VECTOR_16(text);
    return _mm_testz_si128(differs, UVH_VECTOR_16(mask));
}

#if defined(UVH_VECTOR_AVX512)
static UVH_ALWAYS_INLINE uint64_t uvh_vector_block_controls(const char *p)
{
    __m512i bytes = _mm512_loadu_si512(p);
    return _mm512_cmple_epu8_mask(bytes, _mm512_load_si512(uvh_chars_vectors.last_control)) |
           _mm512_cmpeq_epi8_mask(bytes, _mm512_load_si512(uvh_chars_vectors.del));
}
#endif

#endif
