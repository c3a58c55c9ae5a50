/* The byte-scanning primitives of the parsers: which byte ends a token, a target, a value, a line.
 *
 * A back end is a header of static inline functions with the names below, so that they melt into the
 * parsing loop (a call per field line would cost more than the scanning). This file picks the back end;
 * today there is one, scan_swar.h, which is portable C and looks at eight bytes at a time. Called by
 * h1_head.c, h1_framing.c and target.c.
 *
 * Interface. All take [p, end) and return the first byte that stops them, or `end`. They never read at or
 * past `end`, but they may read up to UVH_SCAN_SLACK bytes before it, even before `p`: the caller
 * guarantees that `end` has that many readable bytes in front of it (a short input is copied into a padded
 * buffer once, see parse_short in h1_head.c).
 *
 *   uvh_scan_colon(p, end)        ':'
 *   uvh_scan_line_feed(p, end)    LF
 *   uvh_scan_target(p, end)       SP, a control, DEL, '#', or a byte above 0x7f
 *   uvh_scan_value(p, end)        a control but HTAB, or DEL (RFC 9110 section 5.5)
 *   uvh_scan_byte(p, end, byte)   that byte
 *   uvh_scan_path_special(p, end) '%', or '.' behind '/' (RFC 3986 section 3.3); `p` counts as standing behind '/' */
#ifndef UVH_CODEC_SCAN_H
#define UVH_CODEC_SCAN_H

#include "codec/scan_swar.h"

#endif
