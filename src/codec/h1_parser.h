/* The quick half of the head parser, compiled once per back end: each file h1_parser_*.c names the header
 * that scans for it and includes this.
 *
 * A complete and correct head is parsed straight through, once. What stops it goes to h1_judge.c. When bytes are missing the answer
 * is MORE, and what was found so far stays in `head` (which part is under way shows by which of target_offset, target_length and
 * size are still 0), so that no byte of a method, target or phrase is looked at twice and no byte of a field line more than
 * three times, however the head is cut.
 *
 * The back end provides:
 *   UVH_LINES_CHECK_NAMES            uvh_lines_name_end stops at the first byte that is no token, not just at the colon
 *   struct uvh_lines                 where it is in the field lines
 *   uvh_lines_begin(lines, p, end)
 *   uvh_lines_name_end(lines, p)     the colon behind the name at `p`, or whatever else ends it, or `end`
 *   uvh_lines_value_end(lines, p)    the first control but HTAB, or DEL (RFC 9110 section 5.5), or `end`
 *   uvh_lines_target_end(lines, p, &mark)
 *                                    the first SP, control, DEL, '#' or byte above 0x7f, or `end`; `mark` is set to the first '?'
 *                                    before it if there is one
 *   UVH_LINES_SLACK                  so many bytes in front of `end` are touched even if the input is shorter
 * Nothing at or past `end` is ever read. */
#ifndef UVH_CODEC_H1_PARSER_H
#define UVH_CODEC_H1_PARSER_H

#include <uvhttp/parser.h>

#include <string.h>

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

static inline bool is_http_1_1(const char *p)
{
    return memcmp(p, "HTTP/1.1", UVH_H1_VERSION_LENGTH) == 0;
}

static inline uvhttp_parse_result_t parse_method(uvhttp_head_t *head, const char *data, const char *end)
{
    const char *start = data + head->start;
    if (end - start < 8)
        return uvh_h1_judge_method(head, data, end);
    uint64_t word = uvh_swar_load(start);
    uint64_t spaces = uvh_swar_match_byte(word, ' ');
    if (spaces == 0)
        return uvh_h1_judge_method(head, data, end);
    unsigned length = uvh_swar_first(spaces);
    uvhttp_method_t method = uvh_method_of_word(word & ((UINT64_C(1) << (8 * length)) - 1), length);
    if (method == UVHTTP_METHOD_OTHER)
        return uvh_h1_judge_method(head, data, end);
    head->method = (uint8_t)method;
    head->method_length = (uint16_t)length;
    head->target_offset = head->start + length + 1;
    return UVHTTP_PARSE_DONE;
}

/* The target's form and encoding are looked at later (h1_framing.c, target.c); here it only has to end at
 * a space. The set is that of RFC 3986 plus the visible characters that old and careless clients leave
 * unencoded ('"' '<' '>' '\' '^' '`' '{' '|' '}'): they mean nothing to framing or routing. '#' is
 * refused, since a fragment is never sent, and so are bytes above 0x7f. */
static inline uvhttp_parse_result_t parse_target(struct uvh_lines *lines, uvhttp_head_t *head,
                                                 const char *data, const char *end, uint32_t max_target)
{
    const char *start = data + head->target_offset;
    const char *from = head->scanned > head->target_offset ? data + head->scanned : start;
    const char *mark = NULL;
    const char *stop = uvh_lines_target_end(lines, from, &mark);
    if (mark != NULL && head->query_offset == 0)
        head->query_offset = (uint32_t)(mark + 1 - data);
    if ((size_t)(stop - start) > max_target)
        return uvh_h1_refuse(head, UVHTTP_REASON_TARGET_TOO_LONG, (size_t)head->target_offset + max_target);
    if (stop == end)
        return UVHTTP_PARSE_MORE;
    if (*stop == '\r' || *stop == '\n') /* the request line ends without a version */
        return uvh_h1_refuse(head, UVHTTP_REASON_VERSION, (size_t)(stop - data));
    if (*stop != ' ' || stop == start)
        return uvh_h1_refuse(head, UVHTTP_REASON_TARGET, (size_t)(stop - data));
    head->target_length = (uint32_t)(stop - start);
    return UVHTTP_PARSE_DONE;
}

static inline uvhttp_parse_result_t parse_request_version(uvhttp_head_t *head, const char *data,
                                                          const char *end)
{
    const char *p = data + head->target_offset + head->target_length + 1;
    if (end - p < UVH_H1_VERSION_LENGTH + 2 || !is_http_1_1(p) || p[8] != '\r' || p[9] != '\n')
        return uvh_h1_judge_request_version(head, data, p, end);
    head->minor_version = 1;
    head->size = (uint32_t)(p + UVH_H1_VERSION_LENGTH + 2 - data);
    return UVHTTP_PARSE_DONE;
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

/* CR LF; the compiler makes one comparison of it. */
static inline bool is_line_end(const char *p)
{
    return memcmp(p, "\r\n", 2) == 0;
}

/* The id of a name. A lookup loads the eight bytes in front of the name's end, which a start line provides. */
static inline uvhttp_field_id_t identify(const char *name, size_t length, bool behind_start_line)
{
    if (behind_start_line || length >= 8)
        return uvh_field_table_find(name, length);
    return uvh_field_lookup((uvhttp_slice_t){name, length});
}

/* Takes the line at `line` into `field`; returns the next line, or NULL when the line is not complete and correct. */
static inline const char *take_line(struct uvh_lines *lines, const char *data, const char *line,
                                    const char *end, uvhttp_field_t *field, bool behind_start_line)
{
    const char *colon = uvh_lines_name_end(lines, line);
    size_t name_length = (size_t)(colon - line);
    if (colon == end || *colon != ':' || name_length - 1 >= UINT16_MAX)
        return NULL;
    uvhttp_field_id_t id = identify(line, name_length, behind_start_line);
    if (!UVH_LINES_CHECK_NAMES && id == UVHTTP_FIELD_OTHER && !is_token(line, name_length))
        return NULL; /* a name found in the table is a token */
    const char *value = colon + 1;
    while (value < end && is_space(*value))
        value++;
    const char *stop = uvh_lines_value_end(lines, value);
    if (end - stop < 2 || !is_line_end(stop))
        return NULL;
    const char *next = stop + 2;
    while (stop > value && is_space(stop[-1]))
        stop--;
    *field = (uvhttp_field_t){
        .name_offset = (uint32_t)(line - data),
        .value_offset = (uint32_t)(value - data),
        .value_length = (uint32_t)(stop - value),
        .name_length = (uint16_t)name_length,
        .id = (uint8_t)id,
    };
    return next;
}

/* Field lines from offset head->size up to the empty line. DONE: head->size counts that; MORE: it is the offset of the first incomplete
 * line. */
static inline uvhttp_parse_result_t parse_fields(struct uvh_lines *lines, uvhttp_head_t *head,
                                                 const char *data, const char *end, uint32_t max_fields,
                                                 bool behind_start_line)
{
    /* Nothing new is complete before the next LF; what was searched for it is not searched again. */
    if (head->scanned > head->size && uvh_scan_line_feed(data + head->scanned, end) == end)
        return UVHTTP_PARSE_MORE;
    const char *line = data + head->size;
    uvhttp_field_t *fields = head->fields;
    uint32_t capacity = max_fields < head->field_capacity ? max_fields : head->field_capacity;
    uint32_t count = head->field_count;
    const char *next = NULL;
    while (end - line >= 2) {
        if (is_line_end(line)) {
            head->field_count = (uint16_t)count;
            head->size = (uint32_t)(line + 2 - data);
            head->known[UVHTTP_FIELD_OTHER] = 0; /* written below for unknown names, to save a branch */
            return UVHTTP_PARSE_DONE;
        }
        if (count >= capacity ||
            (next = take_line(lines, data, line, end, &fields[count], behind_start_line)) == NULL)
            break;
        line = next;
        uint16_t *first = &head->known[fields[count].id];
        count++;
        if (*first == 0)
            *first = (uint16_t)count;
        else
            fields[*first - 1].repeated = fields[*first - 1].id != UVHTTP_FIELD_OTHER;
    }
    head->field_count = (uint16_t)count;
    return uvh_h1_judge_line(head, data, line, end, count >= capacity);
}

static uvhttp_parse_result_t parse_request(uvhttp_head_t *head, const char *data, const char *end,
                                           const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    struct uvh_lines lines;
    uvh_lines_begin(&lines, data + head->size, end);
    if (head->target_offset == 0)
        result = parse_method(head, data, end);
    if (result == UVHTTP_PARSE_DONE && head->target_length == 0)
        result = parse_target(&lines, head, data, end, limits->max_target);
    if (result == UVHTTP_PARSE_DONE && head->size == 0)
        result = parse_request_version(head, data, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    return parse_fields(&lines, head, data, end, limits->max_fields, true);
}

/* The usual beginning of a status line, all of it there. */
static inline bool is_status_1_1(const char *p)
{
    return is_http_1_1(p) && p[8] == ' ' && uvh_chars_is(p[9], UVH_CHAR_DIGIT) &&
           uvh_chars_is(p[10], UVH_CHAR_DIGIT) && uvh_chars_is(p[11], UVH_CHAR_DIGIT) && p[12] == ' ';
}

static inline uvhttp_parse_result_t parse_status_line(struct uvh_lines *lines, uvhttp_head_t *head,
                                                      const char *data, const char *end)
{
    head->minor_version = 1;
    if (end - data < UVH_H1_STATUS_LENGTH || !is_status_1_1(data)) {
        uvhttp_parse_result_t result = uvh_h1_judge_status(head, data, end);
        if (result != UVHTTP_PARSE_DONE)
            return result;
    }
    const char *phrase = data + UVH_H1_STATUS_LENGTH;
    /* As for field lines: nothing new is complete before the next LF. */
    if (head->scanned > UVH_H1_STATUS_LENGTH && uvh_scan_line_feed(data + head->scanned, end) == end)
        return UVHTTP_PARSE_MORE;
    const char *stop = uvh_lines_value_end(lines, phrase);
    if (end - stop < 2 || stop[0] != '\r' || stop[1] != '\n')
        return uvh_h1_judge_phrase(head, data, stop, end);
    head->status = (uint16_t)((data[9] - '0') * 100 + (data[10] - '0') * 10 + (data[11] - '0'));
    head->reason_phrase_offset = UVH_H1_STATUS_LENGTH;
    head->reason_phrase_length = (uint32_t)(stop - phrase);
    head->size = (uint32_t)(stop + 2 - data);
    return UVHTTP_PARSE_DONE;
}

static uvhttp_parse_result_t parse_response(uvhttp_head_t *head, const char *data, const char *end,
                                            const uvhttp_head_limits_t *limits)
{
    struct uvh_lines lines;
    uvh_lines_begin(&lines, data + head->size, end);
    if (head->size == 0) {
        uvhttp_parse_result_t result = parse_status_line(&lines, head, data, end);
        if (result != UVHTTP_PARSE_DONE)
            return result;
    }
    return parse_fields(&lines, head, data, end, limits->max_fields, true);
}

static uvhttp_parse_result_t parse_trailers(uvhttp_head_t *head, const char *data, const char *end,
                                            const uvhttp_head_limits_t *limits)
{
    struct uvh_lines lines;
    uvh_lines_begin(&lines, data + head->size, end);
    return parse_fields(&lines, head, data, end, limits->max_fields, false);
}

const struct uvh_h1_backend UVH_H1_BACKEND = {
    .name = UVH_H1_BACKEND_NAME,
    .slack = UVH_LINES_SLACK,
    .request = parse_request,
    .response = parse_response,
    .trailers = parse_trailers,
};

#endif
