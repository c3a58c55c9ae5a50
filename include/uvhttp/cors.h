/* CORS: a middleware that tells browsers which other origins may access this server (Fetch
 * standard, https://fetch.spec.whatwg.org/#http-cors-protocol).
 *
 *     uvhttp_cors_t *cors;
 *     uvhttp_cors_options_t options = {.origins = "https://app.example.com"};
 *     int err = uvhttp_cors_new(&cors, &options, NULL);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_cors_handle_request, cors);
 *
 * It responds to preflights, also for paths without an OPTIONS handler, and adds its fields to
 * every other response, including errors and files. Add it to the server or to a host, so that 404
 * and 405 have the fields too, or to groups and routes. Add it before authentication, because
 * browsers send no credentials with a preflight.
 *
 * The first CORS middleware responds to a preflight; for other responses the one nearest to the
 * handler decides. CORS does not stop requests and does not protect data from clients other than
 * browsers: it only hides the response from pages of other origins. */
#ifndef UVHTTP_CORS_H
#define UVHTTP_CORS_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A CORS policy. */
typedef struct uvhttp_cors uvhttp_cors_t;

/* Returns true if pages of this origin ("https://app.example.com:8443", or "null") may access
 * the server. Loop thread. */
typedef bool (*uvhttp_cors_origin_cb)(uvhttp_request_t *request, const char *origin, void *arg);

/* Lists are copied; elements are separated by spaces or commas. */
typedef struct uvhttp_cors_options {
    /* Allowed origins: "https://example.com", "http://localhost:3000" (scheme, host in lower
     * case, port unless default, no trailing slash; a host "*.example.com" matches all
     * subdomains). "null": pages without an origin (sandboxed frames, which anyone can create,
     * and files). "*": any origin, as the only element and without credentials. NULL: only those
     * that `allow` accepts. */
    const char *origins;
    uvhttp_cors_origin_cb allow; /* called for origins not in the list; NULL: rejected */
    void *allow_arg;             /* passed to it; must outlive the server */
    bool credentials;            /* allow cookies, passwords and client certificates */
    /* allowed request methods; NULL: "GET, HEAD, POST, PUT, PATCH, DELETE"; "*": any */
    const char *methods;
    /* additional request fields allowed; NULL: none; "*": any */
    const char *headers;
    /* Additional response fields that pages may read; NULL: none; "*": all, without credentials. */
    const char *exposed;
    /* Seconds for which a browser may cache a preflight response, up to 86,400; 0: not sent
     * (browsers use 5 seconds). */
    size_t max_age;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive it. */
} uvhttp_cors_options_t;

/* Creates a policy. Any thread.
 * Returns 0, or with `*cors` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_EINVAL   no options
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_cors_new(uvhttp_cors_t **cors, const uvhttp_cors_options_t *options,
                                  uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_cors_free(void *cors);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_cors_new or uvhttp_router_use. */
UVHTTP_EXPORT int uvhttp_cors_use(uvhttp_router_t *router, const uvhttp_cors_options_t *options);

/* The middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware); `cors` is
 * the uvhttp_cors_t. A preflight gets 204, or 403 if its origin is rejected. Other requests
 * pass, whatever their origin. An Access-Control-Allow-Origin set by the handler is kept. Vary
 * names the fields the response depends on. */
UVHTTP_EXPORT int uvhttp_cors_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                             void *cors);

#ifdef __cplusplus
}
#endif

#endif
