/* Finds the parts of a head in portable C: see lines.h for the functions. */
#ifndef UVH_CODEC_HTTP1_LINES_SWAR_H
#define UVH_CODEC_HTTP1_LINES_SWAR_H

#include <stdbool.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/http1/lines.h"
#include "codec/simd/scan_swar.h"
#include "codec/text/chars.h"

enum { UVH_LINES_SHORTEST = UVH_SWAR_SLACK };

struct uvh_lines {
    const char *end;
    int following; /* a line's end is followed by at least so many bytes */
};

static UVH_ALWAYS_INLINE void uvh_lines_open(struct uvh_lines *lines, const char *end,
                                             int following)
{
    lines->end = end;
    lines->following = following;
}

static UVH_ALWAYS_INLINE void uvh_lines_begin(struct uvh_lines *lines, const char *p)
{
    (void)lines;
    (void)p;
}

static UVH_ALWAYS_INLINE const char *uvh_lines_status_end(const struct uvh_lines *lines,
                                                          const char *line)
{
    const char *stop = uvh_scan_value(line, lines->end);
    return lines->end - stop > lines->following ? stop : NULL;
}

static UVH_ALWAYS_INLINE struct uvh_line uvh_lines_find(const struct uvh_lines *lines,
                                                        const char *line, bool quick)
{
    const struct uvh_line none = {NULL, NULL};
    (void)quick;
    const char *colon = uvh_scan_colon(line, lines->end);
    if (colon == lines->end || colon - line > UINT16_MAX)
        return none;
    const char *stop = uvh_scan_value(colon + 1, lines->end);
    return lines->end - stop > lines->following ? (struct uvh_line){colon, stop} : none;
}

static UVH_ALWAYS_INLINE const char *uvh_lines_past_tabs(const struct uvh_lines *lines,
                                                         const char *p)
{
    (void)lines;
    return p; /* no line was found to end at a tab */
}

static UVH_ALWAYS_INLINE void uvh_lines_taken(const struct uvh_lines *lines)
{
    (void)lines;
}

static UVH_ALWAYS_INLINE bool uvh_lines_is_token(const struct uvh_lines *lines, const char *line,
                                                 size_t length, bool quick)
{
    (void)quick;
    (void)lines;
    return uvh_field_name_valid((uvhttp_slice_t){line, length});
}

static UVH_ALWAYS_INLINE bool uvh_lines_equal(const char *p, const char text[16],
                                              const char mask[16])
{
    return uvh_swar_equal(p, text, mask);
}

/* The first '?' in [p, stop), or NULL. Words may be loaded across `stop`, but not across `end`. */
static UVH_ALWAYS_INLINE const char *uvh_lines_question(const char *p, const char *stop,
                                                        const char *end)
{
    for (; p < stop && end - p >= 8; p += 8) {
        uint64_t matches = uvh_swar_match_byte(uvh_swar_load(p), '?');
        if (matches != 0) {
            p += uvh_swar_first(matches);
            return p < stop ? p : NULL;
        }
    }
    for (; p < stop; p++) {
        if (*p == '?')
            return p;
    }
    return NULL;
}

static UVH_ALWAYS_INLINE struct uvh_lines_target
uvh_lines_find_target(const struct uvh_lines *lines, const char *p)
{
    const char *stop = uvh_scan_target(p, lines->end);
    return (struct uvh_lines_target){stop, uvh_lines_question(p, stop, lines->end)};
}

static UVH_ALWAYS_INLINE size_t uvh_lines_reg_name(const struct uvh_lines *lines, const char *p)
{
    return uvh_scan_reg_name(p, lines->end);
}

#endif
