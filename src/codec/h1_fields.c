/* Field lines, see h1_fields.h. The loop runs straight through lines that are complete and correct;
 * whatever stops it (an incomplete line, an error) goes to judge_line, which looks again byte by byte and
 * decides. So the quick path needs no error handling, and each error is found in one readable place. */
#include "codec/h1_fields.h"

#include <string.h>

#include "codec/chars.h"
#include "codec/field.h"
#include "codec/field_table.h"
#include "codec/scan.h"

uvhttp_parse_result_t uvh_h1_fields_refuse(uvhttp_head_t *head, uvhttp_reason_t reason, size_t offset)
{
    head->reason = (uint16_t)reason;
    head->reason_offset = (uint32_t)offset;
    return UVHTTP_PARSE_BAD;
}

/* What is wrong with the name of a complete line; NONE and `*at` behind the colon when nothing is. */
static uvhttp_reason_t judge_name(const char *line, const char **at)
{
    const char *p = line;
    if (uvh_chars_is(*p, UVH_CHAR_SPACE))
        return UVHTTP_REASON_FIELD_FOLDED; /* RFC 9112 section 5.2; in front of the first field section 2.2 */
    while (uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    *at = p;
    if (*p == ':' && p > line && p - line <= UINT16_MAX) {
        *at = p + 1;
        return UVHTTP_REASON_NONE;
    }
    if (*p == '\n')
        return UVHTTP_REASON_LINE_END;
    const char *behind = p;
    while (uvh_chars_is(*behind, UVH_CHAR_SPACE))
        behind++;
    return behind > p && p > line && *behind == ':' ? UVHTTP_REASON_FIELD_COLON : UVHTTP_REASON_FIELD_NAME;
}

/* Decides about a line the quick path did not take: MORE while its LF is missing, otherwise what is wrong
 * with it. */
static uvhttp_parse_result_t judge_line(uvhttp_head_t *head, const char *data, const char *line,
                                        const char *end, bool full)
{
    head->size = (uint32_t)(line - data);
    const char *line_feed = uvh_scan_line_feed(line, end);
    if (line_feed == end)
        return UVHTTP_PARSE_MORE;
    const char *at = line;
    if (*line == '\r')
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_LINE_END, (size_t)(at - data));
    if (full)
        return uvh_h1_fields_refuse(head, UVHTTP_REASON_TOO_MANY_FIELDS, (size_t)(at - data));
    uvhttp_reason_t reason = judge_name(line, &at);
    if (reason != UVHTTP_REASON_NONE)
        return uvh_h1_fields_refuse(head, reason, (size_t)(at - data));
    while (uvh_chars_is(*at, UVH_CHAR_VALUE))
        at++;
    /* CR or LF: bare, or the line would have been taken (RFC 9112 section 2.2). */
    reason = *at == '\r' || *at == '\n' ? UVHTTP_REASON_LINE_END : UVHTTP_REASON_FIELD_VALUE;
    return uvh_h1_fields_refuse(head, reason, (size_t)(at - data));
}

static inline bool is_token(const char *p, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!uvh_chars_is(p[i], UVH_CHAR_TOKEN))
            return false;
    }
    return true;
}

/* The id of a name; false when it is no token. A name found in the table is one. */
static inline bool identify(const char *data, const char *name, size_t length, uvhttp_field_id_t *id)
{
    if (length - 1 >= UINT16_MAX)
        return false;
    *id = UVHTTP_FIELD_OTHER;
    if (name + length - data >= 8)
        *id = uvh_field_table_find(name, length);
    else if (length <= UVH_FIELD_NAME_MAX)
        *id = uvh_field_lookup((uvhttp_slice_t){name, length});
    return *id != UVHTTP_FIELD_OTHER || is_token(name, length);
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Behind the white space at `p`, which nearly always is one space. */
static inline const char *skip_space(const char *p, const char *end)
{
    if (end - p >= 2 && p[0] == ' ' && (unsigned char)p[1] > ' ')
        return p + 1;
    while (p < end && is_space(*p))
        p++;
    return p;
}

/* CR LF; the compiler makes one comparison of it. */
static inline bool is_line_end(const char *p)
{
    return memcmp(p, "\r\n", 2) == 0;
}

/* Takes the line at `line` into `field`; returns the next line, or NULL when the line is not complete and
 * correct. */
static inline const char *take_line(const char *data, const char *line, const char *end,
                                    uvhttp_field_t *field)
{
    const char *colon = uvh_scan_colon(line, end);
    uvhttp_field_id_t id;
    if (colon == end || !identify(data, line, (size_t)(colon - line), &id))
        return NULL;
    const char *value = skip_space(colon + 1, end);
    const char *stop = uvh_scan_value(value, end);
    if (end - stop < 2 || !is_line_end(stop))
        return NULL;
    const char *next = stop + 2;
    while (stop > value && is_space(stop[-1]))
        stop--;
    field->name_offset = (uint32_t)(line - data);
    field->value_offset = (uint32_t)(value - data);
    field->value_length = (uint32_t)(stop - value);
    field->name_length = (uint16_t)(colon - line);
    field->id = (uint8_t)id;
    field->repeated = 0;
    return next;
}

uvhttp_parse_result_t uvh_h1_fields_parse(uvhttp_head_t *head, const char *data, const char *end,
                                          uint32_t max_fields)
{
    /* Nothing new is complete before the next LF; what was searched for it is not searched again. */
    if (head->scanned > head->size && uvh_scan_line_feed(data + head->scanned, end) == end)
        return UVHTTP_PARSE_MORE;
    const char *line = data + head->size;
    uvhttp_field_t *fields = head->fields;
    uint32_t capacity = max_fields < head->field_capacity ? max_fields : head->field_capacity;
    uint32_t count = head->field_count;
    while (end - line >= 2) {
        if (is_line_end(line)) {
            head->size = (uint32_t)(line + 2 - data);
            head->known[UVHTTP_FIELD_OTHER] = 0; /* written below for unknown names, to save a branch */
            return UVHTTP_PARSE_DONE;
        }
        const char *next = count < capacity ? take_line(data, line, end, &fields[count]) : NULL;
        if (next == NULL)
            return judge_line(head, data, line, end, count >= capacity);
        line = next;
        uint16_t *first = &head->known[fields[count].id];
        head->field_count = (uint16_t)++count;
        if (*first == 0)
            *first = (uint16_t)count;
        else
            fields[*first - 1].repeated = fields[*first - 1].id != UVHTTP_FIELD_OTHER;
    }
    return judge_line(head, data, line, end, count >= capacity);
}
