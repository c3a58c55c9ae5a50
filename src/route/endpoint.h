/* The routes of one pattern, by method, and sets of methods as needed for Allow.
 *
 * Invariant: a method has at most one route here. A known method is one of the enum
 * uvhttp_method_t; others are extension methods. Lookups are inlined in route/tree.c. */
#ifndef UVH_ROUTE_ENDPOINT_H
#define UVH_ROUTE_ENDPOINT_H

#include <uvhttp/router.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "http/request.h"

struct uvh_route {
    uvhttp_handler_cb handler;
    void *arg;
    /* all middleware that runs before the handler; set by freezing */
    const uvhttp_middleware_t *chain;
    size_t chain_length;
    size_t max_body_size;                                  /* 0: the server's */
    uint32_t handler_timeout, body_timeout, write_timeout; /* seconds; 0: the server's */
    unsigned timeout_status;
    unsigned flags;       /* of uvhttp_route_flags_t */
    uvhttp_slash_t slash; /* STRICT until frozen */
    unsigned param_count;
    size_t index;           /* in the order of adding; set by freezing */
    char *method;           /* as given; NULL for any */
    char *upgrade;          /* the protocol a client must offer; NULL: none */
    char *pattern;          /* with the prefixes of its groups */
    struct uvh_route *next; /* the next route of this endpoint with an extension method */
    struct uvh_route *next_added;
    struct uvhttp_router *owner;
    uvhttp_middleware_t *middleware; /* the route's own */
    size_t middleware_count;
    struct uvh_param_name params[]; /* their names point into `pattern` */
};

/* Known methods as bits, the others as a list of names. */
struct uvh_methods {
    uint32_t known;
    struct uvh_bytes others; /* "PURGE, BAN" */
    bool failed;             /* out of memory: `others` is incomplete */
};

struct uvh_endpoint {
    uint32_t methods;             /* one bit per known method that has a route */
    uint32_t first_method;        /* method of `first`; 0: none */
    struct uvh_route *first;      /* the first that was added, mostly the only one */
    struct uvh_route **routes;    /* all routes of known methods, ordered by method number, dense */
    struct uvh_route *extensions; /* routes of extension methods */
    struct uvh_route *any;
};

void uvh_methods_init(struct uvh_methods *methods, const uvhttp_allocator_t *allocator);
void uvh_methods_release(struct uvh_methods *methods);

/* Adds a method by name. 0, or UVHTTP_ENOMEM with nothing changed. */
int uvh_methods_add(struct uvh_methods *methods, const char *name);

/* True when it is among the extension methods. */
bool uvh_methods_know(const struct uvh_methods *methods, uvhttp_slice_t name);

/* Writes "GET, HEAD, OPTIONS, PURGE": HEAD if there is GET, and always OPTIONS. Returns 0, or
 * UVHTTP_ENOMEM, also when `failed`. */
int uvh_methods_write(const struct uvh_methods *methods, struct uvh_bytes *allow);

/* Adds a route, and its method to `methods`. Returns 0, UVHTTP_ENOMEM, or UVHTTP_ECONFLICT with the
 * existing route in `*taken`. */
int uvh_endpoint_add(struct uvh_endpoint *endpoint, struct uvh_methods *methods,
                     struct uvh_route *route, const struct uvh_route **taken);

void uvh_endpoint_release(struct uvh_endpoint *endpoint, const uvhttp_allocator_t *allocator);

/* The route of an extension method, or NULL. */
const struct uvh_route *uvh_endpoint_extension(const struct uvh_endpoint *endpoint,
                                               uvhttp_slice_t name);

/* Adds the methods of all routes whose slash policy is at least `least`. */
void uvh_endpoint_collect(const struct uvh_endpoint *endpoint, uvhttp_slash_t least,
                          struct uvh_methods *methods);

/* True when a route of any method makes the path a known one. With `least` above STRICT the path
 * differs by its last slash; then only routes with UVHTTP_SLASH_IGNORE count. */
bool uvh_endpoint_counts(const struct uvh_endpoint *endpoint, uvhttp_slash_t least);

/* The route of a known method, or NULL. */
static UVH_ALWAYS_INLINE const struct uvh_route *
uvh_endpoint_known(const struct uvh_endpoint *endpoint, uvhttp_method_t method)
{
    if (UVH_LIKELY(endpoint->first_method == (uint32_t)method))
        return endpoint->first;
    if ((endpoint->methods & 1u << method) == 0)
        return NULL;
    return endpoint->routes[__builtin_popcount(endpoint->methods & ((1u << method) - 1))];
}

static inline const struct uvh_route *uvh_endpoint_visible(const struct uvh_route *route,
                                                           uvhttp_slash_t least)
{
    return route != NULL && UVH_UNLIKELY(least != UVHTTP_SLASH_STRICT) && route->slash < least
               ? NULL
               : route;
}

/* The route for a method whose slash policy is at least `least`; NULL: none. HEAD falls back to
 * GET. */
static UVH_ALWAYS_INLINE const struct uvh_route *
uvh_endpoint_find(const struct uvh_endpoint *endpoint, uvhttp_method_t method, uvhttp_slice_t name,
                  uvhttp_slash_t least)
{
    const struct uvh_route *route = method == UVHTTP_METHOD_OTHER
                                        ? uvh_endpoint_extension(endpoint, name)
                                        : uvh_endpoint_known(endpoint, method);
    route = uvh_endpoint_visible(route, least);
    if (route == NULL && method == UVHTTP_METHOD_HEAD)
        route = uvh_endpoint_visible(uvh_endpoint_known(endpoint, UVHTTP_METHOD_GET), least);
    return route != NULL ? route : uvh_endpoint_visible(endpoint->any, least);
}

#endif
