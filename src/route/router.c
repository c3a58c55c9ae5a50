/* Creating, freezing, matching and listing. Everything that a route inherits (middleware, the slash
 * policy) is computed by freezing, so that the order of adding does not matter and no request has
 * to compute it. */
#include "route/router.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "options/error.h"
#include "route/routing.h"

/* ---- create and free ---- */

void uvh_routing_release_site(struct uvh_site *site, const uvhttp_allocator_t *allocator)
{
    uvh_tree_release(&site->tree);
    uvh_rewriting_release(site, allocator);
    uvh_free(allocator, site->host);
}

/* Frees the arrays that belong to a router or route itself. */
static void drop_chains(struct uvh_routing *all)
{
    for (struct uvhttp_router *router = &all->own; router != NULL; router = router->next) {
        if (router->middleware_count > 0)
            uvh_free(all->allocator, (void *)(uintptr_t)router->chain);
        router->chain = NULL;
        router->chain_length = 0;
    }
    for (struct uvh_route *route = all->routes; route != NULL; route = route->next_added) {
        if (route->middleware_count > 0)
            uvh_free(all->allocator, (void *)(uintptr_t)route->chain);
        route->chain = NULL;
        route->chain_length = 0;
    }
}

struct uvhttp_router *uvh_router_new(const uvhttp_allocator_t *allocator,
                                     uvh_router_complain_cb complain, void *arg)
{
    static char no_prefix[] = "";
    struct uvh_routing *all = uvh_alloc_zero(allocator, sizeof(*all));
    if (all == NULL)
        return NULL;
    all->allocator = allocator;
    all->complain = complain;
    all->complain_arg = arg;
    uvh_hash_table_init(&all->hosts, allocator);
    all->own = (struct uvhttp_router){.all = all, .site = &all->own_site, .prefix = no_prefix};
    all->last_router = &all->own;
    all->own_site.router = &all->own;
    if (uvh_tree_init(&all->own_site.tree, allocator) != 0) {
        uvh_free(allocator, all);
        return NULL;
    }
    return &all->own;
}

int uvh_router_end(struct uvhttp_router *router, int code)
{
    struct uvh_routing *all = router->all;
    uvh_error_end(&all->error, code);
    if (code < 0 && all->first_error.code == 0)
        all->first_error = all->error;
    return code;
}

const uvhttp_error_t *uvh_router_first_error(struct uvhttp_router *router)
{
    return &router->all->first_error;
}

void *uvh_router_arg(struct uvhttp_router *router)
{
    return router->all->complain_arg;
}

uvhttp_error_t *uvh_router_error(struct uvhttp_router *router)
{
    return &router->all->error;
}

void uvh_router_free(struct uvhttp_router *router)
{
    if (router == NULL)
        return;
    struct uvh_routing *all = router->all;
    drop_chains(all);
    while (all->routes != NULL) {
        struct uvh_route *route = all->routes;
        all->routes = route->next_added;
        uvh_free(all->allocator, route);
    }
    struct uvh_hash_link *host = uvh_hash_table_walk(&all->hosts, NULL);
    while (host != NULL) {
        struct uvh_site *site = UVH_CONTAINER_OF(host, struct uvh_site, link);
        host = uvh_hash_table_walk(&all->hosts, host);
        uvh_routing_release_site(site, all->allocator);
        uvh_free(all->allocator, site);
    }
    uvh_hash_table_release(&all->hosts);
    while (all->own.next != NULL) {
        struct uvhttp_router *group = all->own.next;
        all->own.next = group->next;
        uvh_free(all->allocator, group->middleware);
        uvh_free(all->allocator, group->prefix);
        uvh_free(all->allocator, group);
    }
    uvh_free(all->allocator, all->own.middleware);
    uvh_routing_release_site(&all->own_site, all->allocator);
    uvh_free(all->allocator, all);
}

/* ---- freezing ---- */

/* Appends a router's or route's own middleware to what it inherits, in a new array; uses the array
 * of `outer` when it has none. */
static int build_chain(const struct uvh_routing *all, const struct uvhttp_router *outer,
                       const uvhttp_middleware_t *own, size_t count,
                       const uvhttp_middleware_t **chain, size_t *length)
{
    size_t inherited = outer == NULL ? 0 : outer->chain_length;
    *length = inherited + count;
    *chain = outer == NULL ? NULL : outer->chain;
    if (count == 0)
        return 0;
    uvhttp_middleware_t *flat = uvh_alloc(all->allocator, (inherited + count) * sizeof(*flat));
    if (flat == NULL) {
        *chain = NULL;
        return UVHTTP_ENOMEM;
    }
    if (inherited > 0)
        memcpy(flat, *chain, inherited * sizeof(*flat));
    memcpy(flat + inherited, own, count * sizeof(*flat));
    *chain = flat;
    return 0;
}

static uvhttp_slash_t slash_of(const struct uvhttp_router *router)
{
    while (router->slash == UVH_ROUTING_SLASH_INHERITED)
        router = router->parent;
    return (uvhttp_slash_t)router->slash;
}

int uvh_router_freeze(struct uvhttp_router *router)
{
    struct uvh_routing *all = router->all;
    int err = 0;
    if (all->frozen)
        return 0;
    all->route_count = 0;
    for (struct uvhttp_router *one = &all->own; err == 0 && one != NULL; one = one->next)
        err = build_chain(all, one->parent, one->middleware, one->middleware_count, &one->chain,
                          &one->chain_length);
    for (struct uvh_route *route = all->routes; err == 0 && route != NULL;
         route = route->next_added) {
        err = build_chain(all, route->owner, route->middleware, route->middleware_count,
                          &route->chain, &route->chain_length);
        route->index = all->route_count++;
        route->slash = slash_of(route->owner);
        if (route->slash != UVHTTP_SLASH_STRICT)
            route->owner->site->tree.lenient = true;
    }
    if (err != 0)
        drop_chains(all);
    all->frozen = err == 0;
    return err;
}

size_t uvh_router_count(const struct uvhttp_router *router)
{
    return router->all->route_count;
}

const struct uvh_route *uvh_router_first(const struct uvhttp_router *router)
{
    return router->all->routes;
}

const char *uvh_router_host(const struct uvh_route *route)
{
    return route->owner->site->host;
}

/* ---- matching ---- */

const struct uvh_site *uvh_router_site(const struct uvhttp_router *router, uvhttp_slice_t authority)
{
    const struct uvh_routing *all = router->all;
    const struct uvh_site *site =
        all->hosts.count == 0 ? NULL : uvh_host_find(&all->hosts, authority);
    return site != NULL ? site : &all->own_site;
}

void uvh_router_match(const struct uvh_site *site, uvhttp_method_t method, uvhttp_slice_t name,
                      uvhttp_slice_t path, struct uvh_match *match)
{
    uvh_tree_match(&site->tree, method, name, path, match);
    match->site = site;
    if (match->route != NULL) {
        match->chain = match->route->chain;
        match->chain_length = match->route->chain_length;
    } else {
        match->chain = site->router->chain;
        match->chain_length = site->router->chain_length;
    }
}

int uvh_router_allow(const struct uvh_site *site, uvhttp_slice_t path, struct uvh_bytes *allow)
{
    return uvh_tree_allow(&site->tree, path, allow);
}

bool uvh_router_knows_method(const struct uvhttp_router *router, uvhttp_slice_t name)
{
    const struct uvh_routing *all = router->all;
    bool known = uvh_tree_knows_method(&all->own_site.tree, name);
    struct uvh_hash_link *link = NULL;
    while (!known && (link = uvh_hash_table_walk(&all->hosts, link)) != NULL)
        known = uvh_tree_knows_method(&UVH_CONTAINER_OF(link, struct uvh_site, link)->tree, name);
    return known;
}

void *uvh_router_data(const struct uvh_site *site, const struct uvh_route *route)
{
    const struct uvhttp_router *router = route != NULL ? route->owner : site->router;
    while (router != NULL && router->data == NULL)
        router = router->parent;
    return router == NULL ? NULL : router->data;
}

/* ---- public reads ---- */

bool uvhttp_router_is_frozen(const uvhttp_router_t *router)
{
    return router != NULL && router->all->frozen;
}

int uvhttp_router_each(const uvhttp_router_t *router, uvhttp_route_cb each, void *arg)
{
    if (router == NULL)
        return UVHTTP_ENOMEM;
    if (each == NULL)
        return UVHTTP_EINVAL;
    int result = 0;
    for (const struct uvh_route *route = router->all->routes; result == 0 && route != NULL;
         route = route->next_added) {
        const struct uvhttp_router *owner = route->owner;
        while (owner != NULL && owner != router)
            owner = owner->parent;
        if (owner == NULL)
            continue;
        uvhttp_route_info_t info = {.host = route->owner->site->host,
                                    .pattern = route->pattern,
                                    .method = route->method,
                                    .max_body_size = route->max_body_size,
                                    .handler_timeout = route->handler_timeout,
                                    .body_timeout = route->body_timeout,
                                    .write_timeout = route->write_timeout,
                                    .timeout_status = route->timeout_status,
                                    .flags = route->flags,
                                    .upgrade = route->upgrade,
                                    .middleware_count = route->chain_length};
        result = each(&info, arg);
    }
    return result;
}
