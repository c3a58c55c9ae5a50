/* For tests of handlers: sends one request to a server and returns its response. The server needs
 * no port, no network and no second thread: the request takes one end of a socket pair
 * (uvhttp_server_adopt), and the call runs the server's loop until the response is complete. So
 * everything happens as with a client: parsing, routing, middleware, jobs, streamed bodies.
 *
 *     uvhttp_test_response_t *response;
 *     int err = uvhttp_test_request(
 *         server, &(uvhttp_test_request_t){.target = "/notes/1"}, &response);
 *     if (err == 0)
 *         printf("%d %s\n", response->status, response->body);
 *     uvhttp_test_response_free(response);
 *
 * Not included by uvhttp.h. */
#ifndef UVHTTP_TEST_H
#define UVHTTP_TEST_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A request; zero fields take their defaults. */
typedef struct uvhttp_test_request_fields {
    const char *method;         /* NULL: GET, or POST with a body */
    const char *target;         /* path and query, encoded; NULL: "/" */
    const char *const *headers; /* "Name: value"; set both with UVHTTP_TEST_HEADERS */
    size_t header_count;
    const void *body; /* sent with Content-Length; NULL: none */
    size_t body_size; /* bytes */
    /* Disconnects after this many bytes of the response's body, for one that does not end, such as
     * an event stream. 0: reads it completely. */
    size_t stop_after;
    /* Time for the complete response in milliseconds; 0: 120,000, UVHTTP_NEVER: no limit. */
    uint32_t timeout_ms;
} uvhttp_test_request_t;

#ifndef __cplusplus
/* Sets `headers` and `header_count` (C only): UVHTTP_TEST_HEADERS("Accept: text/html"). */
#define UVHTTP_TEST_HEADERS(...) \
    UVHTTP_ARRAY_MEMBERS(headers, header_count, const char *, __VA_ARGS__)
#endif

/* A response. Texts are NUL-terminated. */
typedef struct uvhttp_test_response {
    int status;
    const char *head; /* status line and fields, as sent */
    const char *body; /* without chunked coding; may contain NUL */
    size_t body_size; /* bytes */
} uvhttp_test_response_t;

/* Sends a request and runs the server's loop until the response is complete; a handler that does
 * not respond gets handler_timeout. "Host: test" is sent unless there is a Host. The first call
 * starts the server as listening does, so add routes before. On the loop thread, while the loop
 * does not run; other workers do not run.
 * Returns 0 with the response in `*response`, or with `*response` NULL
 *   UVHTTP_EINVAL        no request or response, an invalid method, target or header
 *   UVHTTP_EDISCONNECTED the server has closed the connection before the response was complete
 *   UV_ETIMEDOUT         no complete response within `timeout_ms`; the connection is closed
 *   UVHTTP_ENOMEM        out of memory; also when the server is NULL
 *   others               as uvhttp_server_adopt */
UVHTTP_EXPORT int uvhttp_test_request(uvhttp_server_t *server, const uvhttp_test_request_t *request,
                                      uvhttp_test_response_t **response);

/* The value of the first field of that name (case-insensitive), valid as long as the response;
 * NULL when absent. */
UVHTTP_EXPORT const char *uvhttp_test_response_header(const uvhttp_test_response_t *response,
                                                      const char *name);

/* Frees a response. NULL does nothing. */
UVHTTP_EXPORT void uvhttp_test_response_free(uvhttp_test_response_t *response);

#ifdef __cplusplus
}
#endif

#endif
