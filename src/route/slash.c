/* Path and query stay as they were sent, except for bytes that are invalid in a URL. */
#include "route/slash.h"

#include <string.h>

#include <uvhttp/error.h>

enum { PERMANENT_REDIRECT = 308, ESCAPED = 3 };

/* All other bytes are encoded, including a backslash, which browsers read as a slash. */
static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("-._~!$&'()*+,;=:@/%?", byte) != NULL);
}

static char *write_text(char *out, uvhttp_slice_t text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.base[i];
        if (is_plain(text.base[i])) {
            *out++ = text.base[i];
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

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
    char *end = write_text(location, path);
    if (!less)
        *end++ = '/';
    if (query.base != NULL) {
        *end++ = '?';
        end = write_text(end, query);
    }
    *end = '\0';
    return uvhttp_response_redirect(response, PERMANENT_REDIRECT, location);
}
