/* The quick half of the head parser, compiled once per back end: each file h1_parser_*.c names the header
 * that finds lines for it (lines.h says what that gives) and includes this.
 *
 * A complete and correct head is parsed straight through, once. What stops it goes to h1_judge.c. When bytes are missing the answer
 * is MORE, and what was found so far stays in `head` (which part is under way shows by which of target_offset, target_length and
 * size are still 0), so that no byte of a method, target or phrase is looked at twice, apart from the first call, and no byte of a field line
 * more than three times, however the head is cut.
 *
 * Nothing at or past `end` is ever read. */
#ifndef UVH_CODEC_H1_PARSER_H
#define UVH_CODEC_H1_PARSER_H

#include <uvhttp/parser.h>

#include <string.h>

#include "base/compiler.h"
#include "codec/chars.h"
#include "codec/field.h"
#include "codec/field_table.h"
#include "codec/h1_backend.h"
#include "codec/h1_judge.h"
#include "codec/method.h"
#include "codec/scan_swar.h"

/* What a file h1_parser_*.c defines before it includes this. */
#if !defined(UVH_LINES_HEADER)
#define UVH_LINES_HEADER    "codec/lines_swar.h"
#define UVH_H1_BACKEND      uvh_h1_backend_swar
#define UVH_H1_BACKEND_NAME "swar"
#endif
#include UVH_LINES_HEADER

/* CR LF; the compiler makes one comparison of it. */
static inline bool is_line_end(const char *p)
{
    return memcmp(p, "\r\n", 2) == 0;
}

static inline bool is_empty_line(const char *p, const char *end)
{
    return end - p >= 2 && is_line_end(p);
}

static inline bool is_http_1_1(const char *p)
{
    return memcmp(p, "HTTP/1.1", UVH_H1_VERSION_LENGTH) == 0;
}

/* A request line that is there and usual. True when it was taken; otherwise nothing has changed. */
static UVH_ALWAYS_INLINE bool take_request_line(const struct uvh_lines *lines, uvhttp_head_t *head,
                                                const char *data, const char *end, size_t max_target)
{
    uvhttp_method_t method = UVHTTP_METHOD_GET;
    unsigned length = 3;
    if (memcmp(data, "GET ", 4) != 0) { /* most requests; one comparison */
        uint64_t word = uvh_swar_load(data);
        uint64_t spaces = uvh_swar_match_byte(word, ' ');
        if (spaces == 0)
            return false;
        length = uvh_swar_first(spaces);
        method = uvh_method_of_word(word & ((UINT64_C(1) << (8 * length)) - 1), length);
        if (method == UVHTTP_METHOD_OTHER)
            return false;
    }
    const char *target = data + length + 1;
    const struct uvh_lines_target found = uvh_lines_find_target(lines, target);
    const char *stop = found.end;
    size_t target_length = (size_t)(stop - target);
    if (end - stop < 1 + UVH_H1_VERSION_LENGTH + 2 || *stop != ' ' || target_length - 1 >= max_target ||
        !is_http_1_1(stop + 1) || !is_line_end(stop + 1 + UVH_H1_VERSION_LENGTH))
        return false;
    head->method = (uint8_t)method;
    head->minor_version = 1;
    head->method_length = (uint16_t)length;
    head->target_offset = length + 1;
    head->target_length = (uint32_t)target_length;
    if (found.question != NULL)
        head->query_offset = (uint32_t)(found.question + 1 - data);
    head->size = (uint32_t)(stop + 1 + UVH_H1_VERSION_LENGTH + 2 - data);
    return true;
}

/* A status line, the same way. */
static UVH_ALWAYS_INLINE bool take_status_line(struct uvh_lines *lines, uvhttp_head_t *head, const char *data)
{
    size_t length = uvh_lines_measure_status(lines, data);
    if (!is_http_1_1(data) || length < UVH_H1_STATUS_LENGTH || !is_line_end(data + length) ||
        data[8] != ' ' || data[12] != ' ')
        return false;
    unsigned hundreds = (unsigned)data[9] - '0';
    unsigned tens = (unsigned)data[10] - '0';
    unsigned ones = (unsigned)data[11] - '0';
    if (hundreds > 9 || tens > 9 || ones > 9)
        return false;
    head->minor_version = 1;
    head->status = (uint16_t)(100 * hundreds + 10 * tens + ones);
    head->reason_phrase_offset = UVH_H1_STATUS_LENGTH;
    head->reason_phrase_length = (uint32_t)length - UVH_H1_STATUS_LENGTH;
    head->size = (uint32_t)length + 2;
    return true;
}

static inline bool is_token(const char *p, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!uvh_chars_is(p[i], UVH_CHAR_TOKEN))
            return false;
    }
    return true;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* The value between the colon and the line's end without the white space around it. */
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

/* Takes the line at `line` into `field`; returns the next line, or NULL when the line is not complete and correct. */
static UVH_ALWAYS_INLINE const char *take_line(struct uvh_lines *lines, const char *data, const char *line,
                                               uvhttp_field_t *field)
{
    const struct uvh_line measured = uvh_lines_measure(lines, line);
    size_t name_length = measured.name_length;
    if (name_length == 0)
        return NULL;
    const char *colon = line + name_length;
    const char *stop = line + measured.length;
    if (!is_line_end(stop) || *colon != ':')
        return NULL;
    size_t colon_offset = (size_t)(colon - data);
    unsigned id;
    if (UVH_LIKELY(colon_offset >= UVH_FIELD_NAME_FRONT))
        id = uvh_field_table_find(colon, name_length);
    else /* a very short first line, or a trailer, stands in front of it */
        id = uvh_field_lookup((uvhttp_slice_t){line, name_length});
    if (!UVH_LINES_CHECK_NAMES && id == UVHTTP_FIELD_OTHER && !is_token(line, name_length))
        return NULL; /* a name found in the table is a token */
    field->name_offset = (uint32_t)(line - data);
    field->value_offset = (uint32_t)colon_offset + 2;
    field->value_length = (uint32_t)(measured.length - name_length) - 2;
    field->name_length = (uint16_t)name_length;
    field->id = (uint8_t)id;
    field->repeated = 0;
    /* Nearly always exactly one space stands around the value, in front of it. */
    if (UVH_UNLIKELY(colon[1] != ' ' || (unsigned char)colon[2] <= ' ' || (unsigned char)stop[-1] <= ' '))
        trim(field, data, colon, stop);
    return stop + 2;
}

/* Field lines from `line` up to the empty line, of which head->field_count are there already. DONE: head->size counts the empty line; MORE: it
 * is the offset of the first incomplete line. */
static UVH_ALWAYS_INLINE uvhttp_parse_result_t parse_fields(struct uvh_lines *lines, uvhttp_head_t *head,
                                                            const char *data, const char *line,
                                                            const char *end, uint32_t max_fields)
{
    uvhttp_field_t *field = head->fields + head->field_count;
    uvhttp_field_t *last =
        head->fields + (max_fields < head->field_capacity ? max_fields : head->field_capacity);
    while (!is_empty_line(line, end)) {
        const char *next = field < last ? take_line(lines, data, line, field) : NULL;
        if (UVH_UNLIKELY(next == NULL)) {
            head->field_count = (uint16_t)(field - head->fields);
            return uvh_h1_judge_line(head, data, line, end, field >= last);
        }
        line = next;
        uint16_t *first = &head->known[field->id];
        /* Its value is looked at while its bytes are near; h1_framing.c does the rest. */
        if (UVH_UNLIKELY(field->id == UVHTTP_FIELD_HOST))
            head->host_name_length = (uint16_t)uvh_lines_reg_name(data + field->value_offset, end);
        field++;
        if (UVH_UNLIKELY(*first != 0 && first != head->known))
            head->fields[*first - 1].repeated = 1;
        else /* that of unknown names is cleared below: cheaper than asking */
            *first = (uint16_t)(field - head->fields);
    }
    head->field_count = (uint16_t)(field - head->fields);
    head->size = (uint32_t)(line + 2 - data);
    head->known[UVHTTP_FIELD_OTHER] = 0;
    return UVHTTP_PARSE_DONE;
}

/* Field lines from offset head->size on, of a head that has come piece by piece, or whose start line is unusual, or that has none. */
static UVH_NEVER_INLINE uvhttp_parse_result_t resume_trailers(uvhttp_head_t *head, const char *data,
                                                              const char *end,
                                                              const uvhttp_head_limits_t *limits)
{
    /* Nothing new is complete before the next LF; what was searched for it is not searched again. */
    if (head->scanned > head->size && uvh_scan_line_feed(data + head->scanned, end) == end)
        return UVHTTP_PARSE_MORE;
    struct uvh_lines lines;
    uvh_lines_begin(&lines, data + head->size, end);
    return parse_fields(&lines, head, data, data + head->size, end, limits->max_fields);
}

static UVH_NEVER_INLINE uvhttp_parse_result_t resume_request(uvhttp_head_t *head, const char *data,
                                                             const char *end,
                                                             const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    if (head->size == 0)
        result = uvh_h1_judge_request_line(head, data, end, limits->max_target);
    return result == UVHTTP_PARSE_DONE ? resume_trailers(head, data, end, limits) : result;
}

static UVH_NEVER_INLINE uvhttp_parse_result_t resume_response(uvhttp_head_t *head, const char *data,
                                                              const char *end,
                                                              const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    if (head->size == 0)
        result = uvh_h1_judge_status_line(head, data, end);
    return result == UVHTTP_PARSE_DONE ? resume_trailers(head, data, end, limits) : result;
}

/* What a parse function returns that does not take [data, end), which is what the limits let count of an input, straight through. A short input is
 * left to the portable back end, and there one shorter than a word is parsed in a copy. */
#define UVH_H1_RESUME(part, too_large)                                                      \
    ((size_t)UVH_LINES_SHORTEST > (size_t)UVH_SWAR_SLACK && end - data < UVH_LINES_SHORTEST \
         ? uvh_h1_backend_swar.part(head, data, length, limits)                             \
         : uvh_h1_resume(resume_##part, UVHTTP_REASON_##too_large, head, data, end, limits))

static uvhttp_parse_result_t parse_request(uvhttp_head_t *head, const char *data, size_t length,
                                           const uvhttp_head_limits_t *limits)
{
    const char *end = data + (length < limits->max_size ? length : limits->max_size);
    struct uvh_lines lines;
    head->base = data;
    if (UVH_UNLIKELY(head->scanned > 0 || end - data < UVH_LINES_SHORTEST))
        return UVH_H1_RESUME(request, HEAD_TOO_LARGE);
    uvh_lines_begin_message(&lines, data, end);
    if (!take_request_line(&lines, head, data, end, limits->max_target))
        return UVH_H1_RESUME(request, HEAD_TOO_LARGE);
    uvhttp_parse_result_t result =
        parse_fields(&lines, head, data, data + head->size, end, limits->max_fields);
    if (UVH_UNLIKELY(result != UVHTTP_PARSE_DONE))
        return uvh_h1_unfinished(result, UVHTTP_REASON_HEAD_TOO_LARGE, head, (size_t)(end - data), limits);
    return UVHTTP_PARSE_DONE;
}

static uvhttp_parse_result_t parse_response(uvhttp_head_t *head, const char *data, size_t length,
                                            const uvhttp_head_limits_t *limits)
{
    const char *end = data + (length < limits->max_size ? length : limits->max_size);
    struct uvh_lines lines;
    head->base = data;
    if (UVH_UNLIKELY(head->scanned > 0 || end - data < UVH_LINES_SHORTEST))
        return UVH_H1_RESUME(response, HEAD_TOO_LARGE);
    uvh_lines_begin(&lines, data, end);
    if (!take_status_line(&lines, head, data))
        return UVH_H1_RESUME(response, HEAD_TOO_LARGE);
    uvhttp_parse_result_t result =
        parse_fields(&lines, head, data, data + head->size, end, limits->max_fields);
    if (UVH_UNLIKELY(result != UVHTTP_PARSE_DONE))
        return uvh_h1_unfinished(result, UVHTTP_REASON_HEAD_TOO_LARGE, head, (size_t)(end - data), limits);
    return UVHTTP_PARSE_DONE;
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
