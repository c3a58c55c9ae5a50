/* Finding the parts of a head with vectors of 64 bytes: they become bit masks, and walking the lines is walking their set bits.
 *
 * The masks of names and values are made together, since both alternate; those of a target come with the first block. The header of the
 * instruction set, UVH_BLOCK_HEADER, provides, for the up to 64 bytes in [p, end), `p` below `end`:
 *   UVH_LINES_SHORTEST                         see lines.h
 *   uvh_block_lines(p, end, &values, &names)   what ends a value, what is no token
 *   uvh_block_target(p, end, &questions)       what ends a target, and '?'
 *   uvh_block_first(p, end, &values, &names, &targets, &questions)    all of these
 *   uvh_block_not_reg_name(p, end)             what cannot stand in a registered name
 *   uvh_lines_equal                            see lines.h
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
#include "codec/lines.h"

enum { UVH_BLOCK_SIZE = 64 };

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
static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_measure_far(struct uvh_lines *lines, const char *line)
{
    const struct uvh_line none = {0, 0};
    size_t at = (size_t)(line - lines->block);
    uint64_t names = at < UVH_BLOCK_SIZE ? lines->name_ends >> at : 0;
    uint64_t values = 0;
    struct uvh_line found;
    if (UVH_LIKELY(names != 0)) {
        found.name_length = (size_t)__builtin_ctzll(names);
    } else {
        /* The name does not end in the block at hand, and may begin behind it. A block of its own begins with it. */
        for (const char *p = line; names == 0; p += UVH_BLOCK_SIZE) {
            if (!uvh_lines_move(lines, p))
                return none;
            names = lines->name_ends;
        }
        values = lines->value_ends;
        found.name_length = (size_t)(lines->block - line) + (size_t)__builtin_ctzll(names);
        if (found.name_length > UINT16_MAX)
            return none;
    }
    while (values == 0) {
        if (!uvh_lines_next_block(lines))
            return none;
        values = lines->value_ends;
    }
    found.length = (size_t)(lines->block - line) + (size_t)__builtin_ctzll(values);
    return found;
}

static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_measure(struct uvh_lines *lines, const char *line,
                                                           bool quick)
{
    (void)quick;
    size_t at = (size_t)(line - lines->block);
    uint64_t values = at < UVH_BLOCK_SIZE ? lines->value_ends >> at : 0;
    if (values == 0)
        return uvh_lines_measure_far(lines, line);
    /* What ends a value is no token, so the name's end is in this block too. */
    return (struct uvh_line){(size_t)__builtin_ctzll(lines->name_ends >> at),
                             (size_t)__builtin_ctzll(values)};
}

static UVH_ALWAYS_INLINE size_t uvh_lines_past_tabs(struct uvh_lines lines, const char *line, size_t length)
{
    (void)lines;
    (void)line;
    (void)length;
    return 0; /* no line was measured up to a tab */
}

static UVH_ALWAYS_INLINE bool uvh_lines_is_token(const struct uvh_lines *lines, const char *line,
                                                 size_t length, bool quick)
{
    (void)quick;
    (void)lines;
    (void)line;
    return length > 0; /* it was measured so */
}

static UVH_ALWAYS_INLINE size_t uvh_lines_measure_status(struct uvh_lines *lines, const char *line)
{
    while (lines->value_ends == 0) {
        if (!uvh_lines_next_block(lines))
            return 0;
    }
    return (size_t)(lines->block - line) + (size_t)__builtin_ctzll(lines->value_ends);
}

/* A target that goes on behind the first block: `block` is the next one. */
static UVH_NEVER_INLINE struct uvh_lines_target uvh_lines_target_far(struct uvh_lines_target target,
                                                                     const char *block, const char *end)
{
    for (; block < end; block += UVH_BLOCK_SIZE) {
        uint64_t questions;
        uint64_t ends = uvh_block_target(block, end, &questions);
        questions &= ends ^ (ends - 1);
        if (questions != 0 && target.question == NULL)
            target.question = block + __builtin_ctzll(questions);
        if (ends != 0) {
            target.end = block + __builtin_ctzll(ends);
            return target;
        }
    }
    target.end = end;
    return target;
}

/* The target begins in the first block, which is the one at hand. */
static UVH_ALWAYS_INLINE struct uvh_lines_target uvh_lines_find_target(const struct uvh_lines *lines,
                                                                       const char *p)
{
    const char *block = lines->block;
    uint64_t ends = lines->target_ends >> (p - block) << (p - block);
    /* Those in front of the first end: `ends ^ (ends - 1)` is all ones up to it, all ones without one. */
    uint64_t questions = lines->questions & (ends ^ (ends - 1));
    struct uvh_lines_target target = {NULL, NULL};
    if (questions != 0)
        target.question = block + __builtin_ctzll(questions);
    if (UVH_UNLIKELY(ends == 0))
        return uvh_lines_target_far(target, block + UVH_BLOCK_SIZE, lines->end);
    target.end = block + __builtin_ctzll(ends);
    return target;
}

static UVH_ALWAYS_INLINE size_t uvh_lines_reg_name(const struct uvh_lines *lines, const char *p)
{
    uint64_t others = uvh_block_not_reg_name(p, lines->end);
    return others != 0 ? (size_t)__builtin_ctzll(others) : UVH_BLOCK_SIZE;
}

#endif
