/* Field lines (RFC 9112 section 5): what request heads, response heads and trailer sections have in common.
 *
 * Called by h1_head.c only. */
#ifndef UVH_CODEC_H1_FIELDS_H
#define UVH_CODEC_H1_FIELDS_H

#include <uvhttp/parser.h>

/* Notes why and where a message is refused. Returns UVHTTP_PARSE_BAD. */
uvhttp_parse_result_t uvh_h1_fields_refuse(uvhttp_head_t *head, uvhttp_reason_t reason, size_t offset);

/* Parses the field lines from offset head->size up to the empty line. UVH_SCAN_SLACK bytes in front of
 * `end` are readable.
 *   DONE: head->size counts the empty line
 *   MORE: head->size is the offset of the first incomplete line
 *   BAD:  noted in `head`
 * A line is judged when its LF has arrived, so how the bytes were cut does not change the verdict. */
uvhttp_parse_result_t uvh_h1_fields_parse(uvhttp_head_t *head, const char *data, const char *end,
                                          uint32_t max_fields);

#endif
