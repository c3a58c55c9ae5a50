/* The public functions of the router: groups, hosts, routes, middleware. A call that is rejected or
 * fails changes nothing. */
#include <uvhttp/router.h>

#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/health.h>
#include <uvhttp/metrics.h>
#include <uvhttp/static.h>
#include <uvhttp/status_page.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/http1/method.h"
#include "options/error.h"
#include "route/pattern.h"
#include "route/router.h"
#include "route/routing.h"

enum {
    REASON_SIZE = 256,
    MAX_TIMEOUT = 86400,
    ALL_FLAGS = UVHTTP_ROUTE_STREAM | UVHTTP_ROUTE_BLOCKING | UVHTTP_ROUTE_NEVER_SHED,
};

static const char *host_of(const struct uvhttp_router *router)
{
    return router->site->host == NULL ? "" : router->site->host;
}

void uvh_routing_begin(struct uvhttp_router *router)
{
    if (router != NULL)
        uvh_error_clear(&router->all->error);
}

int uvh_routing_end(struct uvhttp_router *router, int err)
{
    return router == NULL ? err : uvh_router_end(router, err);
}

/* Rejects a member of a route. Returns UVHTTP_EINVAL. */
static int refuse_member(struct uvhttp_router *router, const char *field, const char *value,
                         const char *reason)
{
    uvh_error_string(&router->all->error, field, value, reason);
    return UVHTTP_EINVAL;
}

int uvh_routing_refuse(struct uvhttp_router *router, int err, const char *prefix,
                       const char *pattern, const char *why)
{
    uvhttp_error_t *error = &router->all->error;
    char value[sizeof(error->value)];
    snprintf(value, sizeof(value), "%s%s", prefix, pattern);
    uvh_error_sentence(error, "pattern", value, "%s", why);
    /* "a.testx" for the pattern "x" would name no pattern. */
    const char *host = value[0] == '/' || value[0] == '\0' ? host_of(router) : "";
    uvh_error_set_text(error, "route \"%s%s\" refused: %s", host, error->value, why);
    router->all->complain(error->text, router->all->complain_arg);
    return err;
}

int uvh_routing_may_change(struct uvhttp_router *router, const char *what)
{
    if (router == NULL)
        return UVHTTP_ENOMEM;
    return router->all->frozen ? uvh_error_frozen(&router->all->error, what) : 0;
}

/* Concatenates two strings; NULL when out of memory. */
static char *join(const uvhttp_allocator_t *allocator, const char *first, const char *second)
{
    size_t size = strlen(first), more = strlen(second) + 1;
    char *text = uvh_alloc(allocator, size + more);
    if (text == NULL)
        return NULL;
    memcpy(text, first, size);
    memcpy(text + size, second, more);
    return text;
}

/* Creates a view of a site below `parent`; NULL when out of memory. */
static struct uvhttp_router *new_router(struct uvhttp_router *parent, struct uvh_site *site,
                                        const char *prefix)
{
    struct uvh_routing *all = parent->all;
    struct uvhttp_router *router = uvh_alloc_zero(all->allocator, sizeof(*router));
    if (router == NULL)
        return NULL;
    *router = (struct uvhttp_router){
        .all = all, .parent = parent, .site = site, .slash = UVH_ROUTING_SLASH_INHERITED};
    router->prefix = join(all->allocator, parent->prefix, prefix);
    if (router->prefix == NULL) {
        uvh_free(all->allocator, router);
        return NULL;
    }
    return router;
}

static void enlist(struct uvhttp_router *router)
{
    router->all->last_router->next = router;
    router->all->last_router = router;
}

/* Probes, metrics and the status page tell that the server is overloaded. */
static bool observes(uvhttp_handler_cb handler)
{
    return handler == uvhttp_health_handle_live || handler == uvhttp_health_handle_ready ||
           handler == uvhttp_metrics_handle_request || handler == uvhttp_status_page_handle_request;
}

/* Allocates a route in one block: the struct, its parameters, middleware, pattern and method, and
 * readable bytes after the pattern. */
static struct uvh_route *new_route(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    size_t prefix_length = strlen(router->prefix);
    size_t pattern_size = strlen(given->pattern) + 1;
    size_t method_size = given->method == NULL ? 0 : strlen(given->method) + 1;
    size_t upgrade_size = given->upgrade == NULL ? 0 : strlen(given->upgrade) + 1;
    size_t params_size =
        (uvh_pattern_most_params(router->prefix) + uvh_pattern_most_params(given->pattern)) *
        sizeof(struct uvh_param_name);
    size_t middleware_size = given->middleware_count * sizeof(uvhttp_middleware_t);
    struct uvh_route *route =
        uvh_alloc_zero(router->all->allocator, sizeof(*route) + params_size + middleware_size +
                                                   prefix_length + pattern_size + method_size +
                                                   upgrade_size + UVH_REQUEST_PATH_SLACK);
    if (route == NULL)
        return NULL;
    char *end = (char *)(route + 1) + params_size;
    route->middleware = (uvhttp_middleware_t *)(void *)end;
    route->middleware_count = given->middleware_count;
    if (middleware_size > 0)
        memcpy(end, given->middleware, middleware_size);
    route->pattern = end + middleware_size;
    memcpy(route->pattern, router->prefix, prefix_length);
    memcpy(route->pattern + prefix_length, given->pattern, pattern_size);
    if (method_size > 0) {
        route->method = route->pattern + prefix_length + pattern_size;
        memcpy(route->method, given->method, method_size);
    }
    if (upgrade_size > 0) {
        route->upgrade = route->pattern + prefix_length + pattern_size + method_size;
        memcpy(route->upgrade, given->upgrade, upgrade_size);
    }
    route->owner = router;
    route->handler = given->handler;
    route->arg = given->arg;
    route->max_body_size = given->max_body_size;
    route->handler_timeout = given->handler_timeout;
    route->body_timeout = given->body_timeout;
    route->write_timeout = given->write_timeout;
    route->timeout_status = given->timeout_status == 0 ? 503 : given->timeout_status;
    route->flags = given->flags;
    if (observes(given->handler))
        route->flags |= UVHTTP_ROUTE_NEVER_SHED;
    return route;
}

/* True for a known method in the wrong case. Methods are case-sensitive (RFC 9110 section 9.1), so
 * such a route would never match. */
static bool is_misspelt(const char *method)
{
    uvhttp_slice_t given = uvh_slice(method);
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        uvhttp_slice_t known = uvh_slice(uvh_method_name((uvhttp_method_t)i));
        if (uvh_field_name_equal(given, known))
            return memcmp(given.base, known.base, known.length) != 0;
    }
    return false;
}

/* A token, with an optional version after '/' (RFC 9110 section 7.8). */
static bool is_protocol(const char *text)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL)
        return uvh_field_name_valid(uvh_slice(text));
    return uvh_field_name_valid((uvhttp_slice_t){text, (size_t)(slash - text)}) &&
           uvh_field_name_valid(uvh_slice(slash + 1));
}

static int refuse_flags(struct uvhttp_router *router, unsigned flags, const char *reason)
{
    uvh_error_size(&router->all->error, "flags", flags, "%s", reason);
    return UVHTTP_EINVAL;
}

static int check_timeouts(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    uvhttp_error_t *error = &router->all->error;
    const struct {
        const char *name;
        uint32_t seconds;
    } timeouts[] = {{"handler_timeout", given->handler_timeout},
                    {"body_timeout", given->body_timeout},
                    {"write_timeout", given->write_timeout}};
    for (size_t i = 0; i < UVH_COUNT_OF(timeouts); i++) {
        if (timeouts[i].seconds <= MAX_TIMEOUT)
            continue;
        uvh_error_size(error, timeouts[i].name, timeouts[i].seconds, "allowed are 0 to %d seconds",
                       MAX_TIMEOUT);
        return UVHTTP_EINVAL;
    }
    unsigned status = given->timeout_status;
    if (status == 0 || status == 503 || status == 504)
        return 0;
    uvh_error_size(error, "timeout_status", status, "allowed are 503 and 504");
    return UVHTTP_EINVAL;
}

/* Checks everything but the pattern. Returns 0 or an error. */
static int check_route(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    if (given == NULL)
        return UVHTTP_EINVAL;
    if (given->handler == NULL)
        return refuse_member(router, "handler", "", "a route requires one");
    if (given->pattern == NULL)
        return refuse_member(router, "pattern", "", "a route requires one, such as /users/:id");
    if (given->method != NULL && !uvh_field_name_valid(uvh_slice(given->method)))
        return refuse_member(router, "method", given->method,
                             "must be a method, such as GET, or NULL for all");
    if (given->upgrade != NULL && !is_protocol(given->upgrade))
        return refuse_member(router, "upgrade", given->upgrade,
                             "must be the name of a protocol, such as websocket");
    if ((given->flags & ~(unsigned)ALL_FLAGS) != 0)
        return refuse_flags(router, given->flags, "must be a combination of UVHTTP_ROUTE_*");
    bool blocks = (given->flags & UVHTTP_ROUTE_BLOCKING) != 0;
    if (blocks && ((given->flags & UVHTTP_ROUTE_STREAM) != 0 || given->upgrade != NULL))
        return refuse_flags(router, given->flags,
                            "UVHTTP_ROUTE_BLOCKING excludes UVHTTP_ROUTE_STREAM and upgrade");
    return check_timeouts(router, given);
}

/* A pointer without its count would silently omit the middleware, maybe an authentication. */
static int check_middleware(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    char why[REASON_SIZE] = "";
    size_t count = given->middleware_count;
    if (count == 0 && given->middleware != NULL)
        snprintf(why, sizeof(why),
                 "middleware is set and middleware_count is 0: UVHTTP_MIDDLEWARE sets both");
    else if (count > 0 && given->middleware == NULL)
        snprintf(why, sizeof(why), "middleware_count is %zu and middleware is NULL", count);
    for (size_t i = 0; i < count && why[0] == '\0'; i++) {
        if (given->middleware[i].handler == NULL)
            snprintf(why, sizeof(why), "middleware[%zu] has no handler", i);
    }
    if (why[0] == '\0')
        return 0;
    uvh_routing_refuse(router, UVHTTP_EINVAL, router->prefix, given->pattern, why);
    uvh_error_set_field(&router->all->error, "middleware");
    uvh_error_set_value(&router->all->error, "");
    return UVHTTP_EINVAL;
}

static bool needs_loop(uvhttp_handler_cb handler)
{
    return handler == uvhttp_static_handle_request || handler == uvhttp_static_handle_upload;
}

int uvh_routing_refuse_duplicate(struct uvhttp_router *router, const char *what,
                                 const struct uvh_route *route, const struct uvh_route *taken)
{
    enum { WHAT_SHOWN = 64 };
    uvhttp_error_t *error = &router->all->error;
    char why[sizeof(error->reason)], other[sizeof(error->other)];
    snprintf(other, sizeof(other), "%s", taken->pattern);
    snprintf(why, sizeof(why), "%.*s \"%s%s\" already exists", WHAT_SHOWN, what, host_of(router),
             other);
    uvh_routing_refuse(router, UVHTTP_ECONFLICT, "", route->pattern, why);
    uvh_error_set_other(error, other);
    return UVHTTP_ECONFLICT;
}

static int insert(struct uvhttp_router *router, struct uvh_route *route)
{
    size_t count;
    const char *wrong = uvh_pattern_params(route->pattern, route->params, &count);
    if (wrong != NULL)
        return uvh_routing_refuse(router, UVHTTP_EROUTE, "", route->pattern, wrong);
    route->param_count = (unsigned)count;
    const struct uvh_route *taken;
    int err = uvh_tree_insert(&router->site->tree, route, &taken);
    if (err != UVHTTP_ECONFLICT)
        return err;
    return uvh_routing_refuse_duplicate(
        router, route->method == NULL ? "any method of" : route->method, route, taken);
}

static int refuse_misspelt(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    uvhttp_error_t *error = &router->all->error;
    uvh_routing_refuse(router, UVHTTP_EINVAL, router->prefix, given->pattern,
                       "methods are case-sensitive: use upper case");
    uvh_error_set_field(error, "method");
    uvh_error_set_value(error, given->method);
    return UVHTTP_EINVAL;
}

/* Static files use a cache without locks, which belongs to the loop's thread. */
static int refuse_blocking_files(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    char flags[16];
    snprintf(flags, sizeof(flags), "%u", given->flags);
    uvh_routing_refuse(router, UVHTTP_EINVAL, router->prefix, given->pattern,
                       "static files run on the loop's thread and cannot be UVHTTP_ROUTE_BLOCKING");
    uvh_error_set_field(&router->all->error, "flags");
    uvh_error_set_value(&router->all->error, flags);
    return UVHTTP_EINVAL;
}

static int add(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    int err = uvh_routing_may_change(router, "routes must be added");
    if (err != 0 || (err = check_route(router, given)) != 0 ||
        (err = check_middleware(router, given)) != 0)
        return err;
    if (given->method != NULL && is_misspelt(given->method))
        return refuse_misspelt(router, given);
    if ((given->flags & UVHTTP_ROUTE_BLOCKING) != 0 && needs_loop(given->handler))
        return refuse_blocking_files(router, given);
    bool is_prefix = given->pattern[0] == '\0' && router->prefix[0] != '\0';
    if (given->pattern[0] != '/' && !is_prefix)
        return uvh_routing_refuse(router, UVHTTP_EROUTE, "", given->pattern,
                                  "it does not begin with \"/\"");
    struct uvh_routing *all = router->all;
    struct uvh_route *route = new_route(router, given);
    if (route == NULL)
        return UVHTTP_ENOMEM;
    err = insert(router, route);
    if (err != 0) {
        uvh_free(all->allocator, route);
        return err;
    }
    if (all->routes == NULL)
        all->routes = route;
    else
        all->last_route->next_added = route;
    all->last_route = route;
    return 0;
}

int uvhttp_router_add(uvhttp_router_t *router, const uvhttp_route_t *given)
{
    uvh_routing_begin(router);
    return uvh_routing_end(router, add(router, given));
}

int uvhttp_router_route(uvhttp_router_t *router, const char *method, const char *pattern,
                        uvhttp_handler_cb handler, void *arg)
{
    return uvhttp_router_add(
        router,
        &(uvhttp_route_t){.method = method, .pattern = pattern, .handler = handler, .arg = arg});
}

int uvhttp_router_add_route(uvhttp_router_t *router, const char *pattern, uvhttp_handler_cb handler)
{
    return uvhttp_router_route(router, NULL, pattern, handler, NULL);
}

static int use(struct uvhttp_router *router, uvhttp_handler_cb middleware, void *arg)
{
    int err = uvh_routing_may_change(router, "middleware must be added");
    if (err != 0)
        return err;
    if (middleware == NULL)
        return refuse_member(router, "middleware", "", "a function is required");
    size_t count = router->middleware_count;
    uvhttp_middleware_t *grown =
        uvh_realloc(router->all->allocator, router->middleware, (count + 1) * sizeof(*grown));
    if (grown == NULL)
        return UVHTTP_ENOMEM;
    grown[count] = (uvhttp_middleware_t){middleware, arg};
    router->middleware = grown;
    router->middleware_count = count + 1;
    return 0;
}

int uvhttp_router_use(uvhttp_router_t *router, uvhttp_handler_cb middleware, void *arg)
{
    uvh_routing_begin(router);
    return uvh_routing_end(router, use(router, middleware, arg));
}

/* Checks a prefix that is appended to that of `router`. Returns an error text, or NULL. */
static const char *check_prefix(const char *prefix, const char *whole)
{
    struct uvh_param_name params[UVH_REQUEST_MAX_PARAMS];
    size_t count;
    if (prefix[0] == '\0')
        return NULL;
    if (prefix[0] != '/')
        return "it does not begin with \"/\"";
    if (prefix[strlen(prefix) - 1] == '/')
        return "a prefix must not end with \"/\"";
    const char *wrong = uvh_pattern_params(whole, params, &count);
    if (wrong == NULL && count > 0 && params[count - 1].wildcard)
        wrong = "a prefix must not contain \"*\"";
    return wrong;
}

static int add_group(struct uvhttp_router *router, const char *prefix, uvhttp_router_t **group)
{
    if (group == NULL)
        return UVHTTP_EINVAL;
    *group = NULL;
    int err = uvh_routing_may_change(router, "groups must be added");
    if (err != 0)
        return err;
    if (prefix == NULL)
        return UVHTTP_EINVAL;
    struct uvhttp_router *made = new_router(router, router->site, prefix);
    if (made == NULL)
        return UVHTTP_ENOMEM;
    const char *wrong = check_prefix(prefix, made->prefix);
    if (wrong != NULL) {
        uvh_free(router->all->allocator, made->prefix);
        uvh_free(router->all->allocator, made);
        uvh_routing_refuse(router, UVHTTP_EROUTE, router->prefix, prefix, wrong);
        uvh_error_set_field(&router->all->error, "prefix");
        return UVHTTP_EROUTE;
    }
    enlist(made);
    *group = made;
    return 0;
}

int uvhttp_router_group(uvhttp_router_t *router, const char *prefix, uvhttp_router_t **group)
{
    uvh_routing_begin(router);
    return uvh_routing_end(router, add_group(router, prefix, group));
}

/* Adds a host that does not exist yet. */
static int add_host(struct uvhttp_router *router, const char *name, uvhttp_router_t **out)
{
    struct uvh_routing *all = router->all;
    struct uvh_site *site = uvh_alloc_zero(all->allocator, sizeof(*site));
    if (site == NULL)
        return UVHTTP_ENOMEM;
    int err = uvh_tree_init(&site->tree, all->allocator);
    site->host = uvh_alloc_string(all->allocator, name, strlen(name));
    site->router = new_router(router, site, "");
    if (err != 0 || site->host == NULL || site->router == NULL) {
        if (site->router != NULL)
            uvh_free(all->allocator, site->router->prefix);
        uvh_free(all->allocator, site->router);
        uvh_routing_release_site(site, all->allocator);
        uvh_free(all->allocator, site);
        return UVHTTP_ENOMEM;
    }
    uvh_host_add(&all->hosts, site);
    enlist(site->router);
    *out = site->router;
    return 0;
}

static int refuse_host(struct uvhttp_router *router, const char *host, const char *why)
{
    uvhttp_error_t *error = &router->all->error;
    uvh_error_sentence(error, "host", host, "%s", why);
    uvh_error_set_text(error, "host \"%s\" is invalid: %s", error->value, why);
    router->all->complain(error->text, router->all->complain_arg);
    return UVHTTP_EROUTE;
}

static int find_host(struct uvhttp_router *router, const char *host, uvhttp_router_t **out)
{
    char name[UVH_HOST_MAX + 1];
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    int err = uvh_routing_may_change(router, "hosts must be added");
    if (err != 0)
        return err;
    if (host == NULL)
        return UVHTTP_EINVAL;
    if (router->parent != NULL)
        return refuse_member(router, "host", host, "must be added to the server's own router");
    const char *fault = uvh_host_name(host, name);
    if (fault != NULL)
        return refuse_host(router, host, fault);
    struct uvh_site *there = uvh_host_named(&router->all->hosts, uvh_slice(name));
    if (there == NULL)
        return add_host(router, name, out);
    *out = there->router;
    return 0;
}

int uvhttp_router_host(uvhttp_router_t *router, const char *host, uvhttp_router_t **out)
{
    uvh_routing_begin(router);
    return uvh_routing_end(router, find_host(router, host, out));
}

static int set_slash(struct uvhttp_router *router, uvhttp_slash_t slash)
{
    int err = uvh_routing_may_change(router, "the slash policy must be set");
    if (err != 0)
        return err;
    if (slash != UVHTTP_SLASH_STRICT && slash != UVHTTP_SLASH_REDIRECT &&
        slash != UVHTTP_SLASH_IGNORE) {
        uvh_error_int(&router->all->error, "slash", (int)slash, "allowed are %d to %d",
                      UVHTTP_SLASH_STRICT, UVHTTP_SLASH_IGNORE);
        return UVHTTP_EINVAL;
    }
    router->slash = (int)slash;
    return 0;
}

int uvhttp_router_set_slash(uvhttp_router_t *router, uvhttp_slash_t slash)
{
    uvh_routing_begin(router);
    return uvh_routing_end(router, set_slash(router, slash));
}

void uvhttp_router_set_data(uvhttp_router_t *router, void *data)
{
    if (router != NULL)
        router->data = data;
}
