/* The routes of one host in a tree of path segments. A lookup does not allocate.
 *
 * Invariants: a node's children are in a hash table, so the cost of a match depends on the number
 * of segments, not of routes. Routes are borrowed; they outlive the tree. */
#ifndef UVH_ROUTE_TREE_H
#define UVH_ROUTE_TREE_H

#include <uvhttp/router.h>

#include "route/literal.h"

struct uvh_node;
struct uvh_site;

/* Found: `route` with `params`. Not found: route NULL; `known_path` says whether other methods have
 * a route. */
struct uvh_match {
    const struct uvh_route *route;
    const uvhttp_middleware_t *chain; /* the middleware of this request, with or without route */
    size_t chain_length;
    const struct uvh_site *site; /* the host's routes */
    size_t param_count;
    bool known_path;
    /* no route, but one for the path with a trailing slash added or removed, to redirect to */
    bool other_slash;
    struct uvh_param params[UVH_REQUEST_MAX_PARAMS];
};

struct uvh_tree {
    const uvhttp_allocator_t *allocator;
    struct uvh_node *root;
    struct uvh_literals literals; /* the paths without parameters, which are in the tree as well */
    struct uvh_methods methods;   /* of all routes with a method: for 501 and OPTIONS * */
    bool lenient;                 /* a route has a slash policy other than STRICT */
};

/* Returns 0 or UVHTTP_ENOMEM; must be released either way. */
int uvh_tree_init(struct uvh_tree *tree, const uvhttp_allocator_t *allocator);
void uvh_tree_release(struct uvh_tree *tree);

/* Adds a route with a valid pattern. Returns 0, UVHTTP_ENOMEM, or UVHTTP_ECONFLICT with the
 * existing route in `*taken`. */
int uvh_tree_insert(struct uvh_tree *tree, struct uvh_route *route, const struct uvh_route **taken);

/* Sets all members of `match` except the chain and the site. `path`: as returned by
 * uvhttp_request_path, with UVH_REQUEST_PATH_SLACK readable bytes after it. `name` is used for
 * UVHTTP_METHOD_OTHER only. HEAD falls back to GET. */
void uvh_tree_match(const struct uvh_tree *tree, uvhttp_method_t method, uvhttp_slice_t name,
                    uvhttp_slice_t path, struct uvh_match *match);

/* Writes the value of Allow for a path ("GET, HEAD, OPTIONS"); for "*" all methods of the tree. 0
 * or UVHTTP_ENOMEM. */
int uvh_tree_allow(const struct uvh_tree *tree, uvhttp_slice_t path, struct uvh_bytes *allow);

/* True when a route has this extension method. */
bool uvh_tree_knows_method(const struct uvh_tree *tree, uvhttp_slice_t name);

#endif
