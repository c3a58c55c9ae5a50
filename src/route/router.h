/* The router: patterns in a tree of path segments, looked up without allocating.
 *
 * Always true: a node's children are found by hash, so the cost of a match depends on the number of segments, not of routes.
 * Called by server/exchange.c for matching and by the public functions for adding. */
#ifndef UVH_ROUTE_ROUTER_H
#define UVH_ROUTE_ROUTER_H

#include <uvhttp/router.h>

#include "base/bytes.h"
#include "http/request.h"

struct uvh_route {
    struct uvh_route *next; /* of the same endpoint with a method that is not in the table */
    char *method;           /* as given; NULL for any */
    char *pattern;
    uvhttp_handler_cb handler;
    void *arg;
    size_t max_body_size; /* 0: the server's */
    unsigned flags;       /* of uvhttp_route_flags_t */
    size_t param_count;
    struct uvh_param params[]; /* names; they point into `pattern` */
};

/* Found: `route` with `params`. Not found: route NULL, and `known_path` says whether other methods have one. */
struct uvh_match {
    const struct uvh_route *route;
    size_t param_count;
    bool known_path;
    struct uvh_param params[UVH_REQUEST_MAX_PARAMS];
};

/* Gets a line about a refused pattern. */
typedef void (*uvh_router_complain_cb)(const char *message, void *arg);

struct uvhttp_router *uvh_router_new(const uvhttp_allocator_t *allocator, uvh_router_complain_cb complain,
                                     void *arg);
void uvh_router_free(struct uvhttp_router *router);

/* After this, adding gives UVHTTP_EFROZEN. */
void uvh_router_freeze(struct uvhttp_router *router);

/* `path` as uvhttp_request_path gives it. For UVHTTP_METHOD_OTHER `name` counts. HEAD falls back to GET. */
void uvh_router_match(const struct uvhttp_router *router, uvhttp_method_t method, uvhttp_slice_t name,
                      uvhttp_slice_t path, struct uvh_match *match);

/* Writes the value of Allow for a path ("GET, HEAD, OPTIONS"); for "*" all methods of the router. 0 or UVHTTP_ENOMEM. */
int uvh_router_allow(const struct uvhttp_router *router, uvhttp_slice_t path, struct uvh_bytes *allow);

/* True when any route is for this extension method. */
bool uvh_router_knows_method(const struct uvhttp_router *router, uvhttp_slice_t name);

#endif
