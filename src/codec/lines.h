/* Where the parts of a head are: what a back end of the head parser (lines_blocks.h, lines_vectors.h, lines_swar.h) finds for h1_parser.h.
 *
 * It finds, it does not judge: a line may be wrong, and then what stands at these places is not what belongs there. A back end provides
 *   UVH_LINES_SHORTEST               the shortest input it takes; so many bytes in front of `end` may be loaded
 *   UVH_LINES_CHECK_NAMES            whether it ends a name at the first byte that is no token, or just at the colon
 *   struct uvh_lines                 where it is
 *   uvh_lines_begin(lines, p, end)   field lines begin at `p`
 *   uvh_lines_begin_message(lines, p, end)
 *                                    a message begins at `p`, which is below `end`
 *   uvh_lines_measure(lines, line)   the field line at `line`: struct uvh_line
 *   uvh_lines_measure_status(lines, line)
 *                                    the length of the status line, with which the message begins; 0 as in struct uvh_line
 *   uvh_lines_find_target(lines, p)  the request target at `p`, which lies in the request line: struct uvh_lines_target
 *   uvh_lines_reg_name(p, end)       the number of bytes, or fewer, that can stand in a registered name (RFC 3986 section 3.2.2)
 * Nothing at or past `end` is ever read. */
#ifndef UVH_CODEC_LINES_H
#define UVH_CODEC_LINES_H

#include <stddef.h>

struct uvh_line {
    size_t
        name_length; /* up to the colon, at most UINT16_MAX; 0: there is none, or the line's end is not in front of the last byte */
    size_t length;   /* up to the first control but HTAB, or DEL (RFC 9110 section 5.5), behind the colon */
};

struct uvh_lines_target {
    const char *end;      /* the first SP, control, DEL, '#' or byte above 0x7f, or where the search ends */
    const char *question; /* the first '?' in front of that, or NULL */
};

#endif
