/* Security headers: a middleware that tells browsers to be careful with what this server sends.
 *
 *     uvhttp_security_headers_t *careful;
 *     int err = uvhttp_security_headers_new(&careful, NULL, NULL, 0);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_security_headers_handle_request,
 *     careful);
 *
 * The fields go out with every answer to a request it has seen, errors and files included. One that
 * a handler has set goes out as the handler has set it. The defaults suit a site of its own:
 * everything comes from it, no other site may show it in a frame. */
#ifndef UVHTTP_SECURITY_HEADERS_H
#define UVHTTP_SECURITY_HEADERS_H

#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fields, ready for use. */
typedef struct uvhttp_security_headers uvhttp_security_headers_t;

/* Values of the fields. NULL: the default that stands beside it; "": not sent. Copied. */
typedef struct uvhttp_security_headers_config {
    /* "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; object-src
     * 'none'" (CSP level 3). Scripts and styles within a page are not run with it. */
    const char *content_security_policy;
    const char *content_type_options; /* "nosniff" (Fetch, "X-Content-Type-Options") */
    /* "SAMEORIGIN" (RFC 7034): for browsers without frame-ancestors */
    const char *frame_options;
    const char *referrer_policy;    /* "strict-origin-when-cross-origin" */
    const char *permissions_policy; /* "camera=(), geolocation=(), microphone=()" */
    /* "same-origin" (HTML, "cross-origin opener policies") */
    const char *cross_origin_opener_policy;
    const char *cross_origin_resource_policy; /* "same-origin" (Fetch); for what others may embed:
                                                 "cross-origin" */
    const char *cross_origin_embedder_policy; /* not sent (HTML); "require-corp" */
    /* "max-age=31536000" (RFC 6797). Sent only when the client came by https: the connection has
     * TLS, or a trusted proxy (uvhttp_server_trust_proxies) or `https` says so: over plain HTTP it
     * means nothing (section 7.2). */
    const char *strict_transport_security;
    /* clients get here by https alone: a proxy in front of this server speaks TLS with them */
    bool https;
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive it. */
} uvhttp_security_headers_config_t;

/* `config` NULL: the defaults. 0, or with `*headers` NULL: UVHTTP_ECONFIG, with a NUL-terminated
 * message of at most `size` bytes that names field and value (`message` may be NULL),
 * UVHTTP_ENOMEM. Any thread. */
UVHTTP_EXPORT int uvhttp_security_headers_new(uvhttp_security_headers_t **headers,
                                              const uvhttp_security_headers_config_t *config,
                                              char *message, size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_security_headers_free(uvhttp_security_headers_t *headers);

/* A middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware): `headers` is the
 * uvhttp_security_headers_t. Of several, the one nearest to the handler decides about a field. */
UVHTTP_EXPORT int uvhttp_security_headers_handle_request(uvhttp_request_t *request,
                                                         uvhttp_response_t *response,
                                                         void *headers);

#ifdef __cplusplus
}
#endif

#endif
