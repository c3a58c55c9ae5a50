/* The router: a server's routers by host and by group, their routes and middleware, and the lookup
 * of a request's route.
 *
 * Invariants: every route is in the tree of one site and in the list of all; after freezing nothing
 * changes, and each route has all middleware that runs before its handler in one array. Called by
 * server/ for freezing and matching, and by the public functions for adding. */
#ifndef UVH_ROUTE_ROUTER_H
#define UVH_ROUTE_ROUTER_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#include "route/host.h"
#include "route/tree.h"

/* Receives a message about a rejected pattern. */
typedef void (*uvh_router_complain_cb)(const char *message, void *arg);

/* Creates the router of a server. */
struct uvhttp_router *uvh_router_new(const uvhttp_allocator_t *allocator,
                                     uvh_router_complain_cb complain, void *arg);
void uvh_router_free(struct uvhttp_router *router);

/* The `arg` of the server's router, also of one of its groups and hosts. */
void *uvh_router_arg(struct uvhttp_router *router);

/* The error object of the server's set-up calls, those of its routers included. */
uvhttp_error_t *uvh_router_error(struct uvhttp_router *router);

/* Ends such a call: as uvh_error_end, and keeps the first error. */
int uvh_router_end(struct uvhttp_router *router, int code);
const uvhttp_error_t *uvh_router_first_error(struct uvhttp_router *router);

/* Freezes the router: adding returns UVHTTP_EFROZEN after this. Returns 0, or UVHTTP_ENOMEM with
 * nothing frozen. No effect when frozen. */
int uvh_router_freeze(struct uvhttp_router *router);

/* The number of routes of a frozen router, and its first one; `next_added` leads to the others, in
 * the order of their index. */
size_t uvh_router_count(const struct uvhttp_router *router);
const struct uvh_route *uvh_router_first(const struct uvhttp_router *router);

/* The host that the route was added to; NULL: the server itself. */
const char *uvh_router_host(const struct uvh_route *route);

/* The site for a request to this host[:port]. */
const struct uvh_site *uvh_router_site(const struct uvhttp_router *router,
                                       uvhttp_slice_t authority);

/* Finds the route and the middleware. `path`: as returned by uvhttp_request_path. `name` is used
 * for UVHTTP_METHOD_OTHER only. HEAD falls back to GET. Slash policies and middleware apply once
 * frozen. */
void uvh_router_match(const struct uvh_site *site, uvhttp_method_t method, uvhttp_slice_t name,
                      uvhttp_slice_t path, struct uvh_match *match);

/* Rewrites the path of a request by the rules of its site; `match` is used for the lookup. Returns
 * 0, UVHTTP_EINVAL (the new path is invalid) or UVHTTP_ENOMEM. */
int uvh_rewriting_apply(const struct uvh_site *site, struct uvhttp_request *request,
                        struct uvh_match *match);

/* The data of the innermost router of a route that has one, or NULL. Without a route: of the
 * site. */
void *uvh_router_data(const struct uvh_site *site, const struct uvh_route *route);

/* Writes the value of Allow for a path ("GET, HEAD, OPTIONS"); for "*" all methods of the site. 0
 * or UVHTTP_ENOMEM. */
int uvh_router_allow(const struct uvh_site *site, uvhttp_slice_t path, struct uvh_bytes *allow);

/* True when a route of any site has this extension method. */
bool uvh_router_knows_method(const struct uvhttp_router *router, uvhttp_slice_t name);

#endif
