/* Blocks of 16 bytes with SSE4.2. The last block of an input overlaps the one before it, and its masks are shifted. */
#ifndef UVH_CODEC_BLOCK_SSE42_H
#define UVH_CODEC_BLOCK_SSE42_H

#include <nmmintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/chars.h"

enum { UVH_BLOCK_SIZE = 16, UVH_LINES_SLACK = 16 };

typedef struct {
    __m128i bytes;
    unsigned surplus; /* so many of the first bytes are in front of the block: its masks are shifted */
} uvh_block_bytes;

/* The block at `p`, or the last 16 bytes in front of `end`. */
static inline void uvh_block_load(const char *p, const char *end, uvh_block_bytes *block)
{
    ptrdiff_t left = end - p;
    block->surplus = left >= 16 ? 0 : (unsigned)(16 - left);
    block->bytes = _mm_loadu_si128((const __m128i *)(const void *)(p - block->surplus));
}

static inline uint64_t uvh_block_mask(__m128i matches, unsigned surplus)
{
    return (uint32_t)_mm_movemask_epi8(matches) >> surplus;
}

static inline void uvh_block_lines(const uvh_block_bytes *block, uint64_t *value_ends, uint64_t *name_ends)
{
    __m128i bytes = block->bytes;
    /* A control but HTAB, or DEL. */
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
    __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
    *value_ends = uvh_block_mask(_mm_or_si128(_mm_andnot_si128(tab, control), del), block->surplus);
    /* A token's low half has a bit for each high half it may stand with; bytes above 0x7f find 0. */
    __m128i rows = _mm_load_si128((const __m128i *)(const void *)uvh_chars_token_rows);
    __m128i bits = _mm_load_si128((const __m128i *)(const void *)uvh_chars_row_bits);
    __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(0x0f));
    __m128i token = _mm_and_si128(_mm_shuffle_epi8(rows, bytes), _mm_shuffle_epi8(bits, high));
    *name_ends = uvh_block_mask(_mm_cmpeq_epi8(token, _mm_setzero_si128()), block->surplus);
}

static inline uint64_t uvh_block_target(const uvh_block_bytes *block, uint64_t *marks)
{
    __m128i bytes = block->bytes;
    *marks = uvh_block_mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('?')), block->surplus);
    /* As signed numbers, bytes above 0x7f are below the space too. */
    __m128i visible = _mm_cmpgt_epi8(bytes, _mm_set1_epi8(' '));
    __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
    __m128i number_sign = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('#'));
    __m128i ends = _mm_or_si128(_mm_or_si128(del, number_sign), _mm_cmpeq_epi8(visible, _mm_setzero_si128()));
    return uvh_block_mask(ends, block->surplus);
}

#endif
