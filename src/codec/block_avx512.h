/* Blocks of 64 bytes with AVX-512. A byte's classes come out of a table of 128 bytes by one instruction of VBMI, and masked loads end
 * exactly where the input ends, so no byte is needed in front of a short input (SWAR, which judges what is wrong, needs some). */
#ifndef UVH_CODEC_BLOCK_AVX512_H
#define UVH_CODEC_BLOCK_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "codec/chars.h"
#include "codec/scan_swar.h"

enum { UVH_LINES_SHORTEST = UVH_SWAR_SLACK };

/* A bit for each byte of [p, end) that is within 64. */
static UVH_ALWAYS_INLINE uint64_t uvh_block_present(const char *p, const char *end)
{
    size_t left = (size_t)(end - p);
    return left >= 64 ? ~UINT64_C(0) : _bzhi_u64(~UINT64_C(0), (unsigned)left);
}

/* Bits of uvh_chars_ends; meaningless for bytes above 0x7f, for which the table has no row. */
static UVH_ALWAYS_INLINE __m512i uvh_block_classes(__m512i bytes)
{
    return _mm512_permutex2var_epi8(_mm512_load_si512(uvh_chars_ends), bytes,
                                    _mm512_load_si512(uvh_chars_ends + 64));
}

static UVH_ALWAYS_INLINE void uvh_block_lines(const char *p, const char *end, uint64_t *value_ends,
                                              uint64_t *name_ends)
{
    uint64_t present = uvh_block_present(p, end);
    __m512i bytes = _mm512_maskz_loadu_epi8(present, p);
    __m512i classes = uvh_block_classes(bytes);
    uint64_t above = _mm512_movepi8_mask(bytes);
    *value_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_load_si512(uvh_chars_vectors.ends_value)) &
        ~above;
    *name_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_load_si512(uvh_chars_vectors.ends_name)) | above;
}

static UVH_ALWAYS_INLINE uint64_t uvh_block_target(const char *p, const char *end, uint64_t *marks)
{
    uint64_t present = uvh_block_present(p, end);
    __m512i bytes = _mm512_maskz_loadu_epi8(present, p);
    *marks = _mm512_cmpeq_epi8_mask(bytes, _mm512_load_si512(uvh_chars_vectors.question));
    return _mm512_mask_test_epi8_mask(present, uvh_block_classes(bytes),
                                      _mm512_load_si512(uvh_chars_vectors.ends_target)) |
           _mm512_movepi8_mask(bytes);
}

/* Both from one load: the first block of a message holds, as a rule, all of the request line. */
static UVH_ALWAYS_INLINE void uvh_block_first(const char *p, const char *end, uint64_t *value_ends,
                                              uint64_t *name_ends, uint64_t *target_ends, uint64_t *questions)
{
    uint64_t present = uvh_block_present(p, end);
    __m512i bytes = _mm512_maskz_loadu_epi8(present, p);
    __m512i classes = uvh_block_classes(bytes);
    uint64_t above = _mm512_movepi8_mask(bytes);
    *value_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_load_si512(uvh_chars_vectors.ends_value)) &
        ~above;
    *name_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_load_si512(uvh_chars_vectors.ends_name)) | above;
    *target_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_load_si512(uvh_chars_vectors.ends_target)) |
        above;
    *questions = _mm512_cmpeq_epi8_mask(bytes, _mm512_load_si512(uvh_chars_vectors.question));
}

static UVH_ALWAYS_INLINE uint64_t uvh_block_not_reg_name(const char *p, const char *end)
{
    __m512i bytes = _mm512_maskz_loadu_epi8(uvh_block_present(p, end), p);
    return _mm512_test_epi8_mask(uvh_block_classes(bytes),
                                 _mm512_load_si512(uvh_chars_vectors.ends_reg_name)) |
           _mm512_movepi8_mask(bytes);
}

static UVH_ALWAYS_INLINE bool uvh_lines_equal(const char *p, const char text[16], const char mask[16])
{
    __m128i differs = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)p),
                                    _mm_load_si128((const __m128i *)(const void *)text));
    return _mm_testz_si128(differs, _mm_load_si128((const __m128i *)(const void *)mask));
}

#endif
