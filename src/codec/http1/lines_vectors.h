/* Finds the parts of a head with vectors of 16 or 32 bytes.
 *
 * Line ends are found for 64 bytes at once: these masks are independent of each other, so finding
 * the next line takes only a shift and a bit count. Names, target and host are found by a vector at
 * their start; no other operation depends on the result.
 *
 * codec/simd/vector_neon.h (with UVH_VECTOR_NEON) and vector_x86.h provide:
 *   UVH_VECTOR_SIZE                bytes in a vector
 *   UVH_VECTOR_BITS                mask bits per byte: all are set, or none
 *   uvh_vector, uvh_vector_load(p)
 *   uvh_vector_controls(v), uvh_vector_colons(v), uvh_vector_target_ends(v),
 *   uvh_vector_questions(v), uvh_vector_not_in(v, rows)
 *                                  masks, unused bits are 0: controls and DEL, ':', bytes that end
 *                                  a target, '?', bytes not in a class of codec/text/chars.h
 *   uvh_lines_equal                see lines.h
 *   uvh_vector_block_controls(p)   with UVH_VECTOR_AVX512: the mask of controls of the 64 bytes at
 *                                  `p` */
#ifndef UVH_CODEC_HTTP1_LINES_VECTORS_H
#define UVH_CODEC_HTTP1_LINES_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/http1/lines.h"
#include "codec/simd/scan_swar.h"
#if defined(UVH_VECTOR_NEON)
#include "codec/simd/vector_neon.h"
#else
#include "codec/simd/vector_x86.h"
#endif

enum {
    UVH_LINES_SHORTEST = UVH_VECTOR_SIZE + UVH_LINES_AFTER,
    UVH_BLOCK_SIZE = 64 / UVH_VECTOR_BITS /* bytes in a 64-bit mask */
};

struct uvh_lines {
    const char *end;
    const char *last;  /* start of the last vector within the input */
    const char *block; /* the current block */
    /* its mask, without the controls already passed and those at or after `end` */
    uint64_t controls;
};

/* The bits of the first byte in a mask. */
#define UVH_VECTOR_BYTE ((UINT64_C(1) << UVH_VECTOR_BITS) - 1)

/* The index of the byte for the lowest set bit of a mask. */
static UVH_ALWAYS_INLINE size_t uvh_lines_index(uint64_t mask)
{
    return (size_t)__builtin_ctzll(mask) / UVH_VECTOR_BITS;
}

/* The mask of controls of the block at `p`; 0 if that is not below `end`. */
static UVH_ALWAYS_INLINE uint64_t uvh_lines_block(const struct uvh_lines *lines, const char *p)
{
    uint64_t controls = 0;
    if (UVH_LIKELY(p + UVH_BLOCK_SIZE - UVH_VECTOR_SIZE <= lines->last)) {
#if defined(UVH_VECTOR_AVX512)
        return uvh_vector_block_controls(p);
#else
#pragma GCC unroll 4
        for (int i = 0; i < UVH_BLOCK_SIZE; i += UVH_VECTOR_SIZE)
            controls |= uvh_vector_controls(uvh_vector_load(p + i)) << i * UVH_VECTOR_BITS;
        return controls;
#endif
    }
    int i = 0;
    for (; p + i <= lines->last; i += UVH_VECTOR_SIZE)
        controls |= uvh_vector_controls(uvh_vector_load(p + i)) << i * UVH_VECTOR_BITS;
    if (p + i < lines->end) /* the last vector of the input has the remaining bytes */
        controls |= uvh_vector_controls(uvh_vector_load(lines->last)) >>
                    (size_t)(p + i - lines->last) * UVH_VECTOR_BITS << i * UVH_VECTOR_BITS;
    return controls;
}

static UVH_ALWAYS_INLINE void uvh_lines_open(struct uvh_lines *lines, const char *end,
                                             int following)
{
    lines->end = end - following;
    lines->last = lines->end - UVH_VECTOR_SIZE;
}

static UVH_ALWAYS_INLINE void uvh_lines_begin(struct uvh_lines *lines, const char *p)
{
    lines->block = p;
    lines->controls = uvh_lines_block(lines, p);
}

/* The first control at or after `p`, if all before it have been passed; NULL if there is none. */
static UVH_ALWAYS_INLINE const char *uvh_lines_control(struct uvh_lines *lines, const char *p)
{
    if (UVH_LIKELY(lines->controls != 0))
        return lines->block + uvh_lines_index(lines->controls);
    /* Block boundaries are independent of lines, so the blocks' masks do not depend on each other.
     * The LF before `p` may be in the next block. */
    const char *block = lines->block + UVH_BLOCK_SIZE;
    uint64_t controls = uvh_lines_block(lines, block) & ~(UVH_VECTOR_BYTE * (uint64_t)(block < p));
    while (controls == 0) {
        if (UVH_UNLIKELY(block >= lines->end))
            return NULL;
        block += UVH_BLOCK_SIZE;
        controls = uvh_lines_block(lines, block);
    }
    lines->block = block;
    lines->controls = controls;
    return block + uvh_lines_index(controls);
}

/* Passes the control found last. */
static UVH_ALWAYS_INLINE void uvh_lines_pass(struct uvh_lines *lines)
{
    lines->controls &= lines->controls - (lines->controls & -lines->controls) * UVH_VECTOR_BYTE;
}

/* Passes the line's end found last. */
static UVH_ALWAYS_INLINE void uvh_lines_taken(struct uvh_lines *lines)
{
    uvh_lines_pass(lines);
    uvh_lines_pass(lines); /* no effect if LF is in the next block */
}

static UVH_ALWAYS_INLINE const char *uvh_lines_status_end(struct uvh_lines *lines, const char *line)
{
    return uvh_lines_control(lines, line);
}

/* The mask of colons at `p`, which is below `end`. */
static UVH_ALWAYS_INLINE uint64_t uvh_lines_colons(const struct uvh_lines *lines, const char *p)
{
    if (UVH_LIKELY(p <= lines->last))
        return uvh_vector_colons(uvh_vector_load(p));
    return uvh_vector_colons(uvh_vector_load(lines->last)) >>
           (size_t)(p - lines->last) * UVH_VECTOR_BITS;
}

static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_find(struct uvh_lines *lines, const char *line,
                                                        bool quick)
{
    const char *stop = uvh_lines_control(lines, line);
    if (UVH_UNLIKELY(stop == NULL))
        return (struct uvh_line){NULL, NULL};
    uint64_t colons = uvh_lines_colons(lines, line);
    if (UVH_LIKELY(colons != 0))
        return (struct uvh_line){line + uvh_lines_index(colons), stop};
    const char *colon = quick ? NULL : memchr(line, ':', (size_t)(stop - line));
    return (struct uvh_line){colon, colon == NULL || colon - line > UINT16_MAX ? NULL : stop};
}

static UVH_ALWAYS_INLINE const char *uvh_lines_past_tabs(struct uvh_lines *lines, const char *p)
{
    while (p != NULL && *p == '\t') {
        uvh_lines_pass(lines);
        p = uvh_lines_control(lines, p + 1);
    }
    return p;
}

static UVH_ALWAYS_INLINE bool uvh_lines_is_token(const struct uvh_lines *lines, const char *line,
                                                 size_t length, bool quick)
{
    const char *p = line <= lines->last ? line : lines->last;
    uint64_t others = uvh_vector_not_in(uvh_vector_load(p), uvh_chars_token_rows) >>
                      (size_t)(line - p) * UVH_VECTOR_BITS;
    if (quick || others != 0)
        return others != 0 && length > 0 && uvh_lines_index(others) == length;
    return uvh_field_name_valid((uvhttp_slice_t){line, length});
}

/* Stores the target's end and '?' from these masks of the vector at `p`; true if the end was
 * found. */
static UVH_ALWAYS_INLINE bool uvh_lines_target_part(struct uvh_lines_target *target, const char *p,
                                                    uint64_t ends, uint64_t questions)
{
    /* Those before the first end: `ends ^ (ends - 1)` is all ones up to it, all ones without
     * one. */
    questions &= ends ^ (ends - 1);
    if (questions != 0 && target->question == NULL)
        target->question = p + uvh_lines_index(questions);
    if (ends != 0)
        target->end = p + uvh_lines_index(ends);
    return ends != 0;
}

static UVH_ALWAYS_INLINE struct uvh_lines_target
uvh_lines_find_target(const struct uvh_lines *lines, const char *p)
{
    struct uvh_lines_target target = {lines->end, NULL};
    for (; p <= lines->last; p += UVH_VECTOR_SIZE) {
        uvh_vector vector = uvh_vector_load(p);
        if (uvh_lines_target_part(&target, p, uvh_vector_target_ends(vector),
                                  uvh_vector_questions(vector)))
            return target;
    }
    if (p < lines->end) {
        size_t shift = (size_t)(p - lines->last) * UVH_VECTOR_BITS;
        uvh_vector vector = uvh_vector_load(lines->last);
        uvh_lines_target_part(&target, p, uvh_vector_target_ends(vector) >> shift,
                              uvh_vector_questions(vector) >> shift);
    }
    return target;
}

static UVH_ALWAYS_INLINE size_t uvh_lines_reg_name(const struct uvh_lines *lines, const char *p)
{
    const char *at = p;
    for (;;) {
        const char *from = at <= lines->last ? at : lines->last;
        uint64_t others = uvh_vector_not_in(uvh_vector_load(from), uvh_chars_reg_name_rows) >>
                          (size_t)(at - from) * UVH_VECTOR_BITS;
        if (UVH_LIKELY(others != 0))
            return (size_t)(at - p) + uvh_lines_index(others);
        at += UVH_VECTOR_SIZE;
        if (at >= lines->end)
            return (size_t)(lines->end - p);
    }
}

#endif
