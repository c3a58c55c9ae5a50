/* Finding the parts of a head in portable C: see h1_parser.h for what each function means. */
#ifndef UVH_CODEC_LINES_SWAR_H
#define UVH_CODEC_LINES_SWAR_H

#include "codec/scan_swar.h"

enum { UVH_LINES_CHECK_NAMES = 0, UVH_LINES_SLACK = UVH_SWAR_SLACK };

struct uvh_lines {
    const char *end;
};

static inline void uvh_lines_begin(struct uvh_lines *lines, const char *p, const char *end)
{
    (void)p;
    lines->end = end;
}

static inline const char *uvh_lines_name_end(struct uvh_lines *lines, const char *p)
{
    return uvh_scan_colon(p, lines->end);
}

static inline const char *uvh_lines_value_end(struct uvh_lines *lines, const char *p)
{
    return uvh_scan_value(p, lines->end);
}

/* The first '?' in [p, stop), or NULL. Words may be loaded across `stop`, but not across `end`. */
static inline const char *uvh_lines_query_mark(const char *p, const char *stop, const char *end)
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

static inline const char *uvh_lines_target_end(struct uvh_lines *lines, const char *p, const char **mark)
{
    const char *stop = uvh_scan_target(p, lines->end);
    const char *query = uvh_lines_query_mark(p, stop, lines->end);
    if (query != NULL)
        *mark = query;
    return stop;
}

#endif
