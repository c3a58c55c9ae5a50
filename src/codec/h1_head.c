/* Message heads (RFC 9112 sections 2 to 5): request line, status line, and the field lines of h1_fields.c.
 *
 * A complete head is parsed straight through, once. When bytes are missing the answer is MORE, and what
 * was found so far stays in `head` (which part is under way shows by which of target_offset, target_length
 * and size are still 0), so that no byte of a method, target or phrase is looked at twice and no byte of a
 * field line more than three times, however the head is cut. A request line is judged byte by byte, so
 * that a TLS hello or a binary protocol is refused at once. Called by server/conn_rx.c and by users of the
 * parser alone. */
#include <uvhttp/parser.h>

#include <string.h>

#include "base/compiler.h"
#include "codec/chars.h"
#include "codec/field.h"
#include "codec/h1_fields.h"
#include "codec/method.h"
#include "codec/scan.h"

enum { VERSION_LENGTH = 8, STATUS_LINE_LENGTH = 13 }; /* "HTTP/1.1"; "HTTP/1.1 200 " */

typedef uvhttp_parse_result_t (*part_parser)(uvhttp_head_t *head, const char *data, const char *end,
                                             const uvhttp_head_limits_t *limits);

static inline bool is_http_1_1(const char *p)
{
    return memcmp(p, "HTTP/1.1", VERSION_LENGTH) == 0;
}

/* Empty lines in front of a request line are skipped (RFC 9112 section 2.2); only the head's limit bounds
 * them. DONE when something else begins at head->start. */
static uvhttp_parse_result_t skip_empty_lines(uvhttp_head_t *head, const char *data, const char *end)
{
    const char *p = data + head->start;
    while (p < end && (*p == '\r' || *p == '\n')) {
        if (*p == '\n')
            return uvh_h1_fields_refuse(head, UVHTTP_REASON_LINE_END, (size_t)(p - data));
        if (p + 1 == end)
            return UVHTTP_PARSE_MORE;
        if (p[1] != '\n')
            return uvh_h1_fields_refuse(head, UVHTTP_REASON_LINE_END, (size_t)(p - data));
        p += 2;
        head->start = (uint32_t)(p - data);
    }
    return p < end ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_MORE;
}

/* A method that is longer than a word, unknown, incomplete or wrong. */
static uvhttp_parse_result_t parse_method_slowly(uvhttp_head_t *head, const char *data, const char *end)
{
    uvhttp_parse_result_t result = skip_empty_lines(head, data, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    const char *start = data + head->start;
    const char *p = head->scanned > head->start ? data + head->scanned : start;
    while (p < end && uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    if (p - start > UINT16_MAX)
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_METHOD, (size_t)head->start + UINT16_MAX);
    if (p == end)
        return UVHTTP_PARSE_MORE;
    if (*p != ' ' || p == start)
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_METHOD, (size_t)(p - data));
    head->method_length = (uint16_t)(p - start);
    head->method = (uint8_t)uvh_method_lookup((uvhttp_slice_t){start, head->method_length});
    head->target_offset = (uint32_t)(p + 1 - data);
    return UVHTTP_PARSE_DONE;
}

static inline uvhttp_parse_result_t parse_method(uvhttp_head_t *head, const char *data, const char *end)
{
    const char *start = data + head->start;
    if (end - start < 8)
        return parse_method_slowly(head, data, end);
    uint64_t word = uvh_swar_load(start);
    uint64_t spaces = uvh_swar_match_byte(word, ' ');
    if (spaces == 0)
        return parse_method_slowly(head, data, end);
    unsigned length = uvh_swar_first(spaces);
    uvhttp_method_t method = uvh_method_of_word(word & ((UINT64_C(1) << (8 * length)) - 1), length);
    if (method == UVHTTP_METHOD_OTHER)
        return parse_method_slowly(head, data, end);
    head->method = (uint8_t)method;
    head->method_length = (uint16_t)length;
    head->target_offset = head->start + length + 1;
    return UVHTTP_PARSE_DONE;
}

/* The target's form and encoding are looked at later (h1_framing.c, target.c); here it only has to end at
 * a space. The set is that of RFC 3986 plus the visible characters that old and careless clients leave
 * unencoded ('"' '<' '>' '\' '^' '`' '{' '|' '}'): they mean nothing to framing or routing. '#' is
 * refused, since a fragment is never sent, and so are bytes above 0x7f. */
static inline uvhttp_parse_result_t parse_target(uvhttp_head_t *head, const char *data, const char *end,
                                                 uint32_t max_target)
{
    const char *start = data + head->target_offset;
    const char *from = head->scanned > head->target_offset ? data + head->scanned : start;
    const char *stop = uvh_scan_target(from, end);
    if ((size_t)(stop - start) > max_target)
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_TARGET_TOO_LONG,
                                    (size_t)head->target_offset + max_target);
    if (stop == end)
        return UVHTTP_PARSE_MORE;
    if (*stop == '\r' || *stop == '\n') /* the request line ends without a version */
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_VERSION, (size_t)(stop - data));
    if (*stop != ' ' || stop == start)
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_TARGET, (size_t)(stop - data));
    head->target_length = (uint32_t)(stop - start);
    return UVHTTP_PARSE_DONE;
}

/* The version at `p`, judged as far as it has arrived (RFC 9112 section 2.3). */
static uvhttp_parse_result_t parse_version(uvhttp_head_t *head, const char *data, const char *p,
                                           const char *end)
{
    static const char form[VERSION_LENGTH] = {'H', 'T', 'T', 'P', '/', '0', '.', '0'}; /* '0': any digit */
    for (int i = 0; i < VERSION_LENGTH; i++) {
        if (p + i == end)
            return UVHTTP_PARSE_MORE;
        bool fits = form[i] == '0' ? uvh_chars_is(p[i], UVH_CHAR_DIGIT) : p[i] == form[i];
        if (!fits)
            return uvh_h1_fields_refuse(head, UVHTTP_REASON_VERSION, (size_t)(p + i - data));
    }
    if (p[5] != '1')
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_VERSION_UNSUPPORTED, (size_t)(p - data));
    head->minor_version = p[7] != '0'; /* a higher minor version is processed as 1.1 */
    return UVHTTP_PARSE_DONE;
}

static uvhttp_parse_result_t parse_request_version_slowly(uvhttp_head_t *head, const char *data,
                                                          const char *p, const char *end)
{
    uvhttp_parse_result_t result = parse_version(head, data, p, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    p += VERSION_LENGTH;
    if (p == end)
        return UVHTTP_PARSE_MORE;
    if (*p != '\r' && *p != '\n')
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_VERSION, (size_t)(p - data));
    if (*p == '\r' && p + 1 == end)
        return UVHTTP_PARSE_MORE;
    if (*p == '\n' || p[1] != '\n')
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_LINE_END, (size_t)(p - data));
    head->size = (uint32_t)(p + 2 - data);
    return UVHTTP_PARSE_DONE;
}

static inline uvhttp_parse_result_t parse_request_version(uvhttp_head_t *head, const char *data,
                                                          const char *end)
{
    const char *p = data + head->target_offset + head->target_length + 1;
    if (end - p < VERSION_LENGTH + 2 || !is_http_1_1(p) || p[8] != '\r' || p[9] != '\n')
        return parse_request_version_slowly(head, data, p, end);
    head->minor_version = 1;
    head->size = (uint32_t)(p + VERSION_LENGTH + 2 - data);
    return UVHTTP_PARSE_DONE;
}

static uvhttp_parse_result_t parse_request(uvhttp_head_t *head, const char *data, const char *end,
                                           const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_DONE;
    if (head->target_offset == 0)
        result = parse_method(head, data, end);
    if (result == UVHTTP_PARSE_DONE && head->target_length == 0)
        result = parse_target(head, data, end, limits->max_target);
    if (result == UVHTTP_PARSE_DONE && head->size == 0)
        result = parse_request_version(head, data, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    return uvh_h1_fields_parse(head, data, end, limits->max_fields);
}

/* "HTTP/1.1 200 ", judged as far as it has arrived (RFC 9112 section 4). */
static uvhttp_parse_result_t parse_status(uvhttp_head_t *head, const char *data, const char *end)
{
    uvhttp_parse_result_t result = parse_version(head, data, data, end);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    for (int i = VERSION_LENGTH; i < STATUS_LINE_LENGTH; i++) {
        if (data + i == end)
            return UVHTTP_PARSE_MORE;
        bool space = i == VERSION_LENGTH || i == STATUS_LINE_LENGTH - 1;
        if (space ? data[i] != ' ' : !uvh_chars_is(data[i], UVH_CHAR_DIGIT))
            return uvh_h1_fields_refuse(head, UVHTTP_REASON_STATUS_LINE, (size_t)i);
    }
    return UVHTTP_PARSE_DONE;
}

/* The usual beginning of a status line, all of it there. */
static inline bool is_status_1_1(const char *p)
{
    return is_http_1_1(p) && p[8] == ' ' && uvh_chars_is(p[9], UVH_CHAR_DIGIT) &&
           uvh_chars_is(p[10], UVH_CHAR_DIGIT) && uvh_chars_is(p[11], UVH_CHAR_DIGIT) && p[12] == ' ';
}

/* Decides about a phrase that is not followed by CR LF at `stop`: MORE while its LF is missing, otherwise
 * what is wrong. */
static uvhttp_parse_result_t judge_phrase(uvhttp_head_t *head, const char *data, const char *stop,
                                          const char *end)
{
    if (uvh_scan_line_feed(stop, end) == end)
        return UVHTTP_PARSE_MORE;
    bool line_end = *stop == '\r' || *stop == '\n';
    return uvh_h1_fields_refuse(head, line_end ? UVHTTP_REASON_LINE_END : UVHTTP_REASON_STATUS_LINE,
                                (size_t)(stop - data));
}

static uvhttp_parse_result_t parse_status_line(uvhttp_head_t *head, const char *data, const char *end)
{
    head->minor_version = 1;
    if (end - data < STATUS_LINE_LENGTH || !is_status_1_1(data)) {
        uvhttp_parse_result_t result = parse_status(head, data, end);
        if (result != UVHTTP_PARSE_DONE)
            return result;
    }
    const char *phrase = data + STATUS_LINE_LENGTH;
    /* As for field lines: nothing new is complete before the next LF. */
    if (head->scanned > STATUS_LINE_LENGTH && uvh_scan_line_feed(data + head->scanned, end) == end)
        return UVHTTP_PARSE_MORE;
    const char *stop = uvh_scan_value(phrase, end);
    if (end - stop < 2 || stop[0] != '\r' || stop[1] != '\n')
        return judge_phrase(head, data, stop, end);
    head->status = (uint16_t)((data[9] - '0') * 100 + (data[10] - '0') * 10 + (data[11] - '0'));
    head->reason_phrase_offset = STATUS_LINE_LENGTH;
    head->reason_phrase_length = (uint32_t)(stop - phrase);
    head->size = (uint32_t)(stop + 2 - data);
    return UVHTTP_PARSE_DONE;
}

static uvhttp_parse_result_t parse_response(uvhttp_head_t *head, const char *data, const char *end,
                                            const uvhttp_head_limits_t *limits)
{
    if (head->size == 0) {
        uvhttp_parse_result_t result = parse_status_line(head, data, end);
        if (result != UVHTTP_PARSE_DONE)
            return result;
    }
    return uvh_h1_fields_parse(head, data, end, limits->max_fields);
}

static uvhttp_parse_result_t parse_trailers(uvhttp_head_t *head, const char *data, const char *end,
                                            const uvhttp_head_limits_t *limits)
{
    return uvh_h1_fields_parse(head, data, end, limits->max_fields);
}

/* Gives a very short input the bytes in front that scanning may touch. Offsets stay those of `data`. */
static uvhttp_parse_result_t parse_short(part_parser parse, uvhttp_head_t *head, const char *data,
                                         size_t length, const uvhttp_head_limits_t *limits)
{
    char padded[2 * UVH_SCAN_SLACK] = {0};
    if (length > 0)
        memcpy(padded + UVH_SCAN_SLACK, data, length);
    return parse(head, padded + UVH_SCAN_SLACK, padded + UVH_SCAN_SLACK + length, limits);
}

/* Runs `parse` over what the limit lets count, and keeps what MORE needs. `too_large` is why a part that
 * is not complete within the limit is refused. */
static inline uvhttp_parse_result_t parse_within(part_parser parse, uvhttp_head_t *head, const char *data,
                                                 size_t length, const uvhttp_head_limits_t *limits,
                                                 uvhttp_reason_t too_large)
{
    size_t usable = length < limits->max_size ? length : limits->max_size;
    head->base = data;
    uvhttp_parse_result_t result = usable >= UVH_SCAN_SLACK ? parse(head, data, data + usable, limits)
                                                            : parse_short(parse, head, data, usable, limits);
    if (result != UVHTTP_PARSE_MORE)
        return result;
    head->scanned = (uint32_t)usable;
    if (usable < limits->max_size)
        return UVHTTP_PARSE_MORE;
    return uvh_h1_fields_refuse(head, too_large, usable);
}

void uvhttp_head_init(uvhttp_head_t *head, uvhttp_field_t *fields, uint16_t capacity)
{
    uvh_clear(head, offsetof(uvhttp_head_t, inline_fields));
    head->fields = fields != NULL ? fields : head->inline_fields;
    head->field_capacity = fields != NULL ? capacity : UVHTTP_HEAD_INLINE_FIELDS;
}

uvhttp_parse_result_t uvhttp_request_head_parse(uvhttp_head_t *head, const char *data, size_t length,
                                                const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result =
        parse_within(parse_request, head, data, length, limits, UVHTTP_REASON_HEAD_TOO_LARGE);
    bool in_target = head->target_offset != 0 && head->target_length == 0;
    if (result == UVHTTP_PARSE_BAD && in_target && head->reason == UVHTTP_REASON_HEAD_TOO_LARGE)
        head->reason = UVHTTP_REASON_TARGET_TOO_LONG; /* the target alone is more than the head may be */
    return result;
}

uvhttp_parse_result_t uvhttp_response_head_parse(uvhttp_head_t *head, const char *data, size_t length,
                                                 const uvhttp_head_limits_t *limits)
{
    return parse_within(parse_response, head, data, length, limits, UVHTTP_REASON_HEAD_TOO_LARGE);
}

uvhttp_parse_result_t uvhttp_trailers_parse(uvhttp_head_t *head, const char *data, size_t length,
                                            const uvhttp_head_limits_t *limits)
{
    uvhttp_parse_result_t result =
        parse_within(parse_trailers, head, data, length, limits, UVHTTP_REASON_TRAILER_TOO_LARGE);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    for (uint32_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        uvhttp_slice_t name = {data + field->name_offset, field->name_length};
        if (uvh_field_forbidden_in_trailer((uvhttp_field_id_t)field->id, name))
            return uvh_h1_fields_refuse(head, UVHTTP_REASON_TRAILER_FORBIDDEN, field->name_offset);
    }
    return UVHTTP_PARSE_DONE;
}

const uvhttp_field_t *uvhttp_head_find(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    if ((unsigned)id >= UVHTTP_FIELD_COUNT || head->known[id] == 0)
        return NULL;
    return &head->fields[head->known[id] - 1];
}

const uvhttp_field_t *uvhttp_head_find_name(const uvhttp_head_t *head, const char *name, size_t length)
{
    uvhttp_slice_t wanted = {name, length};
    uvhttp_field_id_t id = uvh_field_lookup(wanted);
    if (id != UVHTTP_FIELD_OTHER)
        return uvhttp_head_find(head, id);
    for (uint32_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        uvhttp_slice_t present = {head->base + field->name_offset, field->name_length};
        if (field->id == UVHTTP_FIELD_OTHER && uvh_field_name_equal(present, wanted))
            return field;
    }
    return NULL;
}
