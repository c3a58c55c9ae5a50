/* Vectors of 16 bytes with SSE4.2. */
#ifndef UVH_CODEC_SIMD_VECTOR_SSE42_H
#define UVH_CODEC_SIMD_VECTOR_SSE42_H

#include <nmmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "codec/text/chars.h"

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

/* Controls and DEL. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_controls(uvh_vector bytes)
{
    __m128i control =
        _mm_cmpeq_epi8(_mm_min_epu8(bytes, uvh_vector_of(uvh_chars_vectors.last_control)), bytes);
    return uvh_vector_mask(
        _mm_or_si128(control, _mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.del))));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_colons(uvh_vector bytes)
{
    return uvh_vector_mask(_mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.colon)));
}

/* The bytes that are not in a set given by nibbles, see uvh_chars_row_bits. A byte above 0x7f looks
 * up 0, so it is in no set. */
static UVH_ALWAYS_INLINE uint64_t uvh_vector_not_in(uvh_vector bytes, const uint8_t rows_of_set[16])
{
    __m128i rows = _mm_load_si128((const __m128i *)(const void *)rows_of_set);
    __m128i bits = _mm_load_si128((const __m128i *)(const void *)uvh_chars_row_bits);
    __m128i high =
        _mm_and_si128(_mm_srli_epi16(bytes, 4), uvh_vector_of(uvh_chars_vectors.low_half));
    __m128i in = _mm_and_si128(_mm_shuffle_epi8(rows, bytes), _mm_shuffle_epi8(bits, high));
    return uvh_vector_mask(_mm_cmpeq_epi8(in, _mm_setzero_si128()));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_not_token(uvh_vector bytes)
{
    return uvh_vector_not_in(bytes, uvh_chars_token_rows);
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_not_reg_name(uvh_vector bytes)
{
    return uvh_vector_not_in(bytes, uvh_chars_reg_name_rows);
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_target_ends(uvh_vector bytes)
{
    /* DEL or a byte above it, plus one, is negative or 0 as a signed number. */
    __m128i next = _mm_add_epi8(bytes, uvh_vector_of(uvh_chars_vectors.one));
    __m128i not_visible = _mm_cmpgt_epi8(uvh_vector_of(uvh_chars_vectors.next_visible), next);
    __m128i number_sign = _mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.number_sign));
    return uvh_vector_mask(_mm_or_si128(not_visible, number_sign));
}

static UVH_ALWAYS_INLINE uint64_t uvh_vector_questions(uvh_vector bytes)
{
    return uvh_vector_mask(_mm_cmpeq_epi8(bytes, uvh_vector_of(uvh_chars_vectors.question)));
}

static UVH_ALWAYS_INLINE bool uvh_lines_equal(const char *p, const char text[16],
                                              const char mask[16])
{
    __m128i differs = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)p),
                                    _mm_load_si128((const __m128i *)(const void *)text));
    return _mm_testz_si128(differs, _mm_load_si128((const __m128i *)(const void *)mask));
}

#endif
