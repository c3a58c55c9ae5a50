/* Request ids: a middleware that gives each request a name, so that what several programs have
 * written about it can be found again.
 *
 *     uvhttp_request_ids_t *ids;
 *     int err = uvhttp_request_ids_new(&ids, NULL, NULL, 0);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_request_ids_handle_request, ids);
 *
 * The id goes out with every answer to that request, errors and files included, handlers read it
 * with uvhttp_request_id, and the access log has it as {request_id}. It is made of 128 bits, 32
 * small hexadecimal digits, unlike any other of this process and of others. It is no secret: who
 * has seen one can work out others. */
#ifndef UVHTTP_REQUEST_ID_H
#define UVHTTP_REQUEST_ID_H

#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where ids come from and go, ready for use. */
typedef struct uvhttp_request_ids uvhttp_request_ids_t;

/* How requests get their ids; zeros are the defaults. */
typedef struct uvhttp_request_ids_config {
    /* the field's name, in requests and answers; NULL: "X-Request-Id". Copied. */
    const char *header;
    /* Takes the id that a request brings, when a proxy in front of this server sets it, and
     * everybody has to come through that proxy. Not taken is one with other characters than
     * letters, digits and "-._~:/+=@", and one that is longer than max_length. */
    bool trusted;
    size_t max_length;                   /* bytes of an id that is taken, 1 to 256; 0: 128 */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive it. */
} uvhttp_request_ids_config_t;

/* `config` NULL: the defaults. 0, or with `*ids` NULL: UVHTTP_ECONFIG, with a NUL-terminated
 * message of at most `size` bytes that names field and value (`message` may be NULL),
 * UVHTTP_ENOMEM, or libuv's code when the system has no random numbers. Any thread. */
UVHTTP_EXPORT int uvhttp_request_ids_new(uvhttp_request_ids_t **ids,
                                         const uvhttp_request_ids_config_t *config, char *message,
                                         size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_request_ids_free(uvhttp_request_ids_t *ids);

/* A middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware): `ids` is the
 * uvhttp_request_ids_t. A request that has an id keeps it. Put it before others, so that what they
 * refuse has an id as well. */
UVHTTP_EXPORT int uvhttp_request_ids_handle_request(uvhttp_request_t *request,
                                                    uvhttp_response_t *response, void *ids);

/* The id of a request, NUL-terminated, as long as the request lives; NULL when no such middleware
 * has seen it. Loop thread. */
UVHTTP_EXPORT const char *uvhttp_request_id(const uvhttp_request_t *request);

#ifdef __cplusplus
}
#endif

#endif
