/* Path and query stay as they were sent, except for bytes that are invalid in a URL. */
#include "route/slash.h"

#include <uvhttp/error.h>

#include "codec/text/percent.h"

enum { PERMANENT_REDIRECT = 308, ESCAPED = 3 };

static bool ends_with_slash(uvhttp_slice_t path)
{
    return path.length > 0 && path.base[path.length - 1] == '/';
}

int uvh_slash_redirect(uvhttp_request_t *request, uvhttp_response_t *response)
{
    uvhttp_slice_t path = request->framing.path;
    uvhttp_slice_t query = request->framing.query;
    bool less = ends_with_slash(path);
    /* "//host/path" would redirect to another server. A path that ends with a dot segment has no
     * trailing slash to remove. */
    if ((path.length > 1 && path.base[1] == '/') || less != ends_with_slash(request->path))
        return UVHTTP_DECLINED;
    char *location = uvhttp_request_allocate(request, ESCAPED * (path.length + query.length) + 3);
    if (location == NULL)
        return UVHTTP_ENOMEM;
    path.length -= less;
    char *end = uvh_percent_write(location, path, UVH_PERCENT_SENT);
    if (!less)
        *end++ = '/';
    if (query.base != NULL) {
        *end++ = '?';
        end = uvh_percent_write(end, query, UVH_PERCENT_SENT);
    }
    *end = '\0';
    return uvhttp_response_redirect(response, PERMANENT_REDIRECT, location);
}
