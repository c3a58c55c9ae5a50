/* The data structures of a server's routers.
 *
 * Routers, hosts and groups are views: what is added through one is stored in the tree of its host,
 * with the view as owner. Shared by router.c, which owns all of it, and adding.c, the public
 * functions. */
#ifndef UVH_ROUTE_ROUTING_H
#define UVH_ROUTE_ROUTING_H

#include "route/router.h"

enum { UVH_ROUTING_SLASH_INHERITED = -1 };

struct uvhttp_router {
    struct uvh_routing *all;
    struct uvhttp_router *parent; /* NULL: the server's */
    struct uvhttp_router *next;   /* in order of creation: parents come first */
    struct uvh_site *site;
    char *prefix;                    /* includes the parents' prefixes; may be empty */
    uvhttp_middleware_t *middleware; /* the router's own */
    size_t middleware_count;
    /* outermost first; the parent's array when it has none of its own */
    const uvhttp_middleware_t *chain;
    size_t chain_length;
    int slash;  /* uvhttp_slash_t, or UVH_ROUTING_SLASH_INHERITED */
    void *data; /* the application's; NULL: that of the parent */
};

/* State shared by the routers of a server. */
struct uvh_routing {
    struct uvhttp_router own; /* the server's router */
    struct uvh_site own_site;
    const uvhttp_allocator_t *allocator;
    uvh_router_complain_cb complain;
    void *complain_arg;
    uvhttp_error_t error; /* of the last set-up call of the server */
    uvhttp_error_t first_error;
    struct uvh_hash_table hosts;
    struct uvhttp_router *last_router;
    struct uvh_route *routes, *last_route; /* in the order of adding */
    size_t route_count;                    /* set by freezing */
    bool frozen;
};

/* Frees the contents of a site, not the site. */
void uvh_routing_release_site(struct uvh_site *site, const uvhttp_allocator_t *allocator);

/* For public calls: begin clears the server's error object, end sets it and returns `err`. */
void uvh_routing_begin(struct uvhttp_router *router);
int uvh_routing_end(struct uvhttp_router *router, int err);

/* Returns 0 unless the router is frozen. `what`: as for uvh_error_frozen. */
int uvh_routing_may_change(struct uvhttp_router *router, const char *what);

/* Rejects a pattern, passed in two parts, and logs why. Returns `err`. */
int uvh_routing_refuse(struct uvhttp_router *router, int err, const char *prefix,
                       const char *pattern, const char *why);

/* Rejects a route or a rule, `what`, whose pattern exists already. Returns UVHTTP_ECONFLICT. */
int uvh_routing_refuse_duplicate(struct uvhttp_router *router, const char *what,
                                 const struct uvh_route *route, const struct uvh_route *taken);

/* Frees the rewrites of a site. */
void uvh_rewriting_release(struct uvh_site *site, const uvhttp_allocator_t *allocator);

#endif
