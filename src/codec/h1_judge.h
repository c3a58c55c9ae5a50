/* The slow half of the head parser: whatever the quick path of h1_parser.h does not take comes here, is looked at byte by byte, and is
 * either incomplete or refused with its reason. One readable place for every error, shared by all back ends.
 *
 * All functions return MORE or BAD (noted in `head`), unless stated; UVH_SWAR_SLACK bytes in front of `end` are readable. */
#ifndef UVH_CODEC_H1_JUDGE_H
#define UVH_CODEC_H1_JUDGE_H

#include <uvhttp/parser.h>

/* "HTTP/1.1", and "HTTP/1.1 200 ". */
enum { UVH_H1_VERSION_LENGTH = 8, UVH_H1_STATUS_LENGTH = 13 };

/* Notes why and where a message is refused. Returns UVHTTP_PARSE_BAD. */
uvhttp_parse_result_t uvh_h1_refuse(uvhttp_head_t *head, uvhttp_reason_t reason, size_t offset);

/* A method that is longer than a word, unknown, incomplete or wrong, and the empty lines in front of it (RFC 9112 section 2.2). Also
 * DONE, with start, method and target_offset set. */
uvhttp_parse_result_t uvh_h1_judge_method(uvhttp_head_t *head, const char *data, const char *end);

/* The version at `p` and the end of the request line, judged as far as they have arrived. Also DONE, with size set. */
uvhttp_parse_result_t uvh_h1_judge_request_version(uvhttp_head_t *head, const char *data, const char *p,
                                                   const char *end);

/* "HTTP/1.1 200 ", judged as far as it has arrived (RFC 9112 section 4). Also DONE. */
uvhttp_parse_result_t uvh_h1_judge_status(uvhttp_head_t *head, const char *data, const char *end);

/* A reason phrase that is not followed by CR LF at `stop`. */
uvhttp_parse_result_t uvh_h1_judge_phrase(uvhttp_head_t *head, const char *data, const char *stop,
                                          const char *end);

/* The field line at `line`; `full` when the table has no room for it. head->size becomes its offset. */
uvhttp_parse_result_t uvh_h1_judge_line(uvhttp_head_t *head, const char *data, const char *line,
                                        const char *end, bool full);

#endif
