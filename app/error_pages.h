/* Error pages of a directory for what is decided before its files are looked up: a missing password
 * (401), a refused address or user (403) and too many requests (429). The library sends the others.
 *
 * The pages are read at the start, and sent in response to GET and HEAD. */
#ifndef UVH_APP_ERROR_PAGES_H
#define UVH_APP_ERROR_PAGES_H

#include "setup.h"

/* Reads the pages of a route. `*pages` receives the argument of the middleware, owned by the
 * server; NULL if there are none. False with a problem noted, which names no position but that of
 * the root. */
bool uvh_error_pages_open(uvhttp_server_t *server, const struct uvh_setup_route *route,
                          void **pages, struct uvh_problems *problems);

/* A middleware before those that refuse requests; and the uvhttp_error_cb of the server. */
int uvh_error_pages_use(uvhttp_request_t *request, uvhttp_response_t *response, void *pages);
int uvh_error_pages_apply(uvhttp_request_t *request, uvhttp_response_t *response,
                          const char *reason, void *arg);

#endif
