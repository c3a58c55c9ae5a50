/* The header section of a part (RFC 7578 section 4, RFC 2046 section 5.1) and the boundary of a
 * Content-Type, see multipart_head.h.
 *
 * Names are escaped in two ways. Browsers, and curl by default, write %22, %0D and %0A for bytes
 * that would end the quoted string or the line (WHATWG HTML, "multipart/form-data encoding
 * algorithm"), and escape nothing else, not even '%'. Others put a backslash before quotes and
 * backslashes (RFC 9110 section 5.6.4). Both are decoded, and everything else is kept: a backslash
 * before another byte is part of a path from an old browser. */
#include "codec/forms/multipart_head.h"

#include <string.h>

#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/fields/parameter.h"
#include "codec/text/chars.h"

bool uvh_multipart_head_is_boundary(uvhttp_slice_t boundary)
{
    if (boundary.length == 0 || boundary.length > UVHTTP_MULTIPART_BOUNDARY_SIZE ||
        boundary.base[boundary.length - 1] == ' ')
        return false;
    for (size_t i = 0; i < boundary.length; i++) {
        char c = boundary.base[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!letter && !uvh_chars_is(c, UVH_CHAR_DIGIT) && memchr("'()+_,-./:=? ", c, 13) == NULL)
            return false;
    }
    return true;
}

bool uvhttp_multipart_boundary(uvhttp_slice_t content_type, uvhttp_slice_t *boundary)
{
    uvhttp_slice_t rest = content_type;
    uvhttp_slice_t found = {NULL, 0};
    struct uvh_parameter parameter;
    int result;
    if (!uvh_field_name_equal(uvh_parameter_front(&rest), UVH_SLICE("multipart/form-data")))
        return false;
    while ((result = uvh_parameter_next(&rest, &parameter)) > 0) {
        if (!uvh_field_name_equal(parameter.name, UVH_SLICE("boundary")))
            continue;
        if (found.base != NULL || !uvh_multipart_head_is_boundary(parameter.value))
            return false;
        found = parameter.value;
    }
    if (result < 0 || found.base == NULL)
        return false;
    if (boundary != NULL)
        *boundary = found;
    return true;
}

uvhttp_multipart_error_t uvh_multipart_head_line(uvhttp_multipart_t *parser, bool *empty,
                                                 size_t *at)
{
    size_t end = parser->head_length - 1u;
    *at = end;
    *empty = false;
    if (end == parser->line_start || parser->head[end - 1] != '\r')
        return UVHTTP_MULTIPART_ERROR_LINE_END;
    end--;
    size_t p = parser->line_start;
    *at = p;
    *empty = p == end;
    if (*empty)
        return UVHTTP_MULTIPART_ERROR_NONE;
    /* No line of a part may begin like a delimiter (RFC 2046 section 5.1.1), because other parsers
     * would see one. */
    size_t dashed = parser->delimiter_length - 2u;
    if (end - p >= dashed && memcmp(parser->head + p, parser->delimiter + 2, dashed) == 0)
        return UVHTTP_MULTIPART_ERROR_FIELD;
    if (parser->field_count == parser->limits.max_fields)
        return UVHTTP_MULTIPART_ERROR_TOO_MANY_FIELDS;
    while (p < end && uvh_chars_is(parser->head[p], UVH_CHAR_TOKEN))
        p++;
    uvhttp_slice_t name = {parser->head + parser->line_start, p - parser->line_start};
    *at = p;
    if (name.length == 0 || p == end || parser->head[p] != ':')
        return UVHTTP_MULTIPART_ERROR_FIELD;
    size_t start = ++p;
    for (; p < end; p++) {
        *at = p;
        if (!uvh_chars_is(parser->head[p], UVH_CHAR_VALUE))
            return UVHTTP_MULTIPART_ERROR_FIELD;
    }
    while (start < end && uvh_chars_is(parser->head[start], UVH_CHAR_SPACE))
        start++;
    while (end > start && uvh_chars_is(parser->head[end - 1], UVH_CHAR_SPACE))
        end--;
    uvhttp_slice_t value = {parser->head + start, end - start};
    parser->fields[parser->field_count++] = (uvhttp_multipart_field_t){name, value};
    parser->line_start = parser->head_length;
    return UVHTTP_MULTIPART_ERROR_NONE;
}

/* Decodes the escape at the start of `text` and returns its length; 0 if there is none. */
static size_t escape(uvhttp_slice_t text, char *byte)
{
    if (text.length >= 2 && text.base[0] == '\\' && (text.base[1] == '"' || text.base[1] == '\\')) {
        *byte = text.base[1];
        return 2;
    }
    if (text.length < 3 || text.base[0] != '%')
        return 0;
    if (text.base[1] == '2' && text.base[2] == '2')
        *byte = '"';
    else if (text.base[1] == '0' && (text.base[2] == 'A' || text.base[2] == 'D'))
        *byte = text.base[2] == 'A' ? '\n' : '\r';
    else
        return 0;
    return 3;
}

/* The decoded value, written to `*space` if it differs. It is shorter than the encoded one, and all
 * parameters together are shorter than the section, for which `*space` is large enough. */
static uvhttp_slice_t unescaped(const struct uvh_parameter *parameter, char **space)
{
    uvhttp_slice_t rest = parameter->value;
    if (!parameter->quoted || rest.length == 0 ||
        (memchr(rest.base, '\\', rest.length) == NULL &&
         memchr(rest.base, '%', rest.length) == NULL))
        return rest;
    char *start = *space;
    char *out = start;
    while (rest.length > 0) {
        char byte = rest.base[0];
        size_t length = escape(rest, &byte);
        length = length > 0 ? length : 1;
        *out++ = byte;
        rest = (uvhttp_slice_t){rest.base + length, rest.length - length};
    }
    *space = out;
    return (uvhttp_slice_t){start, (size_t)(out - start)};
}

/* form-data; name="..."; filename="..." (RFC 7578 section 4.2) */
static uvhttp_multipart_error_t read_disposition(uvhttp_multipart_t *parser, uvhttp_slice_t value)
{
    uvhttp_multipart_part_t *part = &parser->part;
    char *space = parser->head + parser->head_length;
    struct uvh_parameter parameter;
    int result;
    if (!uvh_field_name_equal(uvh_parameter_front(&value), UVH_SLICE("form-data")))
        return UVHTTP_MULTIPART_ERROR_DISPOSITION;
    while ((result = uvh_parameter_next(&value, &parameter)) > 0) {
        bool is_name = uvh_field_name_equal(parameter.name, UVH_SLICE("name"));
        if (!is_name && !uvh_field_name_equal(parameter.name, UVH_SLICE("filename")))
            continue;
        uvhttp_slice_t *target = is_name ? &part->name : &part->filename;
        if (target->base != NULL)
            return UVHTTP_MULTIPART_ERROR_NAME;
        *target = unescaped(&parameter, &space);
    }
    if (result < 0)
        return UVHTTP_MULTIPART_ERROR_DISPOSITION;
    return part->name.base != NULL ? UVHTTP_MULTIPART_ERROR_NONE : UVHTTP_MULTIPART_ERROR_NAME;
}

/* Encodings without effect (RFC 2045 section 6.2); others would have to be decoded, and no client
 * sends them (RFC 7578 section 4.7). */
static bool is_identity_coding(uvhttp_slice_t value)
{
    return uvh_field_name_equal(value, UVH_SLICE("binary")) ||
           uvh_field_name_equal(value, UVH_SLICE("8bit")) ||
           uvh_field_name_equal(value, UVH_SLICE("7bit"));
}

uvhttp_multipart_error_t uvh_multipart_head_end(uvhttp_multipart_t *parser, size_t *at)
{
    uvhttp_slice_t disposition = {NULL, 0};
    uvhttp_multipart_part_t *part = &parser->part;
    *part = (uvhttp_multipart_part_t){.fields = parser->fields, .field_count = parser->field_count};
    for (size_t i = 0; i < part->field_count; i++) {
        const uvhttp_multipart_field_t *field = &part->fields[i];
        bool is_disposition = uvh_field_name_equal(field->name, UVH_SLICE("content-disposition"));
        *at = (size_t)(field->name.base - parser->head);
        if (is_disposition || uvh_field_name_equal(field->name, UVH_SLICE("content-type"))) {
            uvhttp_slice_t *target = is_disposition ? &disposition : &part->type;
            if (target->base != NULL)
                return UVHTTP_MULTIPART_ERROR_FIELD_REPEATED;
            *target = field->value;
        } else if (uvh_field_name_equal(field->name, UVH_SLICE("content-transfer-encoding")) &&
                   !is_identity_coding(field->value)) {
            return UVHTTP_MULTIPART_ERROR_CODING;
        }
    }
    *at = disposition.base != NULL ? (size_t)(disposition.base - parser->head) : 0;
    return disposition.base != NULL ? read_disposition(parser, disposition)
                                    : UVHTTP_MULTIPART_ERROR_DISPOSITION;
}

uvhttp_slice_t uvhttp_multipart_part_field(const uvhttp_multipart_part_t *part, const char *name)
{
    uvhttp_slice_t wanted = {name, name != NULL ? strlen(name) : 0};
    for (size_t i = 0; part != NULL && name != NULL && i < part->field_count; i++) {
        if (uvh_field_name_equal(part->fields[i].name, wanted))
            return part->fields[i].value;
    }
    return (uvhttp_slice_t){NULL, 0};
}
