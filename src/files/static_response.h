/* Redirects, and the statuses of errors. Called on the loop's thread. */
#ifndef UVH_FILES_STATIC_RESPONSE_H
#define UVH_FILES_STATIC_RESPONSE_H

#include <uvhttp/response.h>

#include "files/static_resolve.h"

/* Sends 301 to the path as `redirect` changes it, with the same query; 404 if a slash must be
 * removed and the path does not end with it ("/about/."). Returns the result of a handler. */
int uvh_static_response_redirect(uvhttp_request_t *request, uvhttp_response_t *response,
                                 enum uvh_static_redirect redirect);

/* The status for an errno (negative), UVHTTP_ENOTREG or UVHTTP_ENOMEM: 403, 404, 500 or 503. */
int uvh_static_response_status(int error);

/* The same, and logs errors of the server, and at level debug why a path is denied. Sends
 * nothing. */
int uvh_static_response_logged_status(uvhttp_response_t *response, int error);

#endif
