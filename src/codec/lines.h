/* Where the parts of a head are: what a back end of the head parser (lines_blocks.h, lines_vectors.h, lines_swar.h) finds for h1_parser.h.
 *
 * It finds, it does not judge: a line may be wrong, and then what stands at these places is not what belongs there. A back end provides
 *   UVH_LINES_SHORTEST               the shortest input it takes; so many bytes in front of `end` may be loaded
 *   struct uvh_lines                 where it is
 *   uvh_lines_begin(lines, p, end)   field lines begin at `p`
 *   uvh_lines_begin_message(lines, p, end)
 *                                    a message begins at `p`, which is below `end`
 *   uvh_lines_measure(lines, line, quick)
 *                                    the field line at `line`: struct uvh_line
 *   uvh_lines_past_tabs(lines, line, length)
 *                                    the length of a line that does not end where uvh_lines_measure found; 0: that is no tab
 *   uvh_lines_is_token(lines, line, length, quick)
 *                                    so many bytes of the field line at `line`, at least one, are a token
 *   uvh_lines_equal(p, text, mask)   see uvh_swar_equal
 *   uvh_lines_measure_status(lines, line)
 *                                    the length of the status line, with which the message begins; 0 as in struct uvh_line
 *   uvh_lines_find_target(lines, p)  the request target at `p`, which lies in the request line: struct uvh_lines_target
 *   uvh_lines_reg_name(lines, p)     the number of bytes from `p` on, or fewer, that can stand in a registered name (RFC 3986 section 3.2.2)
 * Where it is `quick`, a back end may say that there is no line, or no token, if telling took a call; then it is asked again.
 * Nothing at or past `end` is ever read. */
#ifndef UVH_CODEC_LINES_H
#define UVH_CODEC_LINES_H

#include <stddef.h>

/* A field line that is there and correct has its name's end in front of its value's. */
struct uvh_line {
    size_t
        name_length; /* up to the first colon, or to what cannot stand in front of it; at most UINT16_MAX */
    size_t
        length; /* up to the first control, or DEL (RFC 9110 section 5.5); a back end may pass over HTAB. 0: there is none, or it is the
                         * last byte */
};

struct uvh_lines_target {
    const char *end;      /* the first SP, control, DEL, '#' or byte above 0x7f, or where the search ends */
    const char *question; /* the first '?' in front of that, or NULL */
};

#endif
