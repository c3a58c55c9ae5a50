/* The segments of a path, as integers for fast comparison and hashing.
 *
 * A segment is loaded sixteen bytes at a time, so the caller must provide UVH_REQUEST_PATH_SLACK
 * readable bytes after a path; their values do not matter. The code uses minimums and masks instead
 * of branches, which would be unpredictable, since segments differ in length. Inlined into
 * route/tree.c, where a match spends most of its time. */
#ifndef UVH_ROUTE_SEGMENT_H
#define UVH_ROUTE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/compiler.h"
#include "codec/simd/scan_swar.h"
#include "http/request.h"

enum { UVH_SEGMENT_WORD = 8, UVH_SEGMENT_BLOCK = 16 };

/* Segments of up to two words are equal when `length`, `first` and `last` are. */
struct uvh_segment {
    const char *base;
    size_t length;
    uint64_t first; /* the first eight bytes, or all if fewer */
    uint64_t last;  /* the last eight bytes, or all if fewer */
};

/* Masks for the first n bytes of a word. */
static const uint64_t uvh_segment_kept[UVH_SEGMENT_WORD + 1] = {
    0,          0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
    UINT64_MAX,
};

/* One bit for each of the sixteen bytes that is a slash. */
static inline uint32_t uvh_segment_slashes(const char *p)
{
#if defined(__SSE2__)
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('/')));
#else
    const uint64_t low = ~UVH_SWAR_HIGHS;
    uint32_t slashes = 0;
    for (unsigned at = 0; at < UVH_SEGMENT_BLOCK; at += UVH_SEGMENT_WORD) {
        /* zero where there is a slash */
        uint64_t other = uvh_swar_load(p + at) ^ uvh_swar_all('/');
        uint64_t found = ~(((other & low) + low) | other | low);
        slashes |= (uint32_t)((found >> 7) * 0x0102040810204080u >> 56) << at;
    }
    return slashes;
#endif
}

/* The minimum; compilers emit no branch for it. */
static inline size_t uvh_segment_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The segment at `at`, which may be the end of the path. */
static UVH_ALWAYS_INLINE struct uvh_segment uvh_segment_at(const char *at, const char *end)
{
    size_t rest = (size_t)(end - at);
    /* A slash, the end of the block or of the path; a longer segment continues below. */
    uint64_t ends = uvh_segment_slashes(at) | (uint64_t)1 << UVH_SEGMENT_BLOCK;
    size_t length = uvh_segment_least((size_t)__builtin_ctzll(ends), rest);
    if (UVH_UNLIKELY(length == UVH_SEGMENT_BLOCK) && rest > length) {
        const char *slash = memchr(at + length, '/', rest - length);
        length = slash == NULL ? rest : (size_t)(slash - at);
    }
    size_t counts = uvh_segment_least(length, UVH_SEGMENT_WORD);
    uint64_t kept = uvh_segment_kept[counts];
    return (struct uvh_segment){
        .base = at,
        .length = length,
        .first = uvh_swar_load(at) & kept,
        .last = uvh_swar_load(at + (length - counts)) & kept,
    };
}

/* The start of the following segment; NULL when there is none. */
static inline const char *uvh_segment_after(const struct uvh_segment *segment, const char *end)
{
    const char *stop = segment->base + segment->length;
    return stop == end ? NULL : stop + 1;
}

/* The highest bits depend on all bytes. One multiplier is odd and one is even, so that their sum,
 * which multiplies a segment of up to one word, is odd. */
static inline uint64_t uvh_segment_hash(uint64_t first, uint64_t last)
{
    return first * 0x9e3779b97f4a7c15u + last * 0xc2b2ae3d27d4eb4eu;
}

#endif
