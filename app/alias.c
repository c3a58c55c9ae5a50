/* See alias.h. */
#include "alias.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/request.h>
#include <uvhttp/response.h>

static bool is_directory(const struct uvh_setup_route *route)
{
    size_t length = strlen(route->path.text);
    return route->kind == UVH_ROUTE_STATIC && length > 0 && route->path.text[length - 1] == '/';
}

/* True for "m" and "m/", false for longer paths and for patterns. */
static bool is_one_name(const char *path)
{
    size_t length = strcspn(path, "/");
    return length > 0 && strpbrk(path, ":*%") == NULL && strlen(path + length) <= 1;
}

const char **uvh_alias_names(const struct uvh_setup_site *site, const struct uvh_setup_route *route)
{
    size_t length = strlen(route->path.text), count = 0;
    const char **names = calloc(site->route_count + 1, sizeof(*names));
    for (size_t i = 0; names != NULL && is_directory(route) && i < site->route_count; i++) {
        const struct uvh_setup_route *other = &site->routes[i];
        if (other->kind == UVH_ROUTE_STATIC &&
            strncmp(other->path.text, route->path.text, length) == 0 &&
            is_one_name(other->path.text + length))
            names[count++] = other->path.text + length;
    }
    return names;
}

/* "/m" leads to "/m/". */
static int add_slash(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    size_t size = path.length + query.length + sizeof("/?");
    char *location = uvhttp_request_allocate(request, size);
    (void)arg;
    if (location == NULL)
        return UVHTTP_ENOMEM;
    snprintf(location, size, "%.*s/%s%.*s", UVHTTP_SLICE_ARGS(path), query.length > 0 ? "?" : "",
             UVHTTP_SLICE_ARGS(query));
    return uvhttp_response_redirect(response, 301, location);
}

int uvh_alias_redirect(uvhttp_router_t *router, const struct uvh_setup_site *site,
                       const struct uvh_setup_route *route, const uvhttp_middleware_t *middleware,
                       size_t middleware_count)
{
    size_t length = strlen(route->path.text);
    if (site->slash != UVHTTP_SLASH_REDIRECT || !is_directory(route) || length == 1)
        return 0;
    char *bare = strndup(route->path.text, length - 1);
    const uvhttp_route_t given = {.method = "GET",
                                  .pattern = bare,
                                  .handler = add_slash,
                                  .middleware = middleware_count == 0 ? NULL : middleware,
                                  .middleware_count = middleware_count};
    int err = bare == NULL ? UVHTTP_ENOMEM : uvhttp_router_add(router, &given);
    free(bare);
    return err == UVHTTP_ECONFLICT ? 0 : err;
}
