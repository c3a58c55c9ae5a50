/* See check.h. The request line, and the version and status of a status line, are checked as they
 * arrive, so that a TLS ClientHello or a binary protocol is rejected at once. A phrase and a field
 * line are checked when their LF has arrived. The result never depends on how the input was
 * split. */
#include "codec/http1/check.h"

#include <string.h>

#include "codec/http1/method.h"
#include "codec/simd/scan_swar.h"
#include "codec/text/chars.h"

uvhttp_parse_result_t uvh_h1_reject_head(uvhttp_head_t *head, uvhttp_reason_t reason, size_t offset)
{
    head->reason = (uint16_t)reason;
    head->reason_offset = (uint32_t)offset;
    return UVHTTP_PARSE_BAD;
}

/* Skips empty lines before a request line (RFC 9112 section 2.2); they count towards the maximum
 * size of the head. Sets head->start to the offset of the first other byte: DONE if it has
 * arrived. */
static uvhttp_parse_result_t skip_empty_lines(uvhttp_head_t *head, const char *data,
                                              const char *end)
{
    const char *p = data + head->start;
    while (p < end && (*p == '\r' || *p == '\n')) {
        if (*p == '\n')
            return uvh_h1_reject_head(head, UVHTTP_REASON_LINE_END, (size_t)(p - data));
        if (p + 1 == end)
            return UVHTTP_PARSE_MORE;
        if (p[1] != '\n')
            return uvh_h1_reject_head(head, UVHTTP_REASON_LINE_END, (size_t)(p - data));
        p += 2;
        head->start = (uint32_t)(p - data);
    }
    return p < end ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_MORE;
}

/* The method and the space that ends it. Sets method, method_length and target_offset. */
static uvhttp_parse_result_t check_method(uvhttp_head_t *head, const char *data, const char *end)
{
    uvhttp_parse_result_t result = skip_empty_lines(head, data, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    const char *start = data + head->start;
    const char *p = head->scanned > head->start ? data + head->scanned : start;
    while (p < end && uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    if (p - start > UINT16_MAX)
        return uvh_h1_reject_head(head, UVHTTP_REASON_METHOD, (size_t)head->start + UINT16_MAX);
    if (p == end)
        return UVHTTP_PARSE_MORE;
    if (*p != ' ' || p == start)
        return uvh_h1_reject_head(head, UVHTTP_REASON_METHOD, (size_t)(p - data));
    head->method_length = (uint16_t)(p - start);
    head->method = (uint8_t)uvh_method_lookup((uvhttp_slice_t){start, head->method_length});
    head->target_offset = (uint32_t)(p + 1 - data);
    return UVHTTP_PARSE_DONE;
}

/* The characters of the target and the space that ends it. Sets target_length and query_offset.
 * framing.c and target.c check form and encoding later. Allowed are the characters of RFC 3986, and
 * the visible ones that old clients send unencoded ('"' '<' '>' '\' '^' '`' '{' '|' '}'), since
 * they do not affect framing or routing. '#' is rejected, because a fragment is never sent, and so
 * are bytes above 0x7f. */
static uvhttp_parse_result_t check_target(uvhttp_head_t *head, const char *data, const char *end,
                                          uint32_t max_target)
{
    const char *start = data + head->target_offset;
    const char *from = head->scanned > head->target_offset ? data + head->scanned : start;
    const char *stop = uvh_scan_target(from, end);
    const char *question =
        head->query_offset == 0 ? memchr(from, '?', (size_t)(stop - from)) : NULL;
    if (question != NULL)
        head->query_offset = (uint32_t)(question + 1 - data);
    if ((size_t)(stop - start) > max_target)
        return uvh_h1_reject_head(head, UVHTTP_REASON_TARGET_TOO_LONG,
                                  (size_t)head->target_offset + max_target);
    if (stop == end)
        return UVHTTP_PARSE_MORE;
    if (*stop == '\r' || *stop == '\n') /* the request line ends without a version */
        return uvh_h1_reject_head(head, UVHTTP_REASON_VERSION, (size_t)(stop - data));
    if (*stop != ' ' || stop == start)
        return uvh_h1_reject_head(head, UVHTTP_REASON_TARGET, (size_t)(stop - data));
    head->target_length = (uint32_t)(stop - start);
    return UVHTTP_PARSE_DONE;
}

/* The version at `p`, checked as far as it has arrived (RFC 9112 section 2.3). */
static uvhttp_parse_result_t check_version(uvhttp_head_t *head, const char *data, const char *p,
                                           const char *end)
{
    static const char form[UVH_H1_VERSION_LENGTH] = {'H', 'T', 'T', 'P',
                                                     '/', '0', '.', '0'}; /* '0': any digit */
    for (int i = 0; i < UVH_H1_VERSION_LENGTH; i++) {
        if (p + i == end)
            return UVHTTP_PARSE_MORE;
        bool fits = form[i] == '0' ? uvh_chars_is(p[i], UVH_CHAR_DIGIT) : p[i] == form[i];
        if (!fits)
            return uvh_h1_reject_head(head, UVHTTP_REASON_VERSION, (size_t)(p + i - data));
    }
    if (p[5] != '1')
        return uvh_h1_reject_head(head, UVHTTP_REASON_VERSION_UNSUPPORTED, (size_t)(p - data));
    head->minor_version = p[7] != '0'; /* a higher minor version is processed as 1.1 */
    return UVHTTP_PARSE_DONE;
}

/* The version and the end of the request line. */
static uvhttp_parse_result_t check_request_version(uvhttp_head_t *head, const char *data,
                                                   const char *end)
{
    const char *p = data + head->target_offset + head->target_length + 1;
    uvhttp_parse_result_t result = check_version(head, data, p, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    p += UVH_H1_VERSION_LENGTH;
    if (p == end)
        return UVHTTP_PARSE_MORE;
    if (*p != '\r' && *p != '\n')
        return uvh_h1_reject_head(head, UVHTTP_REASON_VERSION, (size_t)(p - data));
    if (*p == '\r' && p + 1 == end)
        return UVHTTP_PARSE_MORE;
    if (*p == '\n' || p[1] != '\n')
        return uvh_h1_reject_head(head, UVHTTP_REASON_LINE_END, (size_t)(p - data));
    head->size = (uint32_t)(p + 2 - data);
    return UVHTTP_PARSE_DONE;
}

uvhttp_parse_result_t uvh_h1_check_request_line(uvhttp_head_t *head, const char *data,
                                                const char *end, uint32_t max_target)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    if (head->target_offset == 0)
        result = check_method(head, data, end);
    if (result == UVHTTP_PARSE_DONE && head->target_length == 0)
        result = check_target(head, data, end, max_target);
    return result == UVHTTP_PARSE_DONE ? check_request_version(head, data, end) : result;
}

/* The version and the status code of a status line, and the space after each. */
static uvhttp_parse_result_t check_status(uvhttp_head_t *head, const char *data, const char *end)
{
    uvhttp_parse_result_t result = check_version(head, data, data, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    for (int i = UVH_H1_VERSION_LENGTH; i < UVH_H1_STATUS_LENGTH; i++) {
        if (data + i == end)
            return UVHTTP_PARSE_MORE;
        bool space = i == UVH_H1_VERSION_LENGTH || i == UVH_H1_STATUS_LENGTH - 1;
        if (space ? data[i] != ' ' : !uvh_chars_is(data[i], UVH_CHAR_DIGIT))
            return uvh_h1_reject_head(head, UVHTTP_REASON_STATUS_LINE, (size_t)i);
    }
    return UVHTTP_PARSE_DONE;
}

uvhttp_parse_result_t uvh_h1_check_status_line(uvhttp_head_t *head, const char *data,
                                               const char *end)
{
    uvhttp_parse_result_t result = check_status(head, data, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    const char *phrase = data + UVH_H1_STATUS_LENGTH;
    const char *from = head->scanned > UVH_H1_STATUS_LENGTH ? data + head->scanned : phrase;
    if (uvh_scan_line_feed(from, end) == end)
        return UVHTTP_PARSE_MORE;
    const char *stop = phrase;
    while (uvh_chars_is(*stop, UVH_CHAR_VALUE))
        stop++;
    if (stop[0] != '\r' || stop[1] != '\n') {
        bool line_end = *stop == '\r' || *stop == '\n';
        return uvh_h1_reject_head(head,
                                  line_end ? UVHTTP_REASON_LINE_END : UVHTTP_REASON_STATUS_LINE,
                                  (size_t)(stop - data));
    }
    head->status = (uint16_t)((data[9] - '0') * 100 + (data[10] - '0') * 10 + (data[11] - '0'));
    head->reason_phrase_offset = UVH_H1_STATUS_LENGTH;
    head->reason_phrase_length = (uint32_t)(stop - phrase);
    head->size = (uint32_t)(stop + 2 - data);
    return UVHTTP_PARSE_DONE;
}

/* Checks the name and the colon of a complete field line. Returns NONE with `*at` after the colon,
 * or the error with `*at` at the invalid byte. `*at` must be `line`. */
static uvhttp_reason_t check_name(const char *line, const char **at)
{
    const char *p = line;
    /* RFC 9112 section 5.2, and section 2.2 for the first line */
    if (uvh_chars_is(*p, UVH_CHAR_SPACE))
        return UVHTTP_REASON_FIELD_FOLDED;
    while (uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    *at = p;
    if (*p == ':' && p > line && p - line <= UINT16_MAX) {
        *at = p + 1;
        return UVHTTP_REASON_NONE;
    }
    if (*p == '\n')
        return UVHTTP_REASON_LINE_END;
    const char *after = p;
    while (uvh_chars_is(*after, UVH_CHAR_SPACE))
        after++;
    return after > p && p > line && *after == ':' ? UVHTTP_REASON_FIELD_COLON
                                                  : UVHTTP_REASON_FIELD_NAME;
}

uvhttp_parse_result_t uvh_h1_check_line(uvhttp_head_t *head, const char *data, const char *line,
                                        const char *end, bool full)
{
    head->size = (uint32_t)(line - data);
    const char *line_feed = uvh_scan_line_feed(line, end);
    if (line_feed == end)
        return UVHTTP_PARSE_MORE;
    const char *at = line;
    if (*line == '\r')
        return uvh_h1_reject_head(head, UVHTTP_REASON_LINE_END, (size_t)(at - data));
    if (full)
        return uvh_h1_reject_head(head, UVHTTP_REASON_TOO_MANY_FIELDS, (size_t)(at - data));
    uvhttp_reason_t reason = check_name(line, &at);
    if (reason != UVHTTP_REASON_NONE)
        return uvh_h1_reject_head(head, reason, (size_t)(at - data));
    while (uvh_chars_is(*at, UVH_CHAR_VALUE))
        at++;
    /* The fast path accepts every valid line, so the value has an invalid byte: a CR without LF or
     * an LF without CR (RFC 9112 section 2.2), or another control character. */
    reason = *at == '\r' || *at == '\n' ? UVHTTP_REASON_LINE_END : UVHTTP_REASON_FIELD_VALUE;
    return uvh_h1_reject_head(head, reason, (size_t)(at - data));
}

uvhttp_parse_result_t uvh_h1_end_parse(uvhttp_parse_result_t result, uvhttp_reason_t too_large,
                                       uvhttp_head_t *head, size_t length,
                                       const uvhttp_head_limits_t *limits)
{
    if (result != UVHTTP_PARSE_MORE)
        return result;
    head->scanned = (uint32_t)length;
    if (length < limits->max_size)
        return UVHTTP_PARSE_MORE;
    /* The limit was reached within the target. */
    if (head->target_offset != 0 && head->target_length == 0)
        too_large = UVHTTP_REASON_TARGET_TOO_LONG;
    return uvh_h1_reject_head(head, too_large, length);
}

uvhttp_parse_result_t uvh_h1_resume(uvh_h1_parse_fn parse, uvhttp_reason_t too_large,
                                    uvhttp_head_t *head, const char *data, const char *end,
                                    const uvhttp_head_limits_t *limits)
{
    size_t length = (size_t)(end - data);
    if (length >= UVH_SWAR_SLACK)
        return uvh_h1_end_parse(parse(head, data, end, limits), too_large, head, length, limits);
    /* `parse` may read UVH_SWAR_SLACK bytes before the end. */
    char padded[2 * UVH_SWAR_SLACK] = {0};
    char *copy = padded + UVH_SWAR_SLACK;
    if (length > 0)
        memcpy(copy, data, length);
    return uvh_h1_end_parse(parse(head, copy, copy + length, limits), too_large, head, length,
                            limits);
}
