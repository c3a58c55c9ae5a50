/* The slow path of the head parser: input that the fast path of parser.h rejects is checked here
 * byte by byte, and is accepted, incomplete, or rejected with a reason. All errors are defined
 * here, shared by all back ends.
 *
 * All functions return MORE or BAD (stored in `head`), unless stated otherwise; UVH_SWAR_SLACK
 * bytes before `end` are readable. */
#ifndef UVH_CODEC_HTTP1_JUDGE_H
#define UVH_CODEC_HTTP1_JUDGE_H

#include <uvhttp/parser.h>

/* "HTTP/1.1", and "HTTP/1.1 200 ". */
enum { UVH_H1_VERSION_LENGTH = 8, UVH_H1_STATUS_LENGTH = 13 };

/* Stores why and where a message is rejected. Returns UVHTTP_PARSE_BAD. */
uvhttp_parse_result_t uvh_h1_refuse(uvhttp_head_t *head, uvhttp_reason_t reason, size_t offset);

/* The request line with preceding empty lines (RFC 9112 sections 2.2 and 3), in any number of
 * parts: progress is stored in `head`, and no byte is checked again. Also DONE, with size set. */
uvhttp_parse_result_t uvh_h1_judge_request_line(uvhttp_head_t *head, const char *data,
                                                const char *end, uint32_t max_target);

/* The status line (RFC 9112 section 4), the same way. */
uvhttp_parse_result_t uvh_h1_judge_status_line(uvhttp_head_t *head, const char *data,
                                               const char *end);

/* The field line at `line`; `full` if the field table is full. head->size becomes its offset. */
uvhttp_parse_result_t uvh_h1_judge_line(uvhttp_head_t *head, const char *data, const char *line,
                                        const char *end, bool full);

/* Parses [data, end). */
typedef uvhttp_parse_result_t (*uvh_h1_parse_fn)(uvhttp_head_t *head, const char *data,
                                                 const char *end,
                                                 const uvhttp_head_limits_t *limits);

/* Runs `parse` over [data, end), the input cut to the limits. Input shorter than UVH_SWAR_SLACK is
 * copied, so that so many bytes before it are readable. Then as uvh_h1_unfinished. Offsets are
 * those of `data`. */
uvhttp_parse_result_t uvh_h1_resume(uvh_h1_parse_fn parse, uvhttp_reason_t too_large,
                                    uvhttp_head_t *head, const char *data, const char *end,
                                    const uvhttp_head_limits_t *limits);

/* Returns DONE and BAD unchanged. For MORE it stores that `length` bytes have been searched;
 * `too_large` is the reason if the part is not complete within the limit. */
uvhttp_parse_result_t uvh_h1_unfinished(uvhttp_parse_result_t result, uvhttp_reason_t too_large,
                                        uvhttp_head_t *head, size_t length,
                                        const uvhttp_head_limits_t *limits);

#endif
