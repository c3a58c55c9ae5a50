/* Segments are cut at the slashes of the path as it is matched, so an encoded slash never separates. */
#include "route/pattern.h"

#include <string.h>

uvhttp_slice_t uvh_pattern_next(uvhttp_slice_t *rest)
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

static bool has_param(const struct uvh_param *params, size_t count, const struct uvh_param *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (params[i].name_length == wanted->name_length &&
            memcmp(params[i].name, wanted->name, wanted->name_length) == 0)
            return true;
    }
    return false;
}

const char *uvh_pattern_params(const char *pattern, struct uvh_param *params, size_t *count)
{
    uvhttp_slice_t rest = {pattern + 1, strlen(pattern) - 1};
    *count = 0;
    if (strpbrk(pattern, "?#") != NULL)
        return "a query or fragment takes no part in routing";
    if (strchr(pattern, '%') != NULL)
        return "paths are matched decoded, so write the character itself";
    while (rest.base != NULL) {
        uvhttp_slice_t segment = uvh_pattern_next(&rest);
        if (segment.length == 0 || (segment.base[0] != ':' && segment.base[0] != '*'))
            continue;
        bool wildcard = segment.base[0] == '*';
        bool unnamed = segment.length == 1;
        if (wildcard && rest.base != NULL)
            return "it goes on after \"*\"";
        if (!wildcard && unnamed)
            return "a parameter has no name";
        if (*count == UVH_REQUEST_MAX_PARAMS)
            return "it has more than 16 parameters";
        struct uvh_param *param = &params[*count];
        param->name = unnamed ? segment.base : segment.base + 1;
        param->name_length = unnamed ? 1 : segment.length - 1;
        param->wildcard = wildcard;
        if (has_param(params, *count, param))
            return "it names a parameter twice";
        (*count)++;
    }
    return NULL;
}
