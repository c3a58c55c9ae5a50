/* Vectors of 16 bytes with SSE4.2. */
#ifndef UVH_CODEC_VECTOR_SSE42_H
#define UVH_CODEC_VECTOR_SSE42_H

#include <nmmintrin.h>
#include <stdint.h>

#include "base/compiler.h"
#include "codec/chars.h"

enum { UVH_VECTOR_SIZE = 16, UVH_VECTOR_BITS = 1 };

typedef __m128i uvh_vector;

static UVH_ALWAYS_INLINE uvh_vector uvh_vector_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static UVH_ALWAYS_INLINE uvh_vector uvh_vector_of(const uint8_t bytes[UVH_VECTOR_SIZE])
{
    return _mm_load_si128((const __m128i *)(const void *)bytes);
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_mask(__m128i matches)
{
    return (uint32_t)_mm_movemask_epi8(matches);
}

/* A control but HTAB, or DEL. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_value_ends(uvh_vector bytes)
{
    __m128i control =
        _mm_cmpeq_epi8(_mm_min_epu8(bytes, uvh_vector_of(uvh_chars_vectors.last_control)), bytes);
    __m128i tab = _mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.tab));
    __m128i del = _mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.del));
    return uvh_vector_mask(_mm_or_si128(_mm_andnot_si128(tab, control), del));
}

/* The bytes that are not in a set given by halves, see uvh_chars_row_bits. A byte above 0x7f finds 0, so it is in none. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_not_in(uvh_vector bytes, const uint8_t rows_of_set[16])
{
    __m128i rows = _mm_load_si128((const __m128i *)(const void *)rows_of_set);
    __m128i bits = _mm_load_si128((const __m128i *)(const void *)uvh_chars_row_bits);
    __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), uvh_vector_of(uvh_chars_vectors.low_half));
    __m128i in = _mm_and_si128(_mm_shuffle_epi8(rows, bytes), _mm_shuffle_epi8(bits, high));
    return uvh_vector_mask(_mm_cmpeq_epi8(in, _mm_setzero_si128()));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_name_ends(uvh_vector bytes)
{
    return uvh_vector_not_in(bytes, uvh_chars_token_rows);
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_not_reg_name(uvh_vector bytes)
{
    return uvh_vector_not_in(bytes, uvh_chars_reg_name_rows);
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_target_ends(uvh_vector bytes)
{
    /* As signed numbers, bytes above 0x7f are below the space too. */
    __m128i visible = _mm_cmpgt_epi8(bytes, uvh_vector_of(uvh_chars_vectors.space));
    __m128i del = _mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.del));
    __m128i number_sign = _mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.number_sign));
    return uvh_vector_mask(
        _mm_or_si128(_mm_or_si128(del, number_sign), _mm_cmpeq_epi8(visible, _mm_setzero_si128())));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_questions(uvh_vector bytes)
{
    return uvh_vector_mask(_mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.question)));
}

#endif
