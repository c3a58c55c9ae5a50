/* How what is no file is answered: a redirect, an error.
 *
 * Called by static_fetch.c on the loop's thread, once for each request. Results are those of a
 * handler. */
#ifndef UVH_FILES_STATIC_RESPONSE_H
#define UVH_FILES_STATIC_RESPONSE_H

#include <uvhttp/response.h>

#include "files/static_resolve.h"

/* Writes a path for a Location field: what may not stand there is encoded, at most three bytes
 * for one, without NUL. Of a `decoded` one '%' and '?' are encoded, too. The end of what was
 * written. */
char *uvh_static_answer_write_location(char *out, uvhttp_slice_t text, bool decoded);

/* 301 to the path as `redirect` changes it, with the same query; 404 for one that ends with "/."
 * instead of the slash that is to go. */
int uvh_static_answer_redirect(uvhttp_request_t *request, uvhttp_response_t *response,
                               enum uvh_static_redirect redirect);

/* The status for an errno (negative), UVHTTP_ENOTREG or UVHTTP_ENOMEM: 403, 404, 500 or 503. */
int uvh_static_answer_status(int error);

/* 403, 404, 500 or 503 for an errno (negative), UVHTTP_ENOTREG or UVHTTP_ENOMEM; what the server is
 * to blame for is logged. Nothing is sent. */
int uvh_static_answer_status_of(uvhttp_response_t *response, int error);

#endif
