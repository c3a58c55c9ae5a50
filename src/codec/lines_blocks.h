/* Finding the parts of a head with vectors of 64 bytes: they become bit masks, and walking the lines is walking their set bits.
 *
 * The masks of names and values are made together, since both alternate; those of a target come with the first block. The header of the
 * instruction set, UVH_BLOCK_HEADER, provides, for the up to 64 bytes in [p, end), `p` below `end`:
 *   UVH_LINES_SLACK                            so many bytes in front of `end` may be loaded
 *   uvh_block_lines(p, end, &values, &names)   what ends a value, what is no token
 *   uvh_block_target(p, end, &questions)       what ends a target, and '?'
 *   uvh_block_first(p, end, &values, &names, &targets, &questions)    all of these
 *   uvh_lines_reg_name(p, end)                 see h1_parser.h
 * Bit i stands for p[i]; the bits of bytes at or past `end` are 0. */
#ifndef UVH_CODEC_LINES_BLOCKS_H
#define UVH_CODEC_LINES_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#if !defined(UVH_BLOCK_HEADER)
#define UVH_BLOCK_HEADER "codec/block_avx512.h"
#endif
#include UVH_BLOCK_HEADER

#include "base/compiler.h"

enum { UVH_BLOCK_SIZE = 64, UVH_LINES_CHECK_NAMES = 1 };

struct uvh_lines {
    const char *block;
    const char *end;
    uint64_t value_ends;  /* bit i: block[i] ends a value */
    uint64_t name_ends;   /* bit i: block[i] is no token */
    uint64_t target_ends; /* of the message's first block */
    uint64_t questions;
};

static UVH_ALWAYS_INLINE void uvh_lines_begin_message(struct uvh_lines *lines, const char *p, const char *end)
{
    lines->block = p;
    lines->end = end - 1; /* what ends a line or a target needs a byte behind it */
    uvh_block_first(p, end - 1, &lines->value_ends, &lines->name_ends, &lines->target_ends,
                    &lines->questions);
}

static UVH_ALWAYS_INLINE void uvh_lines_begin(struct uvh_lines *lines, const char *p, const char *end)
{
    lines->block = p;
    lines->end = end - 1;
    lines->value_ends = lines->name_ends = 0;
    if (p < end - 1)
        uvh_block_lines(p, end - 1, &lines->value_ends, &lines->name_ends);
}

/* Makes the block at `p` the one at hand. */
static UVH_ALWAYS_INLINE bool uvh_lines_move(struct uvh_lines *lines, const char *p)
{
    if (p >= lines->end)
        return false;
    lines->block = p;
    uvh_block_lines(p, lines->end, &lines->value_ends, &lines->name_ends);
    return true;
}

static UVH_ALWAYS_INLINE bool uvh_lines_next_block(struct uvh_lines *lines)
{
    return uvh_lines_move(lines, lines->block + UVH_BLOCK_SIZE);
}

/* A line whose value does not end in the block at hand. */
static UVH_ALWAYS_INLINE bool uvh_lines_measure_far(struct uvh_lines *lines, const char *line,
                                                    size_t *name_length, size_t *length)
{
    size_t at = (size_t)(line - lines->block);
    uint64_t names = at < UVH_BLOCK_SIZE ? lines->name_ends >> at : 0;
    uint64_t values = 0;
    if (UVH_LIKELY(names != 0)) {
        *name_length = (size_t)__builtin_ctzll(names);
    } else {
        /* The name does not end in the block at hand, and may begin behind it. A block of its own begins with it. */
        for (const char *p = line; names == 0; p += UVH_BLOCK_SIZE) {
            if (!uvh_lines_move(lines, p))
                return false;
            names = lines->name_ends;
        }
        values = lines->value_ends;
        *name_length = (size_t)(lines->block - line) + (size_t)__builtin_ctzll(names);
        if (*name_length > UINT16_MAX)
            return false;
    }
    while (values == 0) {
        if (!uvh_lines_next_block(lines))
            return false;
        values = lines->value_ends;
    }
    *length = (size_t)(lines->block - line) + (size_t)__builtin_ctzll(values);
    return true;
}

static UVH_ALWAYS_INLINE bool uvh_lines_measure(struct uvh_lines *lines, const char *line,
                                                size_t *name_length, size_t *length)
{
    size_t at = (size_t)(line - lines->block);
    uint64_t values = at < UVH_BLOCK_SIZE ? lines->value_ends >> at : 0;
    if (values == 0)
        return uvh_lines_measure_far(lines, line, name_length, length);
    /* What ends a value is no token, so the name's end is in this block too. */
    *name_length = (size_t)__builtin_ctzll(lines->name_ends >> at);
    *length = (size_t)__builtin_ctzll(values);
    return true;
}

/* The line begins at the block at hand. */
static UVH_ALWAYS_INLINE bool uvh_lines_measure_status(struct uvh_lines *lines, const char *line,
                                                       size_t *length)
{
    while (lines->value_ends == 0) {
        if (!uvh_lines_next_block(lines))
            return false;
    }
    *length = (size_t)(lines->block - line) + (size_t)__builtin_ctzll(lines->value_ends);
    return true;
}

/* A target that goes on behind the first block: `block` is the next one. */
static UVH_NEVER_INLINE const char *uvh_lines_target_far(const char *block, const char *end,
                                                         const char **question)
{
    for (; block < end; block += UVH_BLOCK_SIZE) {
        uint64_t questions;
        uint64_t ends = uvh_block_target(block, end, &questions);
        questions &= ends ^ (ends - 1);
        if (questions != 0 && *question == NULL)
            *question = block + __builtin_ctzll(questions);
        if (ends != 0)
            return block + __builtin_ctzll(ends);
    }
    return end;
}

/* The target begins in the first block, which is the one at hand. */
static UVH_ALWAYS_INLINE const char *uvh_lines_target_end(const struct uvh_lines *lines, const char *p,
                                                          const char **question)
{
    const char *block = lines->block;
    uint64_t ends = lines->target_ends >> (p - block) << (p - block);
    /* Those in front of the first end: `ends ^ (ends - 1)` is all ones up to it, all ones without one. */
    uint64_t questions = lines->questions & (ends ^ (ends - 1));
    *question = questions != 0 ? block + __builtin_ctzll(questions) : NULL;
    if (UVH_LIKELY(ends != 0))
        return block + __builtin_ctzll(ends);
    const char *found = *question; /* its address is taken, which that of `*question` must not be */
    const char *stop = uvh_lines_target_far(block + UVH_BLOCK_SIZE, lines->end, &found);
    *question = found;
    return stop;
}

#endif
