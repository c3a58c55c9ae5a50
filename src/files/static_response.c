/* The statuses of path errors. Missing: 404. Outside the root, a link that leads out, a loop of
 * links, or unreadable: 403. Not a regular file: 403. Out of descriptors or memory: 503. Others:
 * 500. */
#include "files/static_response.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>

#include "codec/text/percent.h"
#include "files/static_path.h"

/* Shortens a path by the part at its end that decodes to `count` bytes. */
static void cut_decoded(uvhttp_slice_t *path, size_t count)
{
    for (; count > 0 && path->length > 0; count--)
        path->length -= path->length >= 3 && path->base[path->length - 3] == '%' ? 3 : 1;
}

/* Changes the end of an undecoded path. False when it does not end as required. */
static bool change_end(uvhttp_slice_t *path, enum uvh_static_redirect redirect)
{
    size_t length = path->length;
    switch (redirect) {
    case UVH_STATIC_ONE_SLASH:
    case UVH_STATIC_ADD_SLASH:
        break;
    case UVH_STATIC_DROP_SLASH:
        while (path->length > 0 && path->base[path->length - 1] == '/')
            path->length--;
        return path->length < length;
    case UVH_STATIC_DROP_NAME:
        while (path->length > 0 && path->base[path->length - 1] == '/') /* of "/docs/index/" */
            path->length--;
        while (path->length > 0 && path->base[path->length - 1] != '/')
            path->length--;
        break;
    case UVH_STATIC_DROP_EXTENSION:
        cut_decoded(path, strlen(".html"));
        break;
    }
    return true;
}

/* One leading slash, however many were sent: "//host" would lead to another server. */
int uvh_static_response_redirect(uvhttp_request_t *request, uvhttp_response_t *response,
                                 enum uvh_static_redirect redirect)
{
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    char *copy = uvhttp_request_allocate(request, path.length + 1);
    char *location = uvhttp_request_allocate(request, 3 * (path.length + query.length) + 4);
    if (copy == NULL || location == NULL)
        return UVHTTP_ENOMEM;
    path = (uvhttp_slice_t){copy, uvh_static_path_normalize(path.base, path.length, copy)};
    if (!change_end(&path, redirect))
        return uvhttp_response_send_status(response, 404);
    char *end = location;
    *end++ = '/';
    end = uvh_percent_write(end, path, UVH_PERCENT_SENT);
    if (redirect == UVH_STATIC_ADD_SLASH)
        *end++ = '/';
    if (query.length > 0) {
        *end++ = '?';
        end = uvh_percent_write(end, query, UVH_PERCENT_SENT);
    }
    *end = '\0';
    return uvhttp_response_redirect(response, 301, location);
}

int uvh_static_response_status(int error)
{
    switch (error) {
    case -ENOENT:
    case -ENOTDIR:
    case -ENAMETOOLONG:
    case -EINVAL: /* some file systems return it for names they cannot store */
    case -EILSEQ:
        return 404;
    case UVHTTP_ENOTREG:
    case -EACCES:
    case -EPERM:
    case -EXDEV: /* leads out of the root */
    case -ELOOP:
    case -ENXIO:
    case -ENODEV:
    case -EISDIR: /* neither an index file nor a listing */
        return 403;
    case UVHTTP_ENOMEM:
    case -ENOMEM:
    case -EMFILE:
    case -ENFILE:
    case -EAGAIN: /* a lease on the file is being released */
        return 503;
    default:
        return 500;
    }
}

static const char *denial(int error)
{
    switch (error) {
    case -EISDIR:
        return "a directory without an index file, and listings are off";
    case -EXDEV:
        return "it leads out of the directory";
    case -ELOOP:
        return "a symbolic link that may not be followed";
    default:
        return uvhttp_strerror(error);
    }
}

int uvh_static_response_logged_status(uvhttp_response_t *response, int error)
{
    int status = uvh_static_response_status(error);
    if (status == 403)
        uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "static files: %s is denied: %s",
                            uvhttp_request_path(uvhttp_response_request(response)), denial(error));
    if (status >= 500)
        uvhttp_response_log(response, UVHTTP_LOG_ERROR, "static files: %s: %s",
                            uvhttp_request_path(uvhttp_response_request(response)),
                            uvhttp_strerror(error));
    return status;
}
