/* Finding the parts of a head with vectors of 16 or 32 bytes, line by line: the vector at a line's beginning holds its name and often all of it; those
 * behind are searched for the line's end only. Masks of 64 bytes (lines_blocks.h) cost more with such vectors than they save: measured.
 *
 * The header of the instruction set, UVH_VECTOR_HEADER, provides:
 *   UVH_VECTOR_SIZE                bytes in a vector
 *   UVH_VECTOR_BITS                bits for each of them in a mask: all are set, or none
 *   uvh_vector, uvh_vector_load(p)
 *   uvh_vector_controls(v), uvh_vector_colons(v), uvh_vector_not_token(v), uvh_vector_target_ends(v), uvh_vector_questions(v),
 *   uvh_vector_not_reg_name(v)     masks, the bits that stand for no byte 0: controls and DEL, ':', what cannot stand in a token, what ends a
 *                                  target, '?', what cannot stand in a registered name
 *   uvh_lines_equal                see lines.h */
#ifndef UVH_CODEC_LINES_VECTORS_H
#define UVH_CODEC_LINES_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(UVH_VECTOR_HEADER)
#define UVH_VECTOR_HEADER "codec/vector_sse42.h"
#endif
#include UVH_VECTOR_HEADER

#include "base/compiler.h"
#include "codec/field.h"
#include "codec/lines.h"
#include "codec/scan_swar.h"

enum { UVH_LINES_SHORTEST = UVH_VECTOR_SIZE + 1 };

struct uvh_lines {
    const char *end;
    const char *last; /* where a vector lies within the input, and no further */
};

static UVH_ALWAYS_INLINE void uvh_lines_begin(struct uvh_lines *lines, const char *p, const char *end)
{
    (void)p;
    lines->end = end - 1; /* what ends a line or a target needs a byte behind it */
    lines->last = end - 1 - UVH_VECTOR_SIZE;
}

static UVH_ALWAYS_INLINE void uvh_lines_begin_message(struct uvh_lines *lines, const char *p, const char *end)
{
    uvh_lines_begin(lines, p, end);
}

/* The first control at or behind `p`, or `end`. */
static UVH_ALWAYS_INLINE const char *uvh_lines_control(const char *p, const char *last, const char *end)
{
    uint64_t controls;
    for (; p <= last; p += UVH_VECTOR_SIZE) {
        controls = uvh_vector_controls(uvh_vector_load(p));
        if (controls != 0)
            return p + __builtin_ctzll(controls) / UVH_VECTOR_BITS;
    }
    if (p >= end)
        return end;
    controls = uvh_vector_controls(uvh_vector_load(last)) >> (size_t)(p - last) * UVH_VECTOR_BITS;
    return controls != 0 ? p + __builtin_ctzll(controls) / UVH_VECTOR_BITS : end;
}

static UVH_ALWAYS_INLINE size_t uvh_lines_measure_status(struct uvh_lines *lines, const char *line)
{
    const char *stop = uvh_lines_control(line, lines->last, lines->end);
    return stop < lines->end ? (size_t)(stop - line) : 0;
}

/* A line whose name is longer than a vector, or ends with it. */
static UVH_NEVER_INLINE struct uvh_line uvh_lines_measure_long(struct uvh_lines lines, const char *line)
{
    const struct uvh_line none = {0, 0};
    const char *stop = uvh_lines_control(line, lines.last, lines.end);
    const char *colon = line < stop ? memchr(line, ':', (size_t)(stop - line)) : NULL;
    if (stop == lines.end || colon == NULL || colon - line > UINT16_MAX)
        return none;
    return (struct uvh_line){(size_t)(colon - line), (size_t)(stop - line)};
}

/* The line at `line`, of whose first vector these are the masks. */
static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_measured(const struct uvh_lines *lines, const char *line,
                                                            uint64_t colons, uint64_t controls, bool quick)
{
    if (UVH_UNLIKELY(colons == 0))
        return quick ? (struct uvh_line){0, 0} : uvh_lines_measure_long(*lines, line);
    size_t name_length = (size_t)__builtin_ctzll(colons) / UVH_VECTOR_BITS;
    if (controls != 0)
        return (struct uvh_line){name_length, (size_t)__builtin_ctzll(controls) / UVH_VECTOR_BITS};
    const char *stop = uvh_lines_control(line + UVH_VECTOR_SIZE, lines->last, lines->end);
    return (struct uvh_line){name_length, stop < lines->end ? (size_t)(stop - line) : 0};
}

static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_measure(struct uvh_lines *lines, const char *line,
                                                           bool quick)
{
    if (UVH_LIKELY(line <= lines->last)) {
        uvh_vector vector = uvh_vector_load(line);
        return uvh_lines_measured(lines, line, uvh_vector_colons(vector), uvh_vector_controls(vector), quick);
    }
    if (line >= lines->end)
        return (struct uvh_line){0, 0};
    unsigned shift = (unsigned)(line - lines->last) * UVH_VECTOR_BITS;
    uvh_vector vector = uvh_vector_load(lines->last);
    return uvh_lines_measured(lines, line, uvh_vector_colons(vector) >> shift,
                              uvh_vector_controls(vector) >> shift, quick);
}

static UVH_NEVER_INLINE size_t uvh_lines_past_tabs(struct uvh_lines lines, const char *line, size_t length)
{
    const char *p = line + length;
    while (p < lines.end && *p == '\t')
        p = uvh_lines_control(p + 1, lines.last, lines.end);
    return p < lines.end && memcmp(p, "\r\n", 2) == 0 ? (size_t)(p - line) : 0;
}

static UVH_ALWAYS_INLINE bool uvh_lines_is_token(const struct uvh_lines *lines, const char *line,
                                                 size_t length, bool quick)
{
    const char *p = line <= lines->last ? line : lines->last;
    uint64_t others = uvh_vector_not_token(uvh_vector_load(p)) >> (size_t)(line - p) * UVH_VECTOR_BITS;
    if (quick || others != 0)
        return others != 0 && length > 0 && (size_t)__builtin_ctzll(others) / UVH_VECTOR_BITS == length;
    return uvh_field_name_valid((uvhttp_slice_t){line, length});
}

/* Notes what the vector at `p` has of a target, whose end and '?' these masks show; true with the end. */
static UVH_ALWAYS_INLINE bool uvh_lines_target_part(struct uvh_lines_target *target, const char *p,
                                                    uint64_t ends, uint64_t questions)
{
    /* Those in front of the first end: `ends ^ (ends - 1)` is all ones up to it, all ones without one. */
    questions &= ends ^ (ends - 1);
    if (questions != 0 && target->question == NULL)
        target->question = p + __builtin_ctzll(questions) / UVH_VECTOR_BITS;
    if (ends != 0)
        target->end = p + __builtin_ctzll(ends) / UVH_VECTOR_BITS;
    return ends != 0;
}

static UVH_ALWAYS_INLINE struct uvh_lines_target uvh_lines_find_target(const struct uvh_lines *lines,
                                                                       const char *p)
{
    struct uvh_lines_target target = {lines->end, NULL};
    for (; p <= lines->last; p += UVH_VECTOR_SIZE) {
        uvh_vector vector = uvh_vector_load(p);
        if (uvh_lines_target_part(&target, p, uvh_vector_target_ends(vector), uvh_vector_questions(vector)))
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
    const char *at = p <= lines->last ? p : lines->last;
    uint64_t others = uvh_vector_not_reg_name(uvh_vector_load(at)) >> (size_t)(p - at) * UVH_VECTOR_BITS;
    if (UVH_LIKELY(others != 0))
        return (size_t)__builtin_ctzll(others) / UVH_VECTOR_BITS;
    return uvh_scan_reg_name(p, lines->end);
}

#endif
