/* What is said in front of a part's data, and the boundary: the texts of multipart/form-data.
 *
 * Called by multipart.c, which finds where they begin and end. */
#ifndef UVH_CODEC_FORMS_MULTIPART_HEAD_H
#define UVH_CODEC_FORMS_MULTIPART_HEAD_H

#include <uvhttp/multipart.h>

/* 1 to 70 of the characters of RFC 2046 section 5.1.1, the last one no space. */
bool uvh_multipart_head_is_boundary(uvhttp_slice_t boundary);

/* Judges the line that begins at parser->line_start of parser->head and whose LF was its last byte,
 * and stores its field. An error has its offset in parser->head in `*at`. `*empty`: it is the line
 * that ends the section; line_start is that of the next one otherwise. */
uvhttp_multipart_error_t uvh_multipart_head_line(uvhttp_multipart_t *parser, bool *empty,
                                                 size_t *at);

/* The section is complete: fills parser->part from its fields. An error the same way. */
uvhttp_multipart_error_t uvh_multipart_head_end(uvhttp_multipart_t *parser, size_t *at);

#endif
