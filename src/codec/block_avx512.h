/* Blocks of 64 bytes with AVX-512. A byte's classes come out of a table of 128 bytes by one instruction of VBMI, and masked loads end
 * exactly where the input ends, so no byte is needed in front of a short input (SWAR, which judges what is wrong, needs some). */
#ifndef UVH_CODEC_BLOCK_AVX512_H
#define UVH_CODEC_BLOCK_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/chars.h"
#include "codec/scan_swar.h"

enum { UVH_BLOCK_SIZE = 64, UVH_LINES_SLACK = UVH_SWAR_SLACK };

/* All masks at once: three instructions more than are needed, and no vector in memory. */
typedef struct {
    uint64_t value_ends;
    uint64_t name_ends;
    uint64_t target_ends;
    uint64_t marks;
} uvh_block_bytes;

static inline void uvh_block_load(const char *p, const char *end, uvh_block_bytes *block)
{
    size_t left = (size_t)(end - p);
    uint64_t present = left >= 64 ? ~UINT64_C(0) : _bzhi_u64(~UINT64_C(0), (unsigned)left);
    __m512i bytes = _mm512_maskz_loadu_epi8(present, p);
    /* Bits of uvh_chars_ends; meaningless for bytes above 0x7f, for which the table has no row. */
    __m512i classes = _mm512_permutex2var_epi8(_mm512_loadu_si512(uvh_chars_ends), bytes,
                                               _mm512_loadu_si512(uvh_chars_ends + 64));
    uint64_t above = _mm512_movepi8_mask(bytes);
    block->value_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_set1_epi8(UVH_CHAR_ENDS_VALUE)) & ~above;
    block->name_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_set1_epi8(UVH_CHAR_ENDS_NAME)) | above;
    block->target_ends =
        _mm512_mask_test_epi8_mask(present, classes, _mm512_set1_epi8(UVH_CHAR_ENDS_TARGET)) | above;
    block->marks = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('?'));
}

static inline void uvh_block_lines(const uvh_block_bytes *block, uint64_t *value_ends, uint64_t *name_ends)
{
    *value_ends = block->value_ends;
    *name_ends = block->name_ends;
}

static inline uint64_t uvh_block_target(const uvh_block_bytes *block, uint64_t *marks)
{
    *marks = block->marks;
    return block->target_ends;
}

#endif
