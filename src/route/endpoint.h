/* The routes of one pattern, by method, and sets of methods as Allow needs them.
 *
 * Always true: a method has at most one route here. Called by route/tree.c; finding is inlined
 * there. */
#ifndef UVH_ROUTE_ENDPOINT_H
#define UVH_ROUTE_ENDPOINT_H

#include <uvhttp/router.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "http/request.h"

struct uvh_route {
    uvhttp_handler_cb handler;
    void *arg;
    const uvhttp_middleware_t *chain; /* all that runs before the handler; from the freezing on */
    size_t chain_length;
    size_t max_body_size;                                  /* 0: the server's */
    uint32_t handler_timeout, body_timeout, write_timeout; /* seconds; 0: the server's */
    unsigned timeout_status;
    unsigned flags;       /* of uvhttp_route_flags_t */
    uvhttp_slash_t slash; /* STRICT until the freezing */
    unsigned param_count;
    char *method;           /* as given; NULL for any */
    char *upgrade;          /* the protocol a client has to offer; NULL: none */
    char *pattern;          /* with the prefixes of its groups */
    struct uvh_route *next; /* of the same endpoint with a method that is not in the table */
    struct uvh_route *next_added;
    struct uvhttp_router *owner;
    uvhttp_middleware_t *middleware; /* its own */
    size_t middleware_count;
    struct uvh_param_name params[]; /* they point into `pattern` */
};

/* Those of the table as bits, the others as a list of names. */
struct uvh_methods {
    uint32_t known;
    struct uvh_bytes others; /* "PURGE, BAN" */
    bool failed;             /* memory ran out: `others` is not complete */
};

struct uvh_endpoint {
    uint32_t methods;             /* bit per method of the table that has a route */
    uint32_t first_method;        /* `first`'s, 0: there is none */
    struct uvh_route *first;      /* one of them, mostly the only one */
    struct uvh_route **routes;    /* all of them, by number of the method, without gaps */
    struct uvh_route *extensions; /* methods that are not in the table */
    struct uvh_route *any;
};

void uvh_methods_init(struct uvh_methods *methods, const uvhttp_allocator_t *allocator);
void uvh_methods_release(struct uvh_methods *methods);

/* Adds a method by name. 0, or UVHTTP_ENOMEM with nothing changed. */
int uvh_methods_add(struct uvh_methods *methods, const char *name);

/* True when it is among those that are not in the table. */
bool uvh_methods_know(const struct uvh_methods *methods, uvhttp_slice_t name);

/* Writes "GET, HEAD, OPTIONS, PURGE": with HEAD where there is GET, and always OPTIONS. 0, or
 * UVHTTP_ENOMEM, also when `failed`. */
int uvh_methods_write(const struct uvh_methods *methods, struct uvh_bytes *allow);

/* Adds a route and its method to `methods`. 0, UVHTTP_ENOMEM, or UVHTTP_ECONFLICT with the route
 * that has the place. */
int uvh_endpoint_add(struct uvh_endpoint *endpoint, struct uvh_methods *methods,
                     struct uvh_route *route, const struct uvh_route **taken);

void uvh_endpoint_release(struct uvh_endpoint *endpoint, const uvhttp_allocator_t *allocator);

/* The route of an extension method, or NULL. */
const struct uvh_route *uvh_endpoint_extension(const struct uvh_endpoint *endpoint,
                                               uvhttp_slice_t name);

/* Adds the methods of all routes that are at least so lenient. */
void uvh_endpoint_collect(const struct uvh_endpoint *endpoint, uvhttp_slash_t least,
                          struct uvh_methods *methods);

/* There is a route, of whatever method, that makes the path a known one; with `least` above STRICT
 * the path is another one by its last slash, which only UVHTTP_SLASH_IGNORE makes the same. */
bool uvh_endpoint_counts(const struct uvh_endpoint *endpoint, uvhttp_slash_t least);

/* The route of a method of the table, or NULL. */
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

/* The route for a method that is at least so lenient about the last slash; NULL when there is none.
 * HEAD falls back to GET. */
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
