/* The slow path of the head parser: input that the fast path of parser.h does not accept is checked
 * here byte by byte, and is accepted, incomplete, or rejected with a reason. All back ends use it,
 * so they report the same errors.
 *
 * BAD always means that reason and offset are stored in `head`. UVH_SWAR_SLACK bytes before `end`
 * must be readable. */
#ifndef UVH_CODEC_HTTP1_CHECK_H
#define UVH_CODEC_HTTP1_CHECK_H

#include <uvhttp/parser.h>

/* The lengths of "HTTP/1.1" and of "HTTP/1.1 200 ". */
enum { UVH_H1_VERSION_LENGTH = 8, UVH_H1_STATUS_LENGTH = 13 };

/* Stores why and where a message is rejected. Returns UVHTTP_PARSE_BAD. */
uvhttp_parse_result_t uvh_h1_reject_head(uvhttp_head_t *head, uvhttp_reason_t reason,
                                         size_t offset);

/* Checks the request line and the empty lines before it (RFC 9112 sections 2.2 and 3). Progress is
 * stored in `head`: after MORE, call it again when more bytes have arrived. Bytes of the method and
 * target are not checked again; the version, at most 10 bytes with the line end, is. DONE:
 * head->size is the length of the line. */
uvhttp_parse_result_t uvh_h1_check_request_line(uvhttp_head_t *head, const char *data,
                                                const char *end, uint32_t max_target);

/* The same for the status line (RFC 9112 section 4). Version and status, at most 13 bytes, are
 * checked again in each call, the phrase when its LF has arrived. */
uvhttp_parse_result_t uvh_h1_check_status_line(uvhttp_head_t *head, const char *data,
                                               const char *end);

/* Explains why the fast path did not accept the field line at `line`: MORE if it is incomplete,
 * otherwise BAD. `full`: the field table is full. Sets head->size to the offset of the line. */
uvhttp_parse_result_t uvh_h1_check_line(uvhttp_head_t *head, const char *data, const char *line,
                                        const char *end, bool full);

/* Parses [data, end). */
typedef uvhttp_parse_result_t (*uvh_h1_parse_fn)(uvhttp_head_t *head, const char *data,
                                                 const char *end,
                                                 const uvhttp_head_limits_t *limits);

/* Runs `parse` over [data, end), which is at most limits->max_size long, and returns the result of
 * uvh_h1_end_parse. Input shorter than UVH_SWAR_SLACK is copied, so that UVH_SWAR_SLACK bytes
 * before its end are readable; the stored offsets are the same. */
uvhttp_parse_result_t uvh_h1_resume(uvh_h1_parse_fn parse, uvhttp_reason_t too_large,
                                    uvhttp_head_t *head, const char *data, const char *end,
                                    const uvhttp_head_limits_t *limits);

/* Ends a call of a parse function. Returns DONE and BAD unchanged. After MORE, stores that `length`
 * bytes have been searched, or returns BAD if that is the limit: `too_large` is the reason. */
uvhttp_parse_result_t uvh_h1_end_parse(uvhttp_parse_result_t result, uvhttp_reason_t too_large,
                                       uvhttp_head_t *head, size_t length,
                                       const uvhttp_head_limits_t *limits);

#endif
