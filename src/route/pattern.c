/* Patterns are split at slashes, like paths (segment.h). */
#include "route/pattern.h"

#include <string.h>

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
    while (rest.base != NULL) {
        uvhttp_slice_t segment = next_segment(&rest);
        if (segment.length == 0 || (segment.base[0] != ':' && segment.base[0] != '*'))
            continue;
        bool wildcard = segment.base[0] == '*';
        bool unnamed = segment.length == 1;
        if (wildcard && rest.base != NULL)
            return "a wildcard must be the last segment";
        if (!wildcard && unnamed)
            return "a parameter has no name";
        if (*count == UVH_REQUEST_MAX_PARAMS)
            return "it has more than 16 parameters";
        struct uvh_param_name *param = &params[*count];
        param->base = unnamed ? segment.base : segment.base + 1;
        param->length = unnamed ? 1 : segment.length - 1;
        param->wildcard = wildcard;
        if (has_param(params, *count, param))
            return "two parameters have the same name";
        (*count)++;
    }
    return NULL;
}
