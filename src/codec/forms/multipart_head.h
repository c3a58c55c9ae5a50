/* The header section of a part, and the boundary, of multipart/form-data.
 *
 * The caller (multipart.c) finds their start and end. */
#ifndef UVH_CODEC_FORMS_MULTIPART_HEAD_H
#define UVH_CODEC_FORMS_MULTIPART_HEAD_H

#include <uvhttp/multipart.h>

/* 1 to 70 of the characters of RFC 2046 section 5.1.1, the last one no space. */
bool uvh_multipart_head_is_boundary(uvhttp_slice_t boundary);

/* Parses the line that begins at parser->line_start of parser->head and ends with the last byte,
 * LF, and stores its field. `*at` receives the offset of an error in parser->head. `*empty`: the
 * line ends the section; otherwise line_start becomes that of the next one. */
uvhttp_multipart_error_t uvh_multipart_head_line(uvhttp_multipart_t *parser, bool *empty,
                                                 size_t *at);

/* Ends the section: fills parser->part from its fields. Reports errors the same way. */
uvhttp_multipart_error_t uvh_multipart_head_end(uvhttp_multipart_t *parser, size_t *at);

#endif
