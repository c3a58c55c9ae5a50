/* The router: which handler answers which host, method and path, and which middleware runs before
 * it.
 *
 * Patterns are paths whose segments are literal, ":name" (exactly one segment, not empty) or, as
 * the last one, "*name" or "*" (all the rest, may be empty). Literal goes before ":name", and
 * ":name" before "*name", segment by segment, with a way back when the more specific one leads
 * nowhere. Matching uses the decoded path segments and never the query; an encoded slash is part of
 * its segment.
 * A HEAD request uses the GET route when it has none of its own; OPTIONS is answered with Allow
 * unless a route takes it; a path with other methods only gives 405 with Allow (RFC 9110 section
 * 15.5.6).
 *
 * A router is the server's (uvhttp_server_router), one of a named host (uvhttp_router_host), or a
 * group of either (uvhttp_router_group). All of a server belong to it: nobody frees them.
 *
 * Frozen once the server listens. All functions: before that, on one thread. Errors of the adding
 * functions:
 *   UVHTTP_EROUTE    the pattern does not begin with '/', holds '?', '#' or '%' (paths are matched
 *                    decoded), has more than 16 parameters, names one twice or not at all, or goes
 *                    on after '*'; a prefix or host is malformed
 *   UVHTTP_ECONFLICT method and pattern exist already (parameter names do not tell patterns apart)
 *   UVHTTP_EFROZEN   the server listens already
 *   UVHTTP_EINVAL    no handler, the method is no token, a static handler (uvhttp/static.h) with
 *                    UVHTTP_ROUTE_BLOCKING, middleware without its count or the
 *                    reverse (logged), or another argument that cannot be meant
 *   UVHTTP_ENOMEM    out of memory; also when the router is NULL, so that only the last of several
 *                    calls needs a check
 * The first two are logged with the patterns they are about: host, prefix and all. */
#ifndef UVHTTP_ROUTER_H
#define UVHTTP_ROUTER_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of routes, or a view of one; borrowed from its server. */
typedef struct uvhttp_router uvhttp_router_t;

/* A handler or middleware. 0: taken (answered now, or will be later); UVHTTP_DECLINED: ask the next
 * one; negative: failed (500, or 503 for UVHTTP_ENOMEM, UVHTTP_EFULL and UVHTTP_ESTOPPED, unless
 * answered already; logged with the code's name, UVHTTP_EFULL and UVHTTP_ESTOPPED at level debug,
 * for nothing has gone wrong). `arg` is what was given with it. */
typedef int (*uvhttp_handler_cb)(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

/* What a route may be told, for uvhttp_route_t.flags. */
typedef enum uvhttp_route_flags {
    /* The handler runs when the head has arrived, and takes the body with uvhttp_request_on_body.
     * Of what it may have, max_body_size of the route is the limit; 0 means none. */
    UVHTTP_ROUTE_STREAM = 1,

    /* The handler runs on a thread of its own, so it may block: wait for a database, read files,
     * compute. At most blocking_threads run at once and blocking_queue wait; one more gets 503.
     * What it may do: everything but answer later. It has answered when it returns; what it sends
     * as a whole leaves then; uvhttp_response_write waits until a slow client has made room instead
     * of saying UVHTTP_EFULL, and a body that is pulled (uvhttp_response_send_pulled) is asked for
     * to its end before that returns: it may not say UVHTTP_EFULL either. What still waits for the
     * socket cannot be seen from there: uvhttp_response_pending says 0. It may use request and
     * response on this thread only, and none of what says that it is for the loop's thread:
     * uvhttp_response_defer, uvhttp_response_defer_heavy, uvhttp_response_upgrade,
     * uvhttp_static_handle_request and uvhttp_static_handle_upload fail with UVHTTP_EINVAL (a route
     * with one of the last two as its handler is refused), an abort callback is not called (ask
     * uvhttp_response_open), and what it attaches to the request is seen by nobody else. Several
     * run at the same time, so `arg` is shared between threads; allocator and log callback of the
     * configuration are called from these threads. Not together with UVHTTP_ROUTE_STREAM or an
     * upgrade: UVHTTP_EINVAL. */
    UVHTTP_ROUTE_BLOCKING = 2
} uvhttp_route_flags_t;

/* Something that runs before a handler. Unless it returns UVHTTP_DECLINED, nothing behind it
 * runs. */
typedef struct uvhttp_middleware {
    uvhttp_handler_cb handler;
    void *arg; /* handed to the handler; must outlive the server */
} uvhttp_middleware_t;

/* A route. Pattern and handler are required; what is zero takes its default. */
typedef struct uvhttp_route {
    const char *method;  /* "GET", "POST", ...; NULL for any method. Copied. */
    const char *pattern; /* copied. In a group with a prefix "" is the prefix itself. */
    uvhttp_handler_cb handler;
    void *arg;            /* handed to the handler; must outlive the server */
    size_t max_body_size; /* bytes; 0 means the server's max_body_size, see UVHTTP_ROUTE_STREAM */
    /* Timeouts in seconds, at most 86,400; 0 means the server's of the same name (uvhttp/config.h).
     * That for writing also counts for a stream that the connection becomes (uvhttp/stream.h,
     * uvhttp/websocket.h). */
    uint32_t handler_timeout;
    uint32_t body_timeout;
    uint32_t write_timeout;
    /* what a client gets after handler_timeout: 503, which 0 means too, or 504 for a handler that
     * waits for another server (RFC 9110 section 15.6.5) */
    unsigned timeout_status;
    unsigned flags; /* of uvhttp_route_flags_t */
    /* the handler is asked only by clients that offer to go over to this protocol
     * (uvhttp/stream.h); others get 426 (RFC 9110 section 15.5.22). NULL: any. Copied. */
    const char *upgrade;
    /* Middleware of this route alone, after that of its groups, in this order; copied. Set both by
     * UVHTTP_MIDDLEWARE. One without the other is refused, so that none is left out silently. */
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

/* Adds a route, of which everything but arguments is copied. Errors: see above. */
UVHTTP_EXPORT int uvhttp_router_add(uvhttp_router_t *router, const uvhttp_route_t *route);

/* Any method, no argument. */
UVHTTP_EXPORT int uvhttp_router_add_route(uvhttp_router_t *router, const char *pattern,
                                          uvhttp_handler_cb handler);

/* Adds a middleware. To the server's router: for every request that was understood, those without a
 * route too (they would get 404 or 405). To that of a host: for every request for it, after the
 * server's. To a group: for the requests whose route belongs to it or to a group in it, whether
 * that was added before or after; a request without route belongs to no group, but for a preflight
 * (OPTIONS with Access-Control-Request-Method) that no route takes: it gets the middleware of the
 * request it asks about, that of its route included. From the outermost to the innermost, each in
 * the order of adding, then the route's own.
 * Errors: UVHTTP_EINVAL (no middleware), UVHTTP_EFROZEN, UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_router_use(uvhttp_router_t *router, uvhttp_handler_cb middleware,
                                    void *arg);

/* A group: a router whose patterns are put behind `prefix` ("/api/v1", "/users/:id"; copied), with
 * middleware of its own; "" is a group for the sake of middleware only. A prefix does not end with
 * '/', so that patterns go on with it, and holds no '*'. The group is a view of `router`: routes of
 * both are matched as one set, and may conflict. `*group` is borrowed, NULL after an error.
 * Errors: as above. */
UVHTTP_EXPORT int uvhttp_router_group(uvhttp_router_t *router, const char *prefix,
                                      uvhttp_router_t **group);

/* A virtual server: a router for the requests whose host (of the absolute target, else of the Host
 * field; RFC 9110 section 7.2) is `host`: "example.com" that one, "*.example.com" everything below
 * it. A host that is named goes before a pattern, and a longer pattern before a shorter one. Case,
 * the port and a dot at the end do not matter. Requests for no named host go to the server's own
 * routes; a host with a name does not see those, and answers 404 and 405 by its own. The same host
 * again gives the same router. `router` is the server's (else UVHTTP_EINVAL); `*out` is borrowed,
 * NULL after an error.
 * Errors: as above. */
UVHTTP_EXPORT int uvhttp_router_host(uvhttp_router_t *router, const char *host,
                                     uvhttp_router_t **out);

/* What happens to a path that has no route for the method while the same path with a slash more, or
 * less, at its end has one. */
typedef enum uvhttp_slash {
    UVHTTP_SLASH_STRICT = 0, /* it is another path: 404 */
    UVHTTP_SLASH_REDIRECT =
        /* 308 to the path that has a route, as it was sent, with the query (RFC 9110 section
         * 15.4.9) */
    1,
    UVHTTP_SLASH_IGNORE = 2 /* that route serves it */
} uvhttp_slash_t;

/* Sets it for the routes of a router and of its groups, or hosts, that set none of their own. The
 * default is UVHTTP_SLASH_STRICT. A path that begins with "//" is not redirected: its beginning
 * would be read as a host. Errors: UVHTTP_EINVAL, UVHTTP_EFROZEN, UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_router_set_slash(uvhttp_router_t *router, uvhttp_slash_t slash);

/* A route as it is in force. */
typedef struct uvhttp_route_info {
    /* as given to uvhttp_router_host, in small letters; NULL for the server's own routes */
    const char *host;
    const char *pattern;                                   /* with the prefixes of its groups */
    const char *method;                                    /* NULL for any */
    size_t max_body_size;                                  /* bytes; 0: the server's */
    uint32_t handler_timeout, body_timeout, write_timeout; /* seconds; 0: the server's */
    unsigned timeout_status;                               /* 503 or 504 */
    unsigned flags;                                        /* of uvhttp_route_flags_t */
    /* NULL: it has nothing to do with upgrades */
    const char *upgrade;
    /* that run before its handler; counted when the server listens, 0 before */
    size_t middleware_count;
} uvhttp_route_info_t;

/* Gets one route; its strings live as long as the server. Anything but 0 ends the listing. */
typedef int (*uvhttp_route_cb)(const uvhttp_route_info_t *route, void *arg);

/* Calls `each` for every route that was added to `router`, its groups and its hosts, in the order
 * of adding. What `each` returned last; 0 when there is none. Also while the server runs. Errors:
 * UVHTTP_EINVAL without `each`, UVHTTP_ENOMEM without router. */
UVHTTP_EXPORT int uvhttp_router_each(const uvhttp_router_t *router, uvhttp_route_cb each,
                                     void *arg);

#ifdef __cplusplus
}
#endif

#endif
