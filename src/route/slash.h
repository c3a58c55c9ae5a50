/* Redirects to a path with a trailing slash added or removed. */
#ifndef UVH_ROUTE_SLASH_H
#define UVH_ROUTE_SLASH_H

#include <uvhttp/response.h>

#include "http/request.h"

/* Sends a 308 (RFC 9110 section 15.4.9), or returns UVHTTP_DECLINED when the path as sent has no
 * other form that is safe to redirect to. Errors: UVHTTP_ENOMEM. */
int uvh_slash_redirect(uvhttp_request_t *request, uvhttp_response_t *response);

#endif
