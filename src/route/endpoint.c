/* Most paths have one or two methods. So the routes are in a dense array, and the first that was
 * added is found without it. */
#include "route/endpoint.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/http1/method.h"

enum { MAX_NAMES_SIZE = 1 << 16 };

void uvh_methods_init(struct uvh_methods *methods, const uvhttp_allocator_t *allocator)
{
    *methods = (struct uvh_methods){0};
    uvh_bytes_init(&methods->others, allocator, MAX_NAMES_SIZE);
}

void uvh_methods_release(struct uvh_methods *methods)
{
    uvh_bytes_release(&methods->others);
}

bool uvh_methods_know(const struct uvh_methods *methods, uvhttp_slice_t name)
{
    uvhttp_slice_t rest = {methods->others.data, methods->others.length};
    uvhttp_slice_t known;
    while (uvh_field_list_next(&rest, &known)) {
        if (known.length == name.length && memcmp(known.base, name.base, name.length) == 0)
            return true;
    }
    return false;
}

int uvh_methods_add(struct uvh_methods *methods, const char *name)
{
    struct uvh_bytes *others = &methods->others;
    uvhttp_method_t method = uvh_method_lookup(uvh_slice(name));
    if (method != UVHTTP_METHOD_OTHER) {
        methods->known |= 1u << method;
        return 0;
    }
    if (uvh_methods_know(methods, uvh_slice(name)))
        return 0;
    if (uvh_bytes_append_format(others, "%s%s", others->length == 0 ? "" : ", ", name) == 0)
        return 0;
    others->failed = false; /* `others` is unchanged, and a later attempt may succeed */
    return UVHTTP_ENOMEM;
}

int uvh_methods_write(const struct uvh_methods *methods, struct uvh_bytes *allow)
{
    uint32_t known = methods->known | 1u << UVHTTP_METHOD_OPTIONS;
    if ((known & 1u << UVHTTP_METHOD_GET) != 0)
        known |= 1u << UVHTTP_METHOD_HEAD;
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        if ((known & 1u << i) != 0)
            uvh_bytes_append_format(allow, "%s%s", allow->length == 0 ? "" : ", ",
                                    uvh_method_name((uvhttp_method_t)i));
    }
    if (methods->others.length > 0)
        uvh_bytes_append_format(allow, ", %.*s", (int)methods->others.length, methods->others.data);
    return allow->failed || methods->failed ? UVHTTP_ENOMEM : 0;
}

const struct uvh_route *uvh_endpoint_extension(const struct uvh_endpoint *endpoint,
                                               uvhttp_slice_t name)
{
    for (const struct uvh_route *route = endpoint->extensions; route != NULL; route = route->next) {
        if (strlen(route->method) == name.length &&
            memcmp(route->method, name.base, name.length) == 0)
            return route;
    }
    return NULL;
}

/* Adds a route of a known method that has none yet. */
static int add_known(struct uvh_endpoint *endpoint, const uvhttp_allocator_t *allocator,
                     uvhttp_method_t method, struct uvh_route *route)
{
    size_t count = (size_t)__builtin_popcount(endpoint->methods);
    size_t index = (size_t)__builtin_popcount(endpoint->methods & ((1u << method) - 1));
    struct uvh_route **grown =
        uvh_realloc(allocator, endpoint->routes, (count + 1) * sizeof(struct uvh_route *));
    if (grown == NULL)
        return UVHTTP_ENOMEM;
    memmove(grown + index + 1, grown + index, (count - index) * sizeof(struct uvh_route *));
    grown[index] = route;
    endpoint->routes = grown;
    endpoint->methods |= 1u << method;
    if (count == 0) {
        endpoint->first = route;
        endpoint->first_method = (uint32_t)method;
    }
    return 0;
}

int uvh_endpoint_add(struct uvh_endpoint *endpoint, struct uvh_methods *methods,
                     struct uvh_route *route, const struct uvh_route **taken)
{
    if (route->method == NULL) {
        *taken = endpoint->any;
        if (*taken == NULL)
            endpoint->any = route;
        return *taken == NULL ? 0 : UVHTTP_ECONFLICT;
    }
    uvhttp_slice_t name = uvh_slice(route->method);
    uvhttp_method_t method = uvh_method_lookup(name);
    *taken = method == UVHTTP_METHOD_OTHER ? uvh_endpoint_extension(endpoint, name)
                                           : uvh_endpoint_known(endpoint, method);
    if (*taken != NULL)
        return UVHTTP_ECONFLICT;
    if (method != UVHTTP_METHOD_OTHER) {
        int err = add_known(endpoint, methods->others.allocator, method, route);
        return err != 0 ? err : uvh_methods_add(methods, route->method);
    }
    if (uvh_methods_add(methods, route->method) != 0)
        return UVHTTP_ENOMEM;
    route->next = endpoint->extensions;
    endpoint->extensions = route;
    return 0;
}

void uvh_endpoint_release(struct uvh_endpoint *endpoint, const uvhttp_allocator_t *allocator)
{
    uvh_free(allocator, endpoint->routes);
}

void uvh_endpoint_collect(const struct uvh_endpoint *endpoint, uvhttp_slash_t least,
                          struct uvh_methods *methods)
{
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        if (uvh_endpoint_visible(uvh_endpoint_known(endpoint, (uvhttp_method_t)i), least) != NULL)
            methods->known |= 1u << i;
    }
    for (const struct uvh_route *route = endpoint->extensions; route != NULL; route = route->next) {
        if (uvh_endpoint_visible(route, least) != NULL &&
            uvh_methods_add(methods, route->method) != 0)
            methods->failed = true;
    }
}

bool uvh_endpoint_counts(const struct uvh_endpoint *endpoint, uvhttp_slash_t least)
{
    if (least == UVHTTP_SLASH_STRICT)
        return endpoint->methods != 0 || endpoint->any != NULL || endpoint->extensions != NULL;
    for (int i = 0; i < __builtin_popcount(endpoint->methods); i++) {
        if (endpoint->routes[i]->slash == UVHTTP_SLASH_IGNORE)
            return true;
    }
    for (const struct uvh_route *route = endpoint->extensions; route != NULL; route = route->next) {
        if (route->slash == UVHTTP_SLASH_IGNORE)
            return true;
    }
    return endpoint->any != NULL && endpoint->any->slash == UVHTTP_SLASH_IGNORE;
}
