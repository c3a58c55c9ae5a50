/* The Location has path and query as the client sent them; only bytes that are invalid in a URL are
 * encoded. */
#include "route/slash.h"

#include <uvhttp/error.h>

#include "codec/text/percent.h"

enum { PERMANENT_REDIRECT = 308, ENCODED_SIZE = 3 /* "%5C" */ };

static bool ends_with_slash(uvhttp_slice_t path)
{
    return path.length > 0 && path.base[path.length - 1] == '/';
}

int uvh_slash_redirect(uvhttp_request_t *request, uvhttp_response_t *response)
{
    uvhttp_slice_t path = request->framing.path;
    uvhttp_slice_t query = request->framing.query;
    bool has_slash = ends_with_slash(path);
    /* "//host/path" would redirect to another host. A path that ends with a dot segment ("/a/.")
     * has its trailing slash only in the normalized form, so that it cannot be removed. */
    if ((path.length > 1 && path.base[1] == '/') || has_slash != ends_with_slash(request->path))
        return UVHTTP_DECLINED;
    char *location = uvhttp_request_allocate(request, ENCODED_SIZE * (path.length + query.length) +
                                                          sizeof("/?"));
    if (location == NULL)
        return UVHTTP_ENOMEM;
    path.length -= has_slash;
    char *end = uvh_percent_write(location, path, UVH_PERCENT_SENT);
    if (!has_slash)
        *end++ = '/';
    if (query.base != NULL) {
        *end++ = '?';
        end = uvh_percent_write(end, query, UVH_PERCENT_SENT);
    }
    *end = '\0';
    return uvhttp_response_redirect(response, PERMANENT_REDIRECT, location);
}
