/* The slow half of the head parser: whatever the quick path of parser.h does not take comes here,
 * is looked at byte by byte, and is taken, incomplete, or refused with its reason. One readable
 * place for every error, shared by all back ends.
 *
 * All functions return MORE or BAD (noted in `head`), unless stated; UVH_SWAR_SLACK bytes in front
 * of `end` are readable. */
#ifndef UVH_CODEC_HTTP1_JUDGE_H
#define UVH_CODEC_HTTP1_JUDGE_H

#include <uvhttp/parser.h>

/* "HTTP/1.1", and "HTTP/1.1 200 ". */
enum { UVH_H1_VERSION_LENGTH = 8, UVH_H1_STATUS_LENGTH = 13 };

/* Notes why and where a message is refused. Returns UVHTTP_PARSE_BAD. */
uvhttp_parse_result_t uvh_h1_refuse(uvhttp_head_t *head, uvhttp_reason_t reason, size_t offset);

/* The request line, with the empty lines in front of it (RFC 9112 sections 2.2 and 3), however
 * it is cut: what has been found is noted in `head` and not looked at again. Also DONE, with
 * size set. */
uvhttp_parse_result_t uvh_h1_judge_request_line(uvhttp_head_t *head, const char *data,
                                                const char *end, uint32_t max_target);

/* The status line (RFC 9112 section 4), the same way. */
uvhttp_parse_result_t uvh_h1_judge_status_line(uvhttp_head_t *head, const char *data,
                                               const char *end);

/* The field line at `line`; `full` when the table has no room for it. head->size becomes its
 * offset. */
uvhttp_parse_result_t uvh_h1_judge_line(uvhttp_head_t *head, const char *data, const char *line,
                                        const char *end, bool full);

/* Parses [data, end). */
typedef uvhttp_parse_result_t (*uvh_h1_parse_fn)(uvhttp_head_t *head, const char *data,
                                                 const char *end,
                                                 const uvhttp_head_limits_t *limits);

/* Runs `parse` over [data, end), which is what the limits let count of an input; if that is shorter
 * than UVH_SWAR_SLACK, over a copy that has so many bytes in front. Then as uvh_h1_unfinished.
 * Offsets are those of `data`. */
uvhttp_parse_result_t uvh_h1_resume(uvh_h1_parse_fn parse, uvhttp_reason_t too_large,
                                    uvhttp_head_t *head, const char *data, const char *end,
                                    const uvhttp_head_limits_t *limits);

/* Passes on DONE and BAD, and after MORE notes that `length` bytes have been searched; `too_large`
 * is why a part that is not complete within the limit is refused. */
uvhttp_parse_result_t uvh_h1_unfinished(uvhttp_parse_result_t result, uvhttp_reason_t too_large,
                                        uvhttp_head_t *head, size_t length,
                                        const uvhttp_head_limits_t *limits);

#endif
