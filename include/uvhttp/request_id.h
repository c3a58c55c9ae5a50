/* Request IDs: a middleware that assigns an ID to each request, to correlate the logs of several
 * programs.
 *
 *     uvhttp_request_ids_t *ids;
 *     int err = uvhttp_request_ids_new(&ids, NULL, NULL);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_request_ids_handle_request, ids);
 *
 * The ID is sent with every response to that request, including errors and files. Handlers read
 * it with uvhttp_request_id; the access log writes it as {request_id}. It is a unique number of
 * 128 bits, as 32 lower-case hexadecimal digits. It is not secret: other IDs can be predicted
 * from it. */
#ifndef UVHTTP_REQUEST_ID_H
#define UVHTTP_REQUEST_ID_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A generator of request IDs. */
typedef struct uvhttp_request_ids uvhttp_request_ids_t;

/* Options of request IDs; zeros are the defaults. */
typedef struct uvhttp_request_ids_options {
    /* field name in requests and responses; NULL: "X-Request-Id". Copied. */
    const char *header;
    /* Accepts the ID of the request, if a proxy sets it and all clients must use that proxy. Not
     * accepted are IDs longer than max_length or with characters other than letters, digits and
     * "-._~:/+=@". */
    bool trusted;
    size_t max_length;                   /* bytes of an accepted ID, 1 to 256; 0: 128 */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive it. */
} uvhttp_request_ids_options_t;

/* Creates a generator. `options` NULL: the defaults. Any thread.
 * Returns 0, or with `*ids` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_ENOMEM   out of memory
 *   libuv           the system has no random numbers */
UVHTTP_EXPORT int uvhttp_request_ids_new(uvhttp_request_ids_t **ids,
                                         const uvhttp_request_ids_options_t *options,
                                         uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_request_ids_free(void *ids);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_request_ids_new or uvhttp_router_use. */
UVHTTP_EXPORT int uvhttp_request_ids_use(uvhttp_router_t *router,
                                         const uvhttp_request_ids_options_t *options);

/* The middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware); `ids` is the
 * uvhttp_request_ids_t. A request that has an ID keeps it. Add it before other middleware, so
 * that rejected requests have an ID too. */
UVHTTP_EXPORT int uvhttp_request_ids_handle_request(uvhttp_request_t *request,
                                                    uvhttp_response_t *response, void *ids);

/* The ID of a request, NUL-terminated, valid as long as the request; NULL if it did not pass
 * this middleware. Loop thread. */
UVHTTP_EXPORT const char *uvhttp_request_id(const uvhttp_request_t *request);

#ifdef __cplusplus
}
#endif

#endif
