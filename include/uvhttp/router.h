/* The router: which handler answers which method and path.
 *
 * Patterns are paths whose segments are literal, ":name" (exactly one segment, not empty) or, as the last one, "*name" or "*"
 * (all the rest, may be empty). Literal goes before ":name", and ":name" before "*name", segment by segment, with a way
 * back when the more specific one leads nowhere. Matching uses the decoded path segments and never the query.
 * A HEAD request uses the GET route when it has none of its own; OPTIONS is answered with Allow unless a route
 * takes it; a path with other methods only gives 405 with Allow (RFC 9110 section 15.5.6).
 *
 * Frozen once the server listens. All functions: before that, on one thread. Errors of the adding functions:
 *   UVHTTP_EROUTE    the pattern does not begin with '/', holds '?', '#' or '%' (paths are matched decoded), has more than
 *                    16 parameters, names one twice or not at all, or goes on after '*'
 *   UVHTTP_ECONFLICT method and pattern exist already (parameter names do not tell patterns apart)
 *   UVHTTP_EFROZEN   the server listens already
 *   UVHTTP_EINVAL    no handler, or the method is no token
 *   UVHTTP_ENOMEM    out of memory
 * The first two are logged with the patterns they are about. */
#ifndef UVHTTP_ROUTER_H
#define UVHTTP_ROUTER_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct uvhttp_router uvhttp_router_t;

/* A handler or middleware. 0: taken (answered now, or will be later); UVHTTP_DECLINED: ask the next one; negative: failed (500,
 * or 503 for UVHTTP_ENOMEM, unless answered already; logged with the code's name). `arg` is what was given with it. */
typedef int (*uvhttp_handler_cb)(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

/* What a route may be told, for uvhttp_route_t.flags. */
typedef enum uvhttp_route_flags {
    /* The handler runs when the head has arrived, and takes the body with uvhttp_request_on_body. Of what it may have, max_body_size of
     * the route is the limit; 0 means none. */
    UVHTTP_ROUTE_STREAM = 1
} uvhttp_route_flags_t;

typedef struct uvhttp_route {
    const char *method;  /* "GET", "POST", ...; NULL for any method. Copied. */
    const char *pattern; /* copied */
    uvhttp_handler_cb handler;
    void *arg;            /* handed to the handler; must outlive the server */
    size_t max_body_size; /* bytes; 0 means the server's max_body_size, see UVHTTP_ROUTE_STREAM */
    unsigned flags;       /* of uvhttp_route_flags_t */
} uvhttp_route_t;

UVHTTP_EXPORT int uvhttp_router_add(uvhttp_router_t *router, const uvhttp_route_t *route);

/* Any method, no argument. */
UVHTTP_EXPORT int uvhttp_router_add_route(uvhttp_router_t *router, const char *pattern,
                                          uvhttp_handler_cb handler);

#ifdef __cplusplus
}
#endif

#endif
