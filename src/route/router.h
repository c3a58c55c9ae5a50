/* The router: a server's routers by name and by group, what they hold, and who answers a request.
 *
 * Always true: every route stands in the tree of one site and in the list of all; after the
 * freezing nothing changes any more, and each route knows all the middleware that runs before its
 * handler as one array. Called by server/ for freezing and matching, and by the public functions
 * for adding. */
#ifndef UVH_ROUTE_ROUTER_H
#define UVH_ROUTE_ROUTER_H

#include <uvhttp/router.h>

#include "route/host.h"
#include "route/tree.h"

/* Gets a line about a refused pattern. */
typedef void (*uvh_router_complain_cb)(const char *message, void *arg);

/* The router of a server. */
struct uvhttp_router *uvh_router_new(const uvhttp_allocator_t *allocator,
                                     uvh_router_complain_cb complain, void *arg);
void uvh_router_free(struct uvhttp_router *router);

/* After this, adding gives UVHTTP_EFROZEN. 0, or UVHTTP_ENOMEM with nothing frozen. Once more does
 * nothing. */
int uvh_router_freeze(struct uvhttp_router *router);

/* Whose routes a request for this host[:port] is for. */
const struct uvh_site *uvh_router_site(const struct uvhttp_router *router,
                                       uvhttp_slice_t authority);

/* Finds the route and the middleware. `path` as uvhttp_request_path gives it. For
 * UVHTTP_METHOD_OTHER `name` counts. HEAD falls back to GET. Slash policies and middleware show
 * from the freezing on. */
void uvh_router_match(const struct uvh_site *site, uvhttp_method_t method, uvhttp_slice_t name,
                      uvhttp_slice_t path, struct uvh_match *match);

/* Writes the value of Allow for a path ("GET, HEAD, OPTIONS"); for "*" all methods of the site. 0
 * or UVHTTP_ENOMEM. */
int uvh_router_allow(const struct uvh_site *site, uvhttp_slice_t path, struct uvh_bytes *allow);

/* True when any route of any site is for this extension method. */
bool uvh_router_knows_method(const struct uvhttp_router *router, uvhttp_slice_t name);

#endif
