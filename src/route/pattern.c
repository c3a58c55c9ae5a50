/* Patterns are split at slashes, like paths (segment.h). */
#include "route/pattern.h"

#include <string.h>

#include "base/slice.h"
#include "codec/text/chars.h"

enum { INT_DIGITS = 18 }; /* 10^18 - 1 is below INT64_MAX */

/* Splits the first segment off `*rest`; sets its base to NULL after the last one. */
static uvhttp_slice_t next_segment(uvhttp_slice_t *rest)
{
    const char *slash = memchr(rest->base, '/', rest->length);
    uvhttp_slice_t segment = *rest;
    if (slash == NULL) {
        *rest = (uvhttp_slice_t){NULL, 0};
        return segment;
    }
    segment.length = (size_t)(slash - rest->base);
    rest->length -= segment.length + 1;
    rest->base = slash + 1;
    return segment;
}

static bool has_param(const struct uvh_param_name *params, size_t count,
                      const struct uvh_param_name *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (params[i].length == wanted->length &&
            memcmp(params[i].base, wanted->base, wanted->length) == 0)
            return true;
    }
    return false;
}

/* The length of the name at the begin of a text. */
static size_t name_length(uvhttp_slice_t text)
{
    size_t length = 0;
    while (length < text.length) {
        char c = text.base[length], letter = (char)(c | 0x20);
        if (!uvh_chars_is(c, UVH_CHAR_DIGIT) && !(letter >= 'a' && letter <= 'z') && c != '_' &&
            c != '-')
            break;
        length++;
    }
    return length;
}

static void skip(uvhttp_slice_t *text, size_t length)
{
    text->base += length;
    text->length -= length;
}

/* Parses "(type)" at the begin of `*rest`, if it is there. */
static const char *take_type(uvhttp_slice_t *rest, enum uvh_pattern_type *type)
{
    static const uvhttp_slice_t integer = {"(int)", 5};
    *type = UVH_PATTERN_ANY;
    if (rest->length == 0 || rest->base[0] != '(')
        return NULL;
    if (rest->length < integer.length || memcmp(rest->base, integer.base, integer.length) != 0)
        return "the only type of a parameter is (int), such as :id(int)";
    *type = UVH_PATTERN_INT;
    skip(rest, integer.length);
    return NULL;
}

const char *uvh_pattern_split_param(uvhttp_slice_t segment, struct uvh_pattern_param *param)
{
    uvhttp_slice_t rest = segment;
    skip(&rest, 1);
    param->name = (uvhttp_slice_t){rest.base, name_length(rest)};
    skip(&rest, param->name.length);
    if (param->name.length == 0)
        return "a parameter has no name";
    const char *wrong = take_type(&rest, &param->type);
    param->suffix = rest;
    if (wrong != NULL)
        return wrong;
    if (rest.length > 0 && rest.base[0] != '.')
        return "the name of a parameter has letters, digits, \"_\" and \"-\"; a suffix begins with "
               "\".\", such as :name.json";
    if (rest.length > 0 && memchr(rest.base, ':', rest.length) != NULL)
        return "a segment has one parameter at most";
    return NULL;
}

bool uvh_pattern_fits(enum uvh_pattern_type type, uvhttp_slice_t value)
{
    if (type == UVH_PATTERN_ANY)
        return true;
    size_t digits = 0;
    while (digits < value.length && uvh_chars_is(value.base[digits], UVH_CHAR_DIGIT))
        digits++;
    return digits == value.length && digits <= INT_DIGITS;
}

size_t uvh_pattern_most_params(const char *pattern)
{
    size_t count = 0;
    for (const char *c = pattern; *c != '\0' && count < UVH_REQUEST_MAX_PARAMS; c++)
        count += c[0] == '/' && (c[1] == ':' || c[1] == '*');
    return count;
}

const char *uvh_pattern_params(const char *pattern, struct uvh_param_name *params, size_t *count)
{
    uvhttp_slice_t rest = {pattern + 1, strlen(pattern) - 1};
    *count = 0;
    if (strpbrk(pattern, "?#") != NULL)
        return "a pattern must not contain a query or fragment";
    if (strchr(pattern, '%') != NULL)
        return "paths are matched decoded: write the character itself";
    if (strpbrk(pattern, "{}<>") != NULL)
        return "a parameter is written :id, not {id} or <id>";
    while (rest.base != NULL) {
        uvhttp_slice_t segment = next_segment(&rest);
        if (segment.length == 0 || (segment.base[0] != ':' && segment.base[0] != '*'))
            continue;
        bool wildcard = segment.base[0] == '*';
        struct uvh_pattern_param parts = {.name = {segment.base + 1, segment.length - 1}};
        const char *wrong = wildcard ? NULL : uvh_pattern_split_param(segment, &parts);
        if (wrong != NULL)
            return wrong;
        if (wildcard && rest.base != NULL)
            return "a wildcard must be the last segment";
        if (wildcard && name_length(parts.name) != parts.name.length)
            return "the name of a wildcard has letters, digits, \"_\" and \"-\"";
        if (wildcard && segment.length == 1)
            parts.name = segment;
        if (*count == UVH_REQUEST_MAX_PARAMS)
            return "it has more than 16 parameters";
        struct uvh_param_name *param = &params[*count];
        param->base = parts.name.base;
        param->length = parts.name.length;
        param->wildcard = wildcard;
        if (has_param(params, *count, param))
            return "two parameters have the same name";
        (*count)++;
    }
    return NULL;
}
