/* Vary (RFC 9110 section 12.5.5): what an answer depends on, said once.
 *
 * Called by middleware, for an answer that is about to leave. */
#ifndef UVH_MIDDLEWARE_VARY_H
#define UVH_MIDDLEWARE_VARY_H

#include <uvhttp/response.h>

/* Adds a field's name to Vary, unless it stands there or everything does; `lower` is the same in
 * lower case. Errors of uvhttp_response_add_header. */
int uvh_vary_add(uvhttp_response_t *response, const char *name, const char *lower);

#endif
