/* Finding the parts of a head with vectors: a block of bytes becomes bit masks, and walking the lines is walking their set bits.
 *
 * Names and values alternate, so the masks of both are made at once; that of a target is made from the same bytes when it is asked
 * for. A short head is one block, loaded once. The header of the instruction set, UVH_BLOCK_HEADER, provides:
 *   UVH_BLOCK_SIZE                                 bytes of a block, at most 64
 *   uvh_block_bytes                                a type: the block, as the back end likes it
 *   uvh_block_load(p, end, &bytes)                 [p, p + UVH_BLOCK_SIZE); `p` is below `end`
 *   uvh_block_lines(&bytes, &value_ends, &name_ends)
 *   uvh_block_target(&bytes, &marks)               what ends a target, and '?'
 * Bytes at or past `end` are 0 in every mask. */
#ifndef UVH_CODEC_LINES_BLOCKS_H
#define UVH_CODEC_LINES_BLOCKS_H

#include <stdint.h>

#if !defined(UVH_BLOCK_HEADER)
#define UVH_BLOCK_HEADER "codec/block_sse42.h"
#endif
#include UVH_BLOCK_HEADER

struct uvh_lines {
    const char *block;
    const char *end;
    uint64_t value_ends; /* bit i: block[i] ends a value */
    uint64_t name_ends;  /* bit i: block[i] is no token */
    uvh_block_bytes bytes;
};

enum { UVH_LINES_CHECK_NAMES = 1 };

static inline void uvh_lines_begin(struct uvh_lines *lines, const char *p, const char *end)
{
    lines->block = p;
    lines->end = end;
    lines->value_ends = lines->name_ends = 0;
    if (p < end) {
        uvh_block_load(p, end, &lines->bytes);
        uvh_block_lines(&lines->bytes, &lines->value_ends, &lines->name_ends);
    }
}

/* The first set bit at or behind `p` of the mask that `names`, a constant, chooses. */
static inline const char *uvh_lines_find(struct uvh_lines *lines, const char *p, int names)
{
    size_t at = (size_t)(p - lines->block);
    if (at < UVH_BLOCK_SIZE) {
        uint64_t bits = (names ? lines->name_ends : lines->value_ends) >> at;
        if (bits != 0)
            return p + __builtin_ctzll(bits);
        p = lines->block + UVH_BLOCK_SIZE;
    }
    for (; p < lines->end; p += UVH_BLOCK_SIZE) {
        uvh_lines_begin(lines, p, lines->end);
        uint64_t bits = names ? lines->name_ends : lines->value_ends;
        if (bits != 0)
            return p + __builtin_ctzll(bits);
    }
    return lines->end;
}

static inline const char *uvh_lines_name_end(struct uvh_lines *lines, const char *p)
{
    return uvh_lines_find(lines, p, 1);
}

static inline const char *uvh_lines_value_end(struct uvh_lines *lines, const char *p)
{
    return uvh_lines_find(lines, p, 0);
}

/* `p` lies in the block at hand or is where one may begin. */
static inline const char *uvh_lines_target_end(struct uvh_lines *lines, const char *p, const char **mark)
{
    const char *query = NULL;
    while (p < lines->end) {
        size_t at = (size_t)(p - lines->block);
        if (at >= UVH_BLOCK_SIZE) {
            uvh_lines_begin(lines, p, lines->end);
            at = 0;
        }
        uint64_t marks;
        uint64_t bits = uvh_block_target(&lines->bytes, &marks) >> at;
        marks = marks >> at;
        const char *stop = bits != 0 ? p + __builtin_ctzll(bits) : lines->block + UVH_BLOCK_SIZE;
        if (query == NULL && marks != 0)
            query = p + __builtin_ctzll(marks);
        if (query != NULL && query < stop)
            *mark = query;
        if (bits != 0)
            return stop;
        p = stop;
    }
    return lines->end;
}

#endif
