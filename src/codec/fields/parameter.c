/* Parameters (RFC 9110 section 5.6.6), see parameter.h. Strict: no white space around '=', an
 * unquoted value must be a token, nothing may follow a closing quote. */
#include "codec/fields/parameter.h"

#include <string.h>

#include "codec/text/chars.h"

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && uvh_chars_is(*p, UVH_CHAR_SPACE))
        p++;
    return p;
}

static const char *skip_token(const char *p, const char *end)
{
    while (p < end && uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    return p;
}

/* The closing quote of the quoted string that begins at `p` (RFC 9110 section 5.6.4), or NULL. */
static const char *closing_quote(const char *p, const char *end)
{
    while (p < end && *p != '"') {
        if (*p == '\\') {
            p++;
            if (p == end || !uvh_chars_is(*p, UVH_CHAR_VALUE))
                return NULL;
        } else if (!uvh_chars_is(*p, UVH_CHAR_QDTEXT)) {
            return NULL;
        }
        p++;
    }
    return p < end ? p : NULL;
}

/* Parses the value at `p`. Returns its end, or NULL. */
static const char *take_value(const char *p, const char *end, struct uvh_parameter *parameter)
{
    parameter->quoted = p < end && *p == '"';
    if (parameter->quoted) {
        const char *close = closing_quote(p + 1, end);
        if (close == NULL)
            return NULL;
        parameter->value = (uvhttp_slice_t){p + 1, (size_t)(close - p - 1)};
        return close + 1;
    }
    const char *stop = skip_token(p, end);
    parameter->value = (uvhttp_slice_t){p, (size_t)(stop - p)};
    return stop > p ? stop : NULL;
}

uvhttp_slice_t uvh_parameter_front(uvhttp_slice_t *rest)
{
    const char *start = rest->base;
    const char *semicolon = rest->length > 0 ? memchr(start, ';', rest->length) : NULL;
    size_t length = semicolon != NULL ? (size_t)(semicolon - start) : rest->length;
    *rest = length < rest->length ? (uvhttp_slice_t){start + length, rest->length - length}
                                  : (uvhttp_slice_t){NULL, 0};
    while (length > 0 && uvh_chars_is(start[length - 1], UVH_CHAR_SPACE))
        length--;
    return (uvhttp_slice_t){start, length};
}

int uvh_parameter_first(uvhttp_slice_t *rest, struct uvh_parameter *parameter)
{
    const char *p = rest->base;
    const char *end = p + rest->length;
    const char *stop = skip_token(p, end);
    parameter->name = (uvhttp_slice_t){p, (size_t)(stop - p)};
    if (stop == p || stop == end || *stop != '=')
        return -1;
    p = take_value(stop + 1, end, parameter);
    if (p == NULL)
        return -1;
    *rest = (uvhttp_slice_t){p, (size_t)(end - p)};
    return 1;
}

int uvh_parameter_next(uvhttp_slice_t *rest, struct uvh_parameter *parameter)
{
    if (rest->length == 0)
        return 0;
    const char *p = rest->base;
    const char *end = p + rest->length;
    for (;;) {
        p = skip_space(p, end);
        if (p == end) {
            *rest = (uvhttp_slice_t){NULL, 0};
            return 0;
        }
        if (*p != ';')
            return -1;
        p = skip_space(p + 1, end);
        if (p < end && *p != ';')
            break;
    }
    *rest = (uvhttp_slice_t){p, (size_t)(end - p)};
    return uvh_parameter_first(rest, parameter);
}
