/* Finding the parts of a head with vectors of 16 or 32 bytes.
 *
 * Where lines end is found for 64 bytes at once: these masks do not depend on each other, so that
 * from one line to the next there is but a shift and a count. All else (names, target, host) is
 * found by a vector where it begins, and nothing has to wait for that.
 *
 * The header of the instruction set, UVH_VECTOR_HEADER, provides:
 *   UVH_VECTOR_SIZE                bytes in a vector
 *   UVH_VECTOR_BITS                bits for each of them in a mask: all are set, or none
 *   uvh_vector, uvh_vector_load(p)
 *   uvh_vector_controls(v), uvh_vector_colons(v), uvh_vector_not_token(v),
 *   uvh_vector_target_ends(v), uvh_vector_questions(v),
 *   uvh_vector_not_reg_name(v)     masks, the bits that stand for no byte 0: controls and DEL, ':',
 *                                  what cannot stand in a token, what ends a target, '?', what
 *                                  cannot stand in a registered name
 *   uvh_lines_equal                see lines.h
 *   uvh_vector_block_controls(p)   if UVH_VECTOR_HAS_BLOCK is defined: the mask of controls of the
 *                                  64 bytes at `p` */
#ifndef UVH_CODEC_HTTP1_LINES_VECTORS_H
#define UVH_CODEC_HTTP1_LINES_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(UVH_VECTOR_HEADER)
#define UVH_VECTOR_HEADER "codec/simd/vector_sse42.h"
#endif
#include UVH_VECTOR_HEADER

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/http1/lines.h"
#include "codec/simd/scan_swar.h"

enum {
    UVH_LINES_SHORTEST = UVH_VECTOR_SIZE + UVH_LINES_BEHIND,
    UVH_BLOCK_SIZE = 64 / UVH_VECTOR_BITS /* as many bytes as a mask of 64 bits stands for */
};

struct uvh_lines {
    const char *end;
    const char *last;  /* where a vector lies within the input, and no further */
    const char *block; /* the block at hand */
    uint64_t
        /* its mask, without the controls that have been passed, and those at or behind `end` */
        controls;
};

/* The bits of the first byte in a mask. */
#define UVH_VECTOR_BYTE ((UINT64_C(1) << UVH_VECTOR_BITS) - 1)

/* The index of the byte that the lowest bit of a mask stands for. */
static UVH_ALWAYS_INLINE size_t uvh_lines_index(uint64_t mask)
{
    return (size_t)__builtin_ctzll(mask) / UVH_VECTOR_BITS;
}

/* The mask of controls of the block at `p`; 0 when that is not below `end`. */
static UVH_ALWAYS_INLINE uint64_t uvh_lines_block(const struct uvh_lines *lines, const char *p)
{
    uint64_t controls = 0;
    if (UVH_LIKELY(p + UVH_BLOCK_SIZE - UVH_VECTOR_SIZE <= lines->last)) {
#if defined(UVH_VECTOR_HAS_BLOCK)
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
    if (p + i < lines->end) /* the last vector of the input has what is left */
        controls |= uvh_vector_controls(uvh_vector_load(lines->last)) >>
                    (size_t)(p + i - lines->last) * UVH_VECTOR_BITS << i * UVH_VECTOR_BITS;
    return controls;
}

static UVH_ALWAYS_INLINE void uvh_lines_open(struct uvh_lines *lines, const char *end, int behind)
{
    lines->end = end - behind;
    lines->last = lines->end - UVH_VECTOR_SIZE;
}

static UVH_ALWAYS_INLINE void uvh_lines_begin(struct uvh_lines *lines, const char *p)
{
    lines->block = p;
    lines->controls = uvh_lines_block(lines, p);
}

/* The first control at or behind `p`, in front of which all have been passed; NULL when there is
 * none. */
static UVH_ALWAYS_INLINE const char *uvh_lines_control(struct uvh_lines *lines, const char *p)
{
    if (UVH_LIKELY(lines->controls != 0))
        return lines->block + uvh_lines_index(lines->controls);
    /* Where blocks begin does not depend on lines, so they need not wait for each other. The LF in
     * front of `p` may be in the next one. */
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
    uvh_lines_pass(lines); /* nothing, if LF is in the next block */
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
    uint64_t others =
        uvh_vector_not_token(uvh_vector_load(p)) >> (size_t)(line - p) * UVH_VECTOR_BITS;
    if (quick || others != 0)
        return others != 0 && length > 0 && uvh_lines_index(others) == length;
    return uvh_field_name_valid((uvhttp_slice_t){line, length});
}

/* Notes what the vector at `p` has of a target, whose end and '?' these masks show; true with the
 * end. */
static UVH_ALWAYS_INLINE bool uvh_lines_target_part(struct uvh_lines_target *target, const char *p,
                                                    uint64_t ends, uint64_t questions)
{
    /* Those in front of the first end: `ends ^ (ends - 1)` is all ones up to it, all ones without
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
        uint64_t others =
            uvh_vector_not_reg_name(uvh_vector_load(from)) >> (size_t)(at - from) * UVH_VECTOR_BITS;
        if (UVH_LIKELY(others != 0))
            return (size_t)(at - p) + uvh_lines_index(others);
        at += UVH_VECTOR_SIZE;
        if (at >= lines->end)
            return (size_t)(lines->end - p);
    }
}

#endif
