/* Where the parts of a head are: what a back end of the head parser (lines_vectors.h, lines_swar.h)
 * finds for parser.h.
 *
 * It finds, it does not judge: a line may be wrong, and then what stands at these places is not
 * what belongs there. A back end provides
 *   UVH_LINES_SHORTEST               the shortest input it takes; so many bytes in front of `end`
 *                                    may be loaded
 *   struct uvh_lines                 where it is
 *   uvh_lines_open(lines, end, behind) only what has so many bytes behind it, at least one and at
 *                                    most UVH_LINES_BEHIND, can end a line or a target
 *   uvh_lines_find_target(lines, p)  the request target at `p`: struct uvh_lines_target
 *   uvh_lines_begin(lines, p)        other lines begin at `p`
 *   uvh_lines_status_end(lines, line)
 *                                    the end of the status line at `line`, or NULL
 *   uvh_lines_find(lines, line, quick)
 *                                    the field line at `line`: struct uvh_line
 *   uvh_lines_past_tabs(lines, p)    the line's end behind `p`, which was found, but is none; or
 *   what is not found to be one, or NULL
 *   uvh_lines_taken(lines)           what was found last is a line's end, and the next line is
 *                                    behind it
 *   uvh_lines_is_token(lines, line, length, quick) so many bytes of the field line at `line`, at
 *                                    least one, are a token
 *   uvh_lines_equal(p, text, mask)   see uvh_swar_equal
 *   uvh_lines_reg_name(lines, p)     the number of bytes from `p` on that can stand in a registered
 *   name (RFC 3986 section 3.2.2)
 * Where it is `quick`, a back end may say that there is no line, or no token, if telling takes
 * long; then it is asked again. Nothing at or past `end` is ever read. */
#ifndef UVH_CODEC_HTTP1_LINES_H
#define UVH_CODEC_HTTP1_LINES_H

/* LF and the empty line: in a complete head they stand behind the CR of any other line. */
enum { UVH_LINES_BEHIND = 3 };

/* A field line that is there and correct has its colon in front of its end. */
struct uvh_line {
    const char *colon; /* the first one, at most UINT16_MAX bytes from the line's beginning */
    /* the first control, or DEL (RFC 9110 section 5.5); a back end may pass over HTAB. NULL: there
     * is no line */
    const char *end;
};

struct uvh_lines_target {
    /* the first SP, control, DEL, '#' or byte above 0x7f, or where the search ends */
    const char *end;
    const char *question; /* the first '?' in front of that, or NULL */
};

#endif
