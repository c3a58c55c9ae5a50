/* Sends responses without a file: a redirect, an error.
 *
 * Called by static_fetch.c on the loop's thread, once per request. Functions that send return the
 * result of a handler. */
#ifndef UVH_FILES_STATIC_RESPONSE_H
#define UVH_FILES_STATIC_RESPONSE_H

#include <uvhttp/response.h>

#include "files/static_resolve.h"

/* Sends 301 to the path as `redirect` changes it, with the same query; 404 for one that ends with
 * "/." instead of the slash to remove. */
int uvh_static_response_redirect(uvhttp_request_t *request, uvhttp_response_t *response,
                                 enum uvh_static_redirect redirect);

/* The status for an errno (negative), UVHTTP_ENOTREG or UVHTTP_ENOMEM: 403, 404, 500 or 503. */
int uvh_static_response_status(int error);

/* The same, and logs errors of the server, and at level debug why a path is denied. Sends
 * nothing. */
int uvh_static_response_status_of(uvhttp_response_t *response, int error);

#endif
