/* A live status page for browsers: requests, latency, connections, workers, routes.
 *
 *     uvhttp_server_route_status(server, "/status");
 *
 * The page is one HTML document with its style and script. It shows the values of the last seconds
 * and since the start, and updates itself every second by an event stream; without JavaScript it
 * reloads itself. "/status?format=json" has the values as JSON, whose names docs/watching.md lists.
 *
 * It is for operators: put a middleware before the route, or serve it on another port. The server
 * takes a sample of its counters once a second, and requests cost nothing more. */
#ifndef UVHTTP_STATUS_PAGE_H
#define UVHTTP_STATUS_PAGE_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The samples of a server, and the open pages. */
typedef struct uvhttp_status_page uvhttp_status_page_t;

/* Begins to take samples of `server`, which need not be the server that has the route. On the
 * thread that sets up the server, or on its first worker's thread.
 * Returns 0, or with `*status` NULL
 *   UVHTTP_EINVAL    no `status`
 *   UVHTTP_ENOMEM    out of memory, or `server` is NULL
 *   UVHTTP_ESTOPPED  the server has stopped
 *   libuv            without random numbers */
UVHTTP_EXPORT int uvhttp_status_page_new(uvhttp_status_page_t **status, uvhttp_server_t *server);

/* Ends all open pages, and frees the object when the last one has ended. On the first worker's
 * thread, before the server is freed. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_status_page_free(void *status);

/* A handler: responds with the page, with JSON for the query "format=json", and with the events of
 * the page for "format=events". `status` is the uvhttp_status_page_t. Not for blocking routes. */
UVHTTP_EXPORT int uvhttp_status_page_handle_request(uvhttp_request_t *request,
                                                    uvhttp_response_t *response, void *status);

/* Adds a route with the status page of `server`, which owns it. Before the server listens, or in a
 * reload. Errors as for uvhttp_status_page_new and uvhttp_server_route. */
UVHTTP_EXPORT int uvhttp_server_route_status(uvhttp_server_t *server, const char *pattern);

#ifdef __cplusplus
}
#endif

#endif
