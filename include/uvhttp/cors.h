/* CORS: a middleware that tells browsers which other sites' pages may use this server, by the CORS
 * protocol of the Fetch standard (https://fetch.spec.whatwg.org/#http-cors-protocol).
 *
 *     uvhttp_cors_t *cors;
 *     int err = uvhttp_cors_new(&cors, &(uvhttp_cors_config_t){.origins =
 *     "https://app.example.com"});
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_cors_handle_request, cors);
 *
 * It answers preflights, for paths without a handler for OPTIONS too, and puts its fields on every
 * other answer, errors and files included. Add it to the server or to a host, so that 404 and 405
 * have the fields as well, or to groups and routes; before what asks for credentials, since
 * browsers send none with a preflight. A preflight is answered by the first one it meets; of an
 * answer, the one nearest to the handler decides who may see it. It protects nobody's data from
 * programs that are no browsers, and does not stop a request: a page of another site just does not
 * see the answer. */
#ifndef UVHTTP_CORS_H
#define UVHTTP_CORS_H

#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A policy, ready for use. */
typedef struct uvhttp_cors uvhttp_cors_t;

/* May pages of this origin ("https://app.example.com:8443", or "null") use the server? Loop
 * thread. */
typedef bool (*uvhttp_cors_origin_cb)(uvhttp_request_t *request, const char *origin, void *arg);

/* Lists are copied; their elements are separated by spaces or commas. */
typedef struct uvhttp_cors_config {
    /* Whose pages: "https://example.com", "http://localhost:3000" (scheme, host in small letters,
     * port unless it is the usual one, no slash at the end; a host that begins with "*." is every
     * host below that one); "null" pages without an origin (sandboxed frames, which anybody can
     * make, and files); "*" everybody, as the only one and without credentials. NULL: nobody but
     * those `allow` lets in. */
    const char *origins;
    uvhttp_cors_origin_cb allow; /* asked about origins that are not in the list; NULL: refused */
    void *allow_arg;             /* handed to it; must outlive the server */
    bool credentials;            /* with cookies, passwords and client certificates */
    /* of requests; NULL: "GET, HEAD, POST, PUT, PATCH, DELETE"; "*": any */
    const char *methods;
    /* fields that requests may have besides the usual; NULL: none; "*": any */
    const char *headers;
    const char *
        /* fields of answers that pages may read besides the usual; NULL: none; "*": all, without
         * credentials */
        exposed;
    size_t
        /* seconds for which a browser may keep the answer to a preflight, up to 86,400; 0: not said
         * (5 seconds) */
        max_age;
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive it. */
} uvhttp_cors_config_t;

/* 0, or with `*cors` NULL: UVHTTP_ECONFIG, with a NUL-terminated message of at most `size` bytes
 * that names field and value (`message` may be NULL), UVHTTP_EINVAL (no config), UVHTTP_ENOMEM. Any
 * thread. */
UVHTTP_EXPORT int uvhttp_cors_new(uvhttp_cors_t **cors, const uvhttp_cors_config_t *config,
                                  char *message, size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_cors_free(uvhttp_cors_t *cors);

/* A middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware): `cors` is the
 * uvhttp_cors_t. A preflight gets 204, or 403 when its origin is refused. Other requests pass,
 * whatever their origin. Access-Control-Allow-Origin stays as it is when the handler has set it.
 * Vary names what the answer depends on. */
UVHTTP_EXPORT int uvhttp_cors_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                             void *cors);

#ifdef __cplusplus
}
#endif

#endif
