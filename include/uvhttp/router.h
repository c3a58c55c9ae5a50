/* The router: maps host, method and path to a handler, and to the middleware that runs before it.
 *
 * Patterns are paths. A segment is literal, ":name" (exactly one segment, not empty) or, as the
 * last one, "*name" or "*" (the rest, may be empty). ":name(int)" matches 1 to 18 decimal digits
 * only, ":name.json" the segments that end with ".json", which is not part of the value; both may
 * be combined. Names have letters, digits, '_' and '-'.
 *
 * In each segment a literal is preferred to a parameter with a suffix (of several the longest),
 * that to ":name(int)", that to ":name", and that to "*name"; the router backtracks if the
 * preferred one does not match. Matching uses the decoded path segments, never the query; an
 * encoded slash is part of its segment.
 *
 * HEAD uses the GET route unless it has a route. OPTIONS gets a response with Allow unless it has a
 * route. A path with routes for other methods only gets 405 with Allow (RFC 9110 section 15.5.6).
 *
 * A router is that of the server (uvhttp_server_router), of a named host (uvhttp_router_host), or a
 * group of either (uvhttp_router_group). The server owns and frees all of them.
 *
 * All functions: before the server listens, on one thread. Functions that add something return 0,
 * or
 *   UVHTTP_EROUTE     the pattern does not begin with '/', contains '?', '#', '%' (paths are
 *                     matched decoded) or one of "{}<>" (a parameter is ":name"), has more than 16
 *                     parameters, a duplicate or invalid parameter name or an unknown type, or
 *                     continues after '*'; or a prefix or host is malformed
 *   UVHTTP_ECONFLICT  method and pattern exist already (parameter names do not distinguish
 *                     patterns)
 *   UVHTTP_EFROZEN    the server listens already
 *   UVHTTP_EINVAL     no handler, an invalid method token, a static handler (uvhttp/static.h) with
 *                     UVHTTP_ROUTE_BLOCKING, middleware without its count or the reverse (logged),
 *                     or another invalid argument
 *   UVHTTP_ENOMEM     out of memory; also when the router is NULL, so that only the last of several
 *                     calls needs a check
 * The first two are logged with the complete patterns, including host and prefix. */
#ifndef UVHTTP_ROUTER_H
#define UVHTTP_ROUTER_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of routes, or a view of one. Owned by its server. */
typedef struct uvhttp_router uvhttp_router_t;

/* A handler or middleware; `arg` is the argument it was added with.
 * Returns 0 or UVHTTP_QUEUED if it sends the response now or later, or
 *   UVHTTP_DECLINED  continue with the next handler
 *   negative         failure, logged with the name of the code: 503 for UVHTTP_ENOMEM,
 *                    UVHTTP_EFULL and UVHTTP_ESTOPPED, otherwise 500, unless the response was
 *                    sent. UVHTTP_EFULL and UVHTTP_ESTOPPED are logged at level debug, because
 *                    they are no faults. */
typedef int (*uvhttp_handler_cb)(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

/* Values for uvhttp_route_t.flags. */
typedef enum uvhttp_route_flags {
    /* The handler runs when the head has arrived, and reads the body with
     * uvhttp_request_on_body. Its body limit is max_body_size of the route; 0 means no limit. */
    UVHTTP_ROUTE_STREAM = 1,

    /* The handler runs on a thread of its own, so it may block: query a database, read files,
     * compute. At most blocking_threads handlers run at once and blocking_queue are queued; further
     * requests get 503. Several run concurrently, so `arg` is shared between threads; allocator and
     * log callback of the configuration are called from these threads.
     *
     * The handler must have responded when it returns. A response sent as a whole leaves then.
     * uvhttp_response_write blocks until a slow client has read, instead of returning UVHTTP_EFULL.
     * uvhttp_response_send_pulled calls its callback until the body is complete before it returns;
     * that callback must not return UVHTTP_AGAIN. uvhttp_response_pending returns 0.
     *
     * Request and response may be used on this thread only, without the functions for the loop
     * thread. uvhttp_response_defer, uvhttp_response_defer_heavy, uvhttp_response_upgrade,
     * uvhttp_static_handle_request and uvhttp_static_handle_upload fail with UVHTTP_EINVAL; a
     * route with one of the last two as its handler is rejected. Abort callbacks are not called:
     * use uvhttp_response_open. Data it attaches to the request is not visible elsewhere. Not
     * together with UVHTTP_ROUTE_STREAM or an upgrade: UVHTTP_EINVAL. */
    UVHTTP_ROUTE_BLOCKING = 2,

    /* config->overload_guard and blocking_wait_ms never shed its requests; see also
     * uvhttp_server_never_shed. Routes of the handlers of uvhttp/health.h and uvhttp/metrics.h have
     * this flag. */
    UVHTTP_ROUTE_NEVER_SHED = 4
} uvhttp_route_flags_t;

/* A middleware. Unless it returns UVHTTP_DECLINED, the rest of the chain does not run. */
typedef struct uvhttp_middleware {
    uvhttp_handler_cb handler;
    void *arg; /* passed to the handler; must outlive the server */
} uvhttp_middleware_t;

/* A route. Pattern and handler are required; zero fields take their defaults. */
typedef struct uvhttp_route {
    const char *method;  /* "GET", "POST", ...; NULL for any method. Copied. */
    const char *pattern; /* copied. In a group with a prefix "" is the prefix itself. */
    uvhttp_handler_cb handler;
    void *arg;            /* passed to the handler; must outlive the server */
    size_t max_body_size; /* bytes; 0 means the server's max_body_size, see UVHTTP_ROUTE_STREAM */
    /* Timeouts in seconds, at most 86,400; 0 means the server's of the same name
     * (uvhttp/config.h). write_timeout also applies to a stream after an upgrade
     * (uvhttp/stream.h, uvhttp/websocket.h). */
    uint32_t handler_timeout;
    uint32_t body_timeout;
    uint32_t write_timeout;
    /* Status after handler_timeout: 503 (also for 0), or 504 for a handler that waits for
     * another server (RFC 9110 section 15.6.5). */
    unsigned timeout_status;
    unsigned flags; /* of uvhttp_route_flags_t */
    /* The handler runs only for clients that offer an upgrade to this protocol
     * (uvhttp/stream.h); others get 426 (RFC 9110 section 15.5.22). NULL: any request. Copied. */
    const char *upgrade;
    /* Middleware of this route only, in this order, after that of its groups; copied. Set both
     * fields with UVHTTP_MIDDLEWARE. One without the other is rejected, so that no middleware is
     * lost silently. */
    const uvhttp_middleware_t *middleware;
    size_t middleware_count; /* 0 with `middleware` NULL: none */
} uvhttp_route_t;

#ifndef __cplusplus
/* Sets `middleware` and `middleware_count` of a route, in the order of the list (C only):
 *
 *     uvhttp_route_t route = {.method = "GET",
 *                             .pattern = "/staff",
 *                             .handler = staff,
 *                             UVHTTP_MIDDLEWARE({uvhttp_auth_handle_request, auth})};
 */
#define UVHTTP_MIDDLEWARE(...) \
    UVHTTP_ARRAY_MEMBERS(middleware, middleware_count, uvhttp_middleware_t, __VA_ARGS__)
#endif

/* Adds a route; everything except arguments is copied. Errors: see above. */
UVHTTP_EXPORT int uvhttp_router_add(uvhttp_router_t *router, const uvhttp_route_t *route);

/* Adds a route that needs no other members; `method` NULL means any. Errors: see above. */
UVHTTP_EXPORT int uvhttp_router_route(uvhttp_router_t *router, const char *method,
                                      const char *pattern, uvhttp_handler_cb handler, void *arg);

/* Adds a route for any method, without an argument. Errors: see above. */
UVHTTP_EXPORT int uvhttp_router_add_route(uvhttp_router_t *router, const char *pattern,
                                          uvhttp_handler_cb handler);

/* Adds a middleware, which runs in the order added, from the outermost router to the innermost,
 * before the route's own.
 *
 * On the server's router it runs for every valid request, including those that get 404 or 405. On a
 * host's router it runs for every request to that host, after the server's. On a group it runs for
 * requests whose route belongs to the group or a group in it, whether added before or after. A
 * request without a route belongs to no group, except a preflight without a route (OPTIONS with
 * Access-Control-Request-Method): it gets the middleware of the route it asks about.
 * Returns 0, or
 *   UVHTTP_EINVAL   no middleware
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_router_use(uvhttp_router_t *router, uvhttp_handler_cb middleware,
                                    void *arg);

/* The same, and the server owns `arg`, also if this fails: `release(arg)` runs exactly once, at the
 * latest when the server is freed. For middleware of the application; that of the library has
 * functions of its own, such as uvhttp_cors_use.
 * Returns 0, the errors of uvhttp_router_use, or
 *   UVHTTP_EINVAL  no `release`
 *   UVHTTP_ENOMEM  `arg` is NULL, because its creation failed */
UVHTTP_EXPORT int uvhttp_router_use_owned(uvhttp_router_t *router, uvhttp_handler_cb middleware,
                                          void *arg, uvhttp_release_cb release);

/* Creates a group: a router that puts `prefix` before its patterns ("/api/v1", "/users/:id";
 * copied) and has its own middleware. "" creates a group for middleware only. A prefix must not
 * end with '/' nor contain '*'. The group is a view of `router`: their routes form one set and
 * may conflict. `*group` is owned by the server, NULL after an error. Errors: see above. */
UVHTTP_EXPORT int uvhttp_router_group(uvhttp_router_t *router, const char *prefix,
                                      uvhttp_router_t **group);

/* Creates a virtual host: a router for requests whose host is `host` (of the absolute target, else
 * of the Host field; RFC 9110 section 7.2). "*.example.com" matches all subdomains of example.com.
 * An exact name is preferred to a wildcard, and a longer wildcard to a shorter one. Case, port and
 * a trailing dot are ignored. The same host again returns the same router.
 *
 * Requests for other hosts use the server's own routes. A named host does not use those; it has
 * its own 404 and 405. `router` must be the server's, else UVHTTP_EINVAL. `*out` is owned by the
 * server, NULL after an error. Errors: see above. */
UVHTTP_EXPORT int uvhttp_router_host(uvhttp_router_t *router, const char *host,
                                     uvhttp_router_t **out);

/* Handling of a path without a route for the method, when the same path with a trailing slash
 * added or removed has one. */
typedef enum uvhttp_slash {
    UVHTTP_SLASH_STRICT = 0, /* a different path: 404 */
    /* 308 to the path that has a route, as sent, with the query (RFC 9110 section 15.4.9). */
    UVHTTP_SLASH_REDIRECT = 1,
    UVHTTP_SLASH_IGNORE = 2 /* that route serves it */
} uvhttp_slash_t;

/* Sets it for the routes of a router and of its groups or hosts that do not set their own. The
 * default is UVHTTP_SLASH_STRICT. A path that begins with "//" is not redirected, because Location
 * would be parsed as a host.
 * Returns 0, or
 *   UVHTTP_EINVAL   no such value
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   `router` is NULL */
UVHTTP_EXPORT int uvhttp_router_set_slash(uvhttp_router_t *router, uvhttp_slash_t slash);

/* Rewrites the path of requests before they are routed: a path that matches `pattern` is replaced
 * by `to`, a template of kind UVHTTP_TEMPLATE_TARGET (uvhttp/template.h), once.
 *
 *     uvhttp_router_rewrite(router, "/user/:id", "/users/{id}");
 *
 * The query is kept, unless `to` has a '?' or {query} or {target}. If several patterns match, the
 * same one is used as for routes. Rules of a group have its prefix in `pattern`, not in `to`. After
 * it uvhttp_request_target is the target as sent, all other functions use the new path. A request
 * whose new path is invalid gets 400.
 * Returns 0, an error as above (UVHTTP_ECONFLICT: there is a rule for this pattern), or
 *   UVHTTP_ECONFIG  `to` is no valid template, see uvhttp_server_error */
UVHTTP_EXPORT int uvhttp_router_rewrite(uvhttp_router_t *router, const char *pattern,
                                        const char *to);

/* Stores a pointer with a router: of the server, of a host, or a group. NULL: none. */
UVHTTP_EXPORT void uvhttp_router_set_data(uvhttp_router_t *router, void *data);

/* The pointer of the router that the request's route was added to, else of those around it; of the
 * host or server for a request without a route. NULL if none has one, or before routing (an invalid
 * request). */
UVHTTP_EXPORT void *uvhttp_request_router_data(const uvhttp_request_t *request);

/* True once the server listens, or has tried to with a valid configuration: additions return
 * UVHTTP_EFROZEN. False for NULL. On the thread that sets the server up. */
UVHTTP_EXPORT bool uvhttp_router_is_frozen(const uvhttp_router_t *router);

/* A route with its effective settings. */
typedef struct uvhttp_route_info {
    /* as given to uvhttp_router_host, in lower case; NULL for the server's own routes */
    const char *host;
    const char *pattern;                                   /* with the prefixes of its groups */
    const char *method;                                    /* NULL for any */
    size_t max_body_size;                                  /* bytes; 0: the server's */
    uint32_t handler_timeout, body_timeout, write_timeout; /* seconds; 0: the server's */
    unsigned timeout_status;                               /* 503 or 504 */
    unsigned flags;                                        /* of uvhttp_route_flags_t */
    /* NULL: not restricted to an upgrade */
    const char *upgrade;
    /* middleware that runs before its handler; 0 before the server listens */
    size_t middleware_count;
} uvhttp_route_info_t;

/* Receives one route; its strings live as long as the server. A result other than 0 ends the
 * listing. */
typedef int (*uvhttp_route_cb)(const uvhttp_route_info_t *route, void *arg);

/* Calls `each` for every route of `router`, its groups and its hosts, in the order added. Also
 * while the server runs.
 * Returns 0, the last result of `each`, or
 *   UVHTTP_EINVAL  no `each`
 *   UVHTTP_ENOMEM  no router */
UVHTTP_EXPORT int uvhttp_router_each(const uvhttp_router_t *router, uvhttp_route_cb each,
                                     void *arg);

#ifdef __cplusplus
}
#endif

#endif
