/* Finding the parts of a head with vectors of 16 or 32 bytes, line by line: the vector at a line's beginning holds its name and often all of it; those
 * behind are searched for the line's end only. Masks of 64 bytes (lines_blocks.h) cost more with such vectors than they save: measured.
 *
 * The header of the instruction set, UVH_VECTOR_HEADER, provides:
 *   UVH_VECTOR_SIZE                bytes in a vector
 *   UVH_VECTOR_BITS                bits for each of them in a mask: all are set, or none
 *   uvh_vector, uvh_vector_load(p)
 *   uvh_vector_value_ends(v), uvh_vector_name_ends(v), uvh_vector_target_ends(v), uvh_vector_questions(v), uvh_vector_not_reg_name(v)
 *                                  masks, the bits that stand for no byte 0: what ends a value, what is no token, what ends a target,
 *                                  '?', what cannot stand in a registered name */
#ifndef UVH_CODEC_LINES_VECTORS_H
#define UVH_CODEC_LINES_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(UVH_VECTOR_HEADER)
#define UVH_VECTOR_HEADER "codec/vector_sse42.h"
#endif
#include UVH_VECTOR_HEADER

#include "base/compiler.h"
#include "codec/lines.h"

enum { UVH_LINES_CHECK_NAMES = 1, UVH_LINES_SHORTEST = UVH_VECTOR_SIZE + 1 };

struct uvh_lines {
    const char *end;
};

static UVH_ALWAYS_INLINE void uvh_lines_begin(struct uvh_lines *lines, const char *p, const char *end)
{
    (void)p;
    lines->end = end - 1; /* what ends a line or a target needs a byte behind it */
}

static UVH_ALWAYS_INLINE void uvh_lines_begin_message(struct uvh_lines *lines, const char *p, const char *end)
{
    uvh_lines_begin(lines, p, end);
}

/* How many bytes of a vector at `p` lie behind `end`. Instead of such a vector the last one of the input is loaded, so many bytes in front of `p`, and
 * its masks are shifted. */
static UVH_ALWAYS_INLINE unsigned uvh_vector_missing(const char *p, const char *end)
{
    ptrdiff_t left = end - p;
    return UVH_LIKELY(left >= UVH_VECTOR_SIZE) ? 0 : (unsigned)(UVH_VECTOR_SIZE - left);
}

/* The first byte at or behind `p` that ends a value, or `end`. */
static UVH_ALWAYS_INLINE const char *uvh_lines_value_end(const char *p, const char *end)
{
    uint64_t ends;
    for (; end - p >= UVH_VECTOR_SIZE; p += UVH_VECTOR_SIZE) {
        ends = uvh_vector_value_ends(uvh_vector_load(p));
        if (ends != 0)
            return p + __builtin_ctzll(ends) / UVH_VECTOR_BITS;
    }
    if (p >= end)
        return end;
    unsigned missing = uvh_vector_missing(p, end);
    ends = uvh_vector_value_ends(uvh_vector_load(p - missing)) >> missing * UVH_VECTOR_BITS;
    return ends != 0 ? p + __builtin_ctzll(ends) / UVH_VECTOR_BITS : end;
}

static UVH_ALWAYS_INLINE size_t uvh_lines_measure_status(struct uvh_lines *lines, const char *line)
{
    const char *stop = uvh_lines_value_end(line, lines->end);
    return stop < lines->end ? (size_t)(stop - line) : 0;
}

/* A line whose name is longer than a vector. */
static UVH_NEVER_INLINE struct uvh_line uvh_lines_measure_long(const char *line, const char *end)
{
    const struct uvh_line none = {0, 0};
    for (const char *p = line; p < end; p += UVH_VECTOR_SIZE) {
        unsigned missing = uvh_vector_missing(p, end);
        uvh_vector vector = uvh_vector_load(p - missing);
        uint64_t names = uvh_vector_name_ends(vector) >> missing * UVH_VECTOR_BITS;
        if (names == 0)
            continue;
        const char *colon = p + __builtin_ctzll(names) / UVH_VECTOR_BITS;
        const char *stop = uvh_lines_value_end(colon, end);
        if (stop == end || colon - line > UINT16_MAX)
            return none;
        return (struct uvh_line){(size_t)(colon - line), (size_t)(stop - line)};
    }
    return none;
}

/* The line at `line`, of whose first vector these are the masks. */
static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_measured(const char *line, const char *end, uint64_t names,
                                                            uint64_t values)
{
    if (UVH_UNLIKELY(names == 0))
        return uvh_lines_measure_long(line, end);
    size_t name_length = (size_t)__builtin_ctzll(names) / UVH_VECTOR_BITS;
    /* What ends a value is no token, so none stands in front of the name's end. */
    if (values != 0)
        return (struct uvh_line){name_length, (size_t)__builtin_ctzll(values) / UVH_VECTOR_BITS};
    const char *stop = uvh_lines_value_end(line + UVH_VECTOR_SIZE, end);
    if (stop >= end)
        return (struct uvh_line){0, 0};
    return (struct uvh_line){name_length, (size_t)(stop - line)};
}

static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_measure(struct uvh_lines *lines, const char *line)
{
    const char *end = lines->end;
    if (UVH_LIKELY(end - line >= UVH_VECTOR_SIZE)) {
        uvh_vector vector = uvh_vector_load(line);
        return uvh_lines_measured(line, end, uvh_vector_name_ends(vector), uvh_vector_value_ends(vector));
    }
    if (line >= end)
        return (struct uvh_line){0, 0};
    unsigned shift = uvh_vector_missing(line, end) * UVH_VECTOR_BITS;
    uvh_vector vector = uvh_vector_load(end - UVH_VECTOR_SIZE);
    return uvh_lines_measured(line, end, uvh_vector_name_ends(vector) >> shift,
                              uvh_vector_value_ends(vector) >> shift);
}

static UVH_ALWAYS_INLINE struct uvh_lines_target uvh_lines_find_target(const struct uvh_lines *lines,
                                                                       const char *p)
{
    struct uvh_lines_target target = {lines->end, NULL};
    for (; p < lines->end; p += UVH_VECTOR_SIZE) {
        unsigned missing = uvh_vector_missing(p, lines->end);
        uvh_vector vector = uvh_vector_load(p - missing);
        uint64_t ends = uvh_vector_target_ends(vector) >> missing * UVH_VECTOR_BITS;
        /* Those in front of the first end: `ends ^ (ends - 1)` is all ones up to it, all ones without one. */
        uint64_t questions =
            (uvh_vector_questions(vector) >> missing * UVH_VECTOR_BITS) & (ends ^ (ends - 1));
        if (questions != 0 && target.question == NULL)
            target.question = p + __builtin_ctzll(questions) / UVH_VECTOR_BITS;
        if (ends != 0) {
            target.end = p + __builtin_ctzll(ends) / UVH_VECTOR_BITS;
            break;
        }
    }
    return target;
}

static UVH_ALWAYS_INLINE size_t uvh_lines_reg_name(const char *p, const char *end)
{
    for (const char *at = p; at < end; at += UVH_VECTOR_SIZE) {
        unsigned missing = uvh_vector_missing(at, end);
        uvh_vector vector = uvh_vector_load(at - missing);
        uint64_t ends = uvh_vector_not_reg_name(vector) >> missing * UVH_VECTOR_BITS;
        if (ends != 0)
            return (size_t)(at - p) + (size_t)__builtin_ctzll(ends) / UVH_VECTOR_BITS;
    }
    return (size_t)(end - p);
}

#endif
