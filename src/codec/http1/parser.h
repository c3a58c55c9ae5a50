/* The fast path of the head parser, compiled once per back end: each file parser_*.c names the
 * header that finds lines for it (interface in lines.h) and includes this.
 *
 * A complete and valid head is parsed in one pass. On anything else check.c is called. For an
 * incomplete head the result is MORE, and the progress is stored in `head`: the first of
 * target_offset, target_length and size that is still 0 shows the current part, and `scanned` how
 * many bytes have been searched for its end. Later calls do not search them again. So the time for
 * a head is linear in its size, however it is split; only version and status, at most 13 bytes, are
 * checked again in each call.
 *
 * No byte at or after `end` is ever read. */
#ifndef UVH_CODEC_HTTP1_PARSER_H
#define UVH_CODEC_HTTP1_PARSER_H

#include <uvhttp/parser.h>

#include <string.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/fields/field_table.h"
#include "codec/http1/backend.h"
#include "codec/http1/check.h"
#include "codec/http1/method.h"
#include "codec/simd/scan_swar.h"
#include "codec/text/chars.h"

/* A file parser_*.c defines these before it includes this header. The defaults only make the header
 * complete by itself. */
#if !defined(UVH_LINES_HEADER)
#define UVH_LINES_HEADER    "codec/http1/lines_swar.h"
#define UVH_H1_BACKEND      uvh_h1_backend_swar
#define UVH_H1_BACKEND_NAME "swar"
#endif
#include UVH_LINES_HEADER

/* True if CR LF is at `p`. The compiler generates one comparison. */
static inline bool is_line_end(const char *p)
{
    return memcmp(p, "\r\n", 2) == 0;
}

/* Stores the method at `data` and its length in `head`; false if it is unknown, or longer than
 * seven bytes. */
static UVH_ALWAYS_INLINE bool take_method(uvhttp_head_t *head, const char *data)
{
    if (UVH_LIKELY(memcmp(data, "GET ", 4) == 0)) { /* most requests; one comparison */
        head->method_length = 3;
        head->method = UVHTTP_METHOD_GET;
        return true;
    }
    uint64_t word = uvh_swar_load(data);
    uint64_t spaces = uvh_swar_match_byte(word, ' ');
    if (spaces == 0)
        return false;
    unsigned length = uvh_swar_first(spaces);
    head->method_length = (uint16_t)length;
    head->method = (uint8_t)uvh_method_of_word(word & ((UINT64_C(1) << (8 * length)) - 1), length);
    return head->method != UVHTTP_METHOD_OTHER;
}

/* A complete request line in the usual form. True if it was parsed; otherwise target_offset and
 * size, which show the progress, are unchanged. */
static UVH_ALWAYS_INLINE bool take_request_line(struct uvh_lines *lines, uvhttp_head_t *head,
                                                const char *data, const char *end,
                                                size_t max_target)
{
    static const char after[] = {' ', 'H', 'T', 'T', 'P', '/', '1', '.', '1', '\r', '\n'};
    if (!take_method(head, data))
        return false;
    const char *target = data + head->method_length + 1;
    const struct uvh_lines_target found = uvh_lines_find_target(lines, target);
    size_t target_length = (size_t)(found.end - target);
    if (end - found.end < (ptrdiff_t)sizeof after + 2 ||
        memcmp(found.end, after, sizeof after) != 0 || target_length - 1 >= max_target)
        return false;
    head->minor_version = 1;
    head->target_offset = (uint32_t)(target - data);
    head->target_length = (uint32_t)target_length;
    if (found.question != NULL)
        head->query_offset = (uint32_t)(found.question + 1 - data);
    head->size = (uint32_t)(found.end + sizeof after - data);
    uvh_lines_begin(lines, found.end + sizeof after);
    return true;
}

/* A status line with a phrase, the same way. */
static UVH_ALWAYS_INLINE bool take_status_line(struct uvh_lines *lines, uvhttp_head_t *head,
                                               const char *data)
{
    static const char front[] = {'H', 'T', 'T', 'P', '/', '1', '.', '1', ' '};
    uvh_lines_begin(lines, data);
    const char *line_end = uvh_lines_status_end(lines, data);
    unsigned status;
    if (line_end == NULL || line_end - data <= UVH_H1_STATUS_LENGTH || !is_line_end(line_end) ||
        memcmp(data, front, sizeof front) != 0 || !uvh_swar_status(data + sizeof front, &status))
        return false;
    uvh_lines_taken(lines);
    head->minor_version = 1;
    head->status = (uint16_t)status;
    head->reason_phrase_offset = UVH_H1_STATUS_LENGTH;
    head->reason_phrase_length = (uint32_t)(line_end - data) - UVH_H1_STATUS_LENGTH;
    head->size = (uint32_t)(line_end + 2 - data);
    return true;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The value between the colon and the line's end without surrounding white space. */
static UVH_NEVER_INLINE void trim(uvhttp_field_t *field, const char *data, const char *colon,
                                  const char *stop)
{
    const char *start = colon + 1;
    while (start < stop && is_space(*start))
        start++;
    while (stop > start && is_space(stop[-1]))
        stop--;
    field->value_offset = (uint32_t)(start - data);
    field->value_length = (uint32_t)(stop - start);
}

/* A complete but unusual line: with tabs in its value, or white space other than one space before
 * it. Returns the line's end, or NULL if it is invalid. */
static UVH_ALWAYS_INLINE const char *take_odd_line(struct uvh_lines *lines, const char *data,
                                                   struct uvh_line found, uvhttp_field_t *field)
{
    const char *stop = is_line_end(found.end) ? found.end : uvh_lines_past_tabs(lines, found.end);
    if (stop == NULL || !is_line_end(stop))
        return NULL;
    trim(field, data, found.colon, stop);
    return stop;
}

/* Parses the line at `line` into `field`. Returns the line's end, or NULL if it is incomplete,
 * invalid, or with `quick` slow to parse. */
static UVH_ALWAYS_INLINE const char *take_line(struct uvh_lines *lines, const char *data,
                                               const char *line, uvhttp_field_t *field, bool quick)
{
    const struct uvh_line found = uvh_lines_find(lines, line, quick);
    const char *colon = found.colon;
    const char *stop = found.end;
    if (UVH_UNLIKELY(stop == NULL || stop <= colon))
        return NULL;
    size_t name_length = (size_t)(colon - line);
    const char *value = colon + 2;
    const struct uvh_field_row *row;
    if (quick || colon - data >= UVH_FIELD_NAME_FRONT) /* a start line is longer */
        row = uvh_field_table_find(colon, name_length, uvh_lines_equal);
    else
        row = uvh_field_row_of((uvhttp_slice_t){line, name_length});
    if (row != NULL) /* a name found in the table is a token */
        *field = row->field;
    else if (uvh_lines_is_token(lines, line, name_length, quick))
        *field = (uvhttp_field_t){.name_length = (uint16_t)name_length, .id = UVHTTP_FIELD_OTHER};
    else
        return NULL;
    field->name_offset = (uint32_t)(line - data);
    field->value_offset = (uint32_t)(value - data);
    field->value_length = (uint32_t)(stop - value);
    /* Nearly always there is exactly one space before the value and none after it. */
    if (UVH_LIKELY(colon[1] == ' ' && (unsigned char)colon[2] > ' ' &&
                   (unsigned char)stop[-1] > ' ' && is_line_end(stop)))
        return stop;
    return quick ? NULL : take_odd_line(lines, data, found, field);
}

/* Parses field lines from offset head->size up to the empty line. DONE: head->size includes the
 * empty line; MORE: it is the offset of the first incomplete line. `quick`: a start line was just
 * parsed; then MORE may also mean that the line at head->size is unusual. */
static UVH_ALWAYS_INLINE uvhttp_parse_result_t parse_fields(struct uvh_lines *lines,
                                                            uvhttp_head_t *head, const char *data,
                                                            const char *end, uint32_t max_fields,
                                                            bool quick)
{
    const char *line = data + head->size;
    uint32_t count = quick ? 0 : head->field_count;
    uint32_t most = max_fields < head->field_capacity ? max_fields : head->field_capacity;
    uint64_t present = quick ? 0 : head->present;
    uvhttp_field_t *field = head->fields + count;
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    /* with `quick`, two bytes are available */
    while ((!quick && line >= end - 1) || !is_line_end(line)) {
        const char *stop = count < most ? take_line(lines, data, line, field, quick) : NULL;
        if (UVH_UNLIKELY(stop == NULL)) {
            result = UVHTTP_PARSE_MORE;
            break;
        }
        uvh_lines_taken(lines);
        line = stop + 2;
        unsigned id = field->id;
        uint64_t bit = UINT64_C(1) << id;
        if (UVH_LIKELY((present & bit) == 0))
            head->first[id] = (uint16_t)count;
        else if (id != UVHTTP_FIELD_OTHER)
            head->fields[head->first[id]].repeated = 1;
        present |= bit;
        count++;
        field++;
    }
    head->field_count = (uint16_t)count;
    head->present = present & ~UVH_FIELD_BIT(OTHER);
    head->size = (uint32_t)(line - data);
    if (UVH_UNLIKELY(result != UVHTTP_PARSE_DONE))
        return quick ? result : uvh_h1_check_line(head, data, line, end, count >= most);
    head->size += 2;
    /* The value is checked while it is in the cache; framing.c does the rest. */
    if ((present & UVH_FIELD_BIT(HOST)) != 0)
        head->host_name_length = (uint16_t)uvh_lines_reg_name(
            lines, data + head->fields[head->first[UVHTTP_FIELD_HOST]].value_offset);
    return UVHTTP_PARSE_DONE;
}

/* Field lines from offset head->size on, for a head that arrived in several parts, has an unusual
 * start line or none, or has an unusual line there. */
static UVH_NEVER_INLINE uvhttp_parse_result_t resume_trailers(uvhttp_head_t *head, const char *data,
                                                              const char *end,
                                                              const uvhttp_head_limits_t *limits)
{
    /* No line is complete before the next LF; searched bytes are not searched again. */
    if (head->scanned > head->size && uvh_scan_line_feed(data + head->scanned, end) == end)
        return UVHTTP_PARSE_MORE;
    struct uvh_lines lines;
    uvh_lines_open(&lines, end, 1);
    uvh_lines_begin(&lines, data + head->size);
    return parse_fields(&lines, head, data, end, limits->max_fields, false);
}

static UVH_NEVER_INLINE uvhttp_parse_result_t resume_request(uvhttp_head_t *head, const char *data,
                                                             const char *end,
                                                             const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    if (head->size == 0)
        result = uvh_h1_check_request_line(head, data, end, limits->max_target);
    return result == UVHTTP_PARSE_DONE ? resume_trailers(head, data, end, limits) : result;
}

static UVH_NEVER_INLINE uvhttp_parse_result_t resume_response(uvhttp_head_t *head, const char *data,
                                                              const char *end,
                                                              const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    if (head->size == 0)
        result = uvh_h1_check_status_line(head, data, end);
    return result == UVHTTP_PARSE_DONE ? resume_trailers(head, data, end, limits) : result;
}

/* The result of a parse function that cannot parse [data, end), the input cut to the limits, in
 * one pass. Short input is parsed by the portable back end; input shorter than a word is copied
 * first. */
#define UVH_H1_RESUME(part, too_large)                                                      \
    ((size_t)UVH_LINES_SHORTEST > (size_t)UVH_SWAR_SLACK && end - data < UVH_LINES_SHORTEST \
         ? uvh_h1_backend_swar.part(head, data, length, limits)                             \
         : uvh_h1_resume(resume_##part, UVHTTP_REASON_##too_large, head, data, end, limits))

static uvhttp_parse_result_t parse_request(uvhttp_head_t *head, const char *data, size_t length,
                                           const uvhttp_head_limits_t *limits)
{
    const char *end = data + (length < limits->max_size ? length : limits->max_size);
    head->base = data;
    if (UVH_LIKELY(head->scanned == 0 && end - data >= UVH_LINES_SHORTEST)) {
        struct uvh_lines lines;
        uvh_lines_open(&lines, end, UVH_LINES_AFTER);
        if (take_request_line(&lines, head, data, end, limits->max_target) &&
            parse_fields(&lines, head, data, end, limits->max_fields, true) == UVHTTP_PARSE_DONE)
            return UVHTTP_PARSE_DONE;
    }
    return UVH_H1_RESUME(request, HEAD_TOO_LARGE);
}

static uvhttp_parse_result_t parse_response(uvhttp_head_t *head, const char *data, size_t length,
                                            const uvhttp_head_limits_t *limits)
{
    const char *end = data + (length < limits->max_size ? length : limits->max_size);
    head->base = data;
    if (UVH_LIKELY(head->scanned == 0 && end - data >= UVH_LINES_SHORTEST)) {
        struct uvh_lines lines;
        uvh_lines_open(&lines, end, UVH_LINES_AFTER);
        if (take_status_line(&lines, head, data) &&
            parse_fields(&lines, head, data, end, limits->max_fields, true) == UVHTTP_PARSE_DONE)
            return UVHTTP_PARSE_DONE;
    }
    return UVH_H1_RESUME(response, HEAD_TOO_LARGE);
}

static uvhttp_parse_result_t parse_trailers(uvhttp_head_t *head, const char *data, size_t length,
                                            const uvhttp_head_limits_t *limits)
{
    const char *end = data + (length < limits->max_size ? length : limits->max_size);
    head->base = data;
    return UVH_H1_RESUME(trailers, TRAILER_TOO_LARGE);
}

const struct uvh_h1_backend UVH_H1_BACKEND = {
    .name = UVH_H1_BACKEND_NAME,
    .request = parse_request,
    .response = parse_response,
    .trailers = parse_trailers,
};

#endif
