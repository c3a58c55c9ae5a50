/* What an error of the path becomes: missing 404; outside the root, behind a link that leads out, in a loop of links, or unreadable 403; no
 * regular file 403; out of descriptors or memory 503; anything else 500. */
#include "modules/static_answer.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>

/* Characters that may stand in a Location as they are; all others (a backslash, which browsers read as a slash, among them) are encoded. */
static bool is_plain_in_location(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("-._~!$&'()*+,;=:@/%?", byte) != NULL);
}

static char *write_location(char *out, uvhttp_slice_t text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.base[i];
        if (is_plain_in_location(text.base[i])) {
            *out++ = text.base[i];
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

/* To the same path with a slash. One slash at its beginning, however many came: "//host" would lead to another server. */
int uvh_static_answer_redirect(uvhttp_request_t *request, uvhttp_response_t *response)
{
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    while (path.length > 0 && path.base[0] == '/') {
        path.base++;
        path.length--;
    }
    char *location = uvhttp_request_allocate(request, 3 * (path.length + query.length) + 4);
    if (location == NULL)
        return UVHTTP_ENOMEM;
    char *end = location;
    *end++ = '/';
    end = write_location(end, path);
    *end++ = '/';
    if (query.length > 0) {
        *end++ = '?';
        end = write_location(end, query);
    }
    *end = '\0';
    return uvhttp_response_redirect(response, 301, location);
}

static int status_of(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -ENAMETOOLONG:
    case -EINVAL: /* some file systems say so of names they cannot hold */
    case -EILSEQ:
        return 404;
    case UVHTTP_ENOTREG:
    case -EACCES:
    case -EPERM:
    case -EXDEV: /* leads out of the root */
    case -ELOOP:
    case -ENXIO:
    case -ENODEV:
        return 403;
    case UVHTTP_ENOMEM:
    case -ENOMEM:
    case -EMFILE:
    case -ENFILE:
    case -EAGAIN: /* a lease on the file is being given back */
        return 503;
    default:
        return 500;
    }
}

int uvh_static_answer_error(uvhttp_request_t *request, uvhttp_response_t *response, int error)
{
    int status = status_of(error);
    if (status >= 500)
        uvhttp_response_log(response, UVHTTP_LOG_ERROR, "static files: %s: %s", uvhttp_request_path(request),
                            uvhttp_strerror(error));
    return uvhttp_response_send_status(response, status);
}
