/* Blocks of 32 bytes with AVX2. The last block of an input overlaps the one before it, and its masks are shifted. */
#ifndef UVH_CODEC_BLOCK_AVX2_H
#define UVH_CODEC_BLOCK_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/chars.h"

enum { UVH_BLOCK_SIZE = 32, UVH_LINES_SLACK = 32 };

typedef struct {
    __m256i bytes;
    unsigned surplus; /* so many of the first bytes are in front of the block: its masks are shifted */
} uvh_block_bytes;

/* The block at `p`, or the last 32 bytes in front of `end`. */
static inline void uvh_block_load(const char *p, const char *end, uvh_block_bytes *block)
{
    ptrdiff_t left = end - p;
    block->surplus = left >= 32 ? 0 : (unsigned)(32 - left);
    block->bytes = _mm256_loadu_si256((const __m256i *)(const void *)(p - block->surplus));
}

static inline uint64_t uvh_block_mask(__m256i matches, unsigned surplus)
{
    return (uint32_t)_mm256_movemask_epi8(matches) >> surplus;
}

static inline void uvh_block_lines(const uvh_block_bytes *block, uint64_t *value_ends, uint64_t *name_ends)
{
    __m256i bytes = block->bytes;
    /* A control but HTAB, or DEL. */
    __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
    __m256i tab = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t'));
    __m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));
    *value_ends = uvh_block_mask(_mm256_or_si256(_mm256_andnot_si256(tab, control), del), block->surplus);
    /* A token's low half has a bit for each high half it may stand with; bytes above 0x7f find 0. */
    __m256i rows =
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)uvh_chars_token_rows));
    __m256i bits =
        _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)uvh_chars_row_bits));
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
    __m256i token = _mm256_and_si256(_mm256_shuffle_epi8(rows, bytes), _mm256_shuffle_epi8(bits, high));
    *name_ends = uvh_block_mask(_mm256_cmpeq_epi8(token, _mm256_setzero_si256()), block->surplus);
}

static inline uint64_t uvh_block_target(const uvh_block_bytes *block, uint64_t *marks)
{
    __m256i bytes = block->bytes;
    *marks = uvh_block_mask(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('?')), block->surplus);
    /* As signed numbers, bytes above 0x7f are below the space too. */
    __m256i visible = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(' '));
    __m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));
    __m256i number_sign = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('#'));
    __m256i ends = _mm256_or_si256(_mm256_or_si256(del, number_sign),
                                   _mm256_cmpeq_epi8(visible, _mm256_setzero_si256()));
    return uvh_block_mask(ends, block->surplus);
}

#endif
