/* How what is no file is answered: the redirect to the slash, an error.
 *
 * Called by static_fetch.c on the loop's thread, once for each request. Results are those of a handler. */
#ifndef UVH_MODULES_STATIC_ANSWER_H
#define UVH_MODULES_STATIC_ANSWER_H

#include <uvhttp/response.h>

/* 301 to the same path with a slash behind it, and the same query. */
int uvh_static_answer_redirect(uvhttp_request_t *request, uvhttp_response_t *response);

/* 403, 404, 500 or 503 for an errno (negative), UVHTTP_ENOTREG or UVHTTP_ENOMEM; what the server is to blame for is logged. */
int uvh_static_answer_error(uvhttp_request_t *request, uvhttp_response_t *response, int error);

#endif
