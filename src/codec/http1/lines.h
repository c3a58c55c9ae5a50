/* The interface of a back end of the head parser (lines_vectors.h, lines_swar.h): it finds the
 * parts of a head for parser.h.
 *
 * A back end finds positions and does not validate: in an invalid line they may be wrong. It
 * provides
 *   UVH_LINES_SHORTEST               the shortest input it accepts; so many bytes before `end` may
 *                                    be loaded
 *   struct uvh_lines                 its state
 *   uvh_lines_open(lines, end, behind)
 *                                    only a byte followed by `following` bytes, at least one and at
 *                                    most UVH_LINES_AFTER, can end a line or a target
 *   uvh_lines_find_target(lines, p)  the request target at `p`: struct uvh_lines_target
 *   uvh_lines_begin(lines, p)        other lines begin at `p`
 *   uvh_lines_status_end(lines, line)
 *                                    the end of the status line at `line`, or NULL
 *   uvh_lines_find(lines, line, quick)
 *                                    the field line at `line`: struct uvh_line
 *   uvh_lines_past_tabs(lines, p)    the first control at or after `p` that is not HTAB, or NULL;
 * `p` is the control found last uvh_lines_taken(lines)           the position found last is a
 * line's end, and the next line follows it uvh_lines_is_token(lines, line, length, quick) the first
 * `length` bytes of the field line at `line`, at least one, are a token uvh_lines_equal(p, text,
 * mask)   see uvh_swar_equal uvh_lines_reg_name(lines, p)     the number of bytes from `p` on that
 * are allowed in a registered name (RFC 3986 section 3.2.2) With `quick`, a back end may report no
 * line, or no token, if the check takes long; then the function is called again. No byte at or
 * after `end` is ever read. */
#ifndef UVH_CODEC_HTTP1_LINES_H
#define UVH_CODEC_HTTP1_LINES_H

/* LF and the empty line: in a complete head they follow the CR of every other line. */
enum { UVH_LINES_AFTER = 3 };

/* A valid, complete field line has its colon before its end. */
struct uvh_line {
    const char *colon; /* the first one, at most UINT16_MAX bytes from the line's start */
    /* the first control, or DEL (RFC 9110 section 5.5); a back end may skip HTAB. NULL: there is no
     * line */
    const char *end;
};

struct uvh_lines_target {
    /* the first SP, control, DEL, '#' or byte above 0x7f, or where the search ends */
    const char *end;
    const char *question; /* the first '?' before `end`, or NULL */
};

#endif
