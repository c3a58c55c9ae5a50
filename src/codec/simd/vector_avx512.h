/* The vectors of AVX2, which have a low latency, and with AVX-512 the masks of 64 bytes at once. */
#ifndef UVH_CODEC_SIMD_VECTOR_AVX512_H
#define UVH_CODEC_SIMD_VECTOR_AVX512_H

#include "codec/simd/vector_avx2.h"

#define UVH_VECTOR_HAS_BLOCK

static UVH_ALWAYS_INLINE uint64_t uvh_vector_block_controls(const char *p)
{
    __m512i bytes = _mm512_loadu_si512(p);
    return _mm512_cmple_epu8_mask(bytes, _mm512_load_si512(uvh_chars_vectors.last_control)) |
           _mm512_cmpeq_epi8_mask(bytes, _mm512_load_si512(uvh_chars_vectors.del));
}

#endif
