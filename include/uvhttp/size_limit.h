/* Size limits for a part of a server: maximal body sizes of requests and responses, below the
 * limits of server and routes.
 *
 *     uvhttp_size_limit_t *limit;
 *     uvhttp_error_t error;
 *     uvhttp_size_limit_options_t options = {.max_request_body = 4096};
 *     int err = uvhttp_size_limit_new(&limit, &options, &error);
 *     if (err == 0) err = uvhttp_router_use(group, uvhttp_size_limit_handle_request, limit);
 *
 * A request with a larger Content-Length gets 413 before its body is read. A chunked request, or
 * one to a route with UVHTTP_ROUTE_STREAM, gets 413 when it exceeds the limit. A larger response
 * is logged and becomes a 500; if it has begun without a length, its connection is closed. For
 * limits that depend on the request, use uvhttp_request_limit_body and
 * uvhttp_response_limit_body in your own middleware. uvhttp_config_t limits the request head. */
#ifndef UVHTTP_SIZE_LIMIT_H
#define UVHTTP_SIZE_LIMIT_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Constant limits; from uvhttp_size_limit_new. */
typedef struct uvhttp_size_limit uvhttp_size_limit_t;

/* Options of uvhttp_size_limit_new. */
typedef struct uvhttp_size_limit_options {
    size_t max_request_body;             /* bytes; 0: no limit here */
    size_t max_response_body;            /* bytes; 0: no limit here */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the limit. */
} uvhttp_size_limit_options_t;

/* Creates limits. Any thread.
 * Returns 0 with the limit in `*limit`, or with `*limit` NULL
 *   UVHTTP_ECONFIG  both are 0; see `error`
 *   UVHTTP_EINVAL   no options
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_size_limit_new(uvhttp_size_limit_t **limit,
                                        const uvhttp_size_limit_options_t *options,
                                        uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_size_limit_free(void *limit);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_size_limit_new or uvhttp_router_use. */
UVHTTP_EXPORT int uvhttp_size_limit_use(uvhttp_router_t *router,
                                        const uvhttp_size_limit_options_t *options);

/* The middleware: passes every request with these limits. `limit` is the uvhttp_size_limit_t;
 * any number of servers, groups and routes may share it. Of several limits the lowest applies. */
UVHTTP_EXPORT int uvhttp_size_limit_handle_request(uvhttp_request_t *request,
                                                   uvhttp_response_t *response, void *limit);

#ifdef __cplusplus
}
#endif

#endif
