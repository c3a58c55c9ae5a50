/* Security headers: a middleware that adds security-related fields for browsers.
 *
 *     uvhttp_security_headers_t *headers;
 *     int err = uvhttp_security_headers_new(&headers, NULL, NULL);
 *     if (err == 0)
 *         err = uvhttp_server_use(server, uvhttp_security_headers_handle_request, headers);
 *
 * The fields are added to every response to a request that passed it, including errors and
 * files. A field set by a handler is kept. The defaults suit a self-contained site: all content
 * comes from its own origin, and no other site may frame it. */
#ifndef UVHTTP_SECURITY_HEADERS_H
#define UVHTTP_SECURITY_HEADERS_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of fields. */
typedef struct uvhttp_security_headers uvhttp_security_headers_t;

/* Values of the fields. NULL: the default given here; "": not sent. Copied. */
typedef struct uvhttp_security_headers_options {
    /* "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self';
     * object-src 'none'" (CSP level 3). Inline scripts and styles do not run with it. */
    const char *content_security_policy;
    const char *content_type_options; /* "nosniff" (Fetch, "X-Content-Type-Options") */
    /* "SAMEORIGIN" (RFC 7034): for browsers without frame-ancestors */
    const char *frame_options;
    const char *referrer_policy;    /* "strict-origin-when-cross-origin" */
    const char *permissions_policy; /* "camera=(), geolocation=(), microphone=()" */
    /* "same-origin" (HTML, "cross-origin opener policies") */
    const char *cross_origin_opener_policy;
    /* "same-origin" (Fetch); "cross-origin" for content that others may embed. */
    const char *cross_origin_resource_policy;
    /* not sent by default (HTML); for example "require-corp" */
    const char *cross_origin_embedder_policy;
    /* "max-age=31536000" (RFC 6797). Sent only over HTTPS: the connection has TLS, or a trusted
     * proxy (uvhttp_server_trust_proxies) or `https` indicates it. Over plain HTTP it has no
     * meaning (section 7.2). */
    const char *strict_transport_security;
    /* All clients use HTTPS: a proxy terminates TLS. */
    bool https;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive it. */
} uvhttp_security_headers_options_t;

/* Creates a set of fields. `options` NULL: the defaults. Any thread.
 * Returns 0, or with `*headers` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_security_headers_new(uvhttp_security_headers_t **headers,
                                              const uvhttp_security_headers_options_t *options,
                                              uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_security_headers_free(void *headers);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_security_headers_new or uvhttp_router_use.
 */
UVHTTP_EXPORT int uvhttp_security_headers_use(uvhttp_router_t *router,
                                              const uvhttp_security_headers_options_t *options);

/* The middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware); `headers` is
 * the uvhttp_security_headers_t. Of several, the one nearest to the handler sets a field. */
UVHTTP_EXPORT int uvhttp_security_headers_handle_request(uvhttp_request_t *request,
                                                         uvhttp_response_t *response,
                                                         void *headers);

#ifdef __cplusplus
}
#endif

#endif
