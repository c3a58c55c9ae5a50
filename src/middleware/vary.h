/* Vary (RFC 9110 section 12.5.5): adds each field the response depends on once.
 *
 * Called by middleware, for a response that is about to be sent. */
#ifndef UVH_MIDDLEWARE_VARY_H
#define UVH_MIDDLEWARE_VARY_H

#include <uvhttp/response.h>

/* Adds a field name to Vary, unless Vary contains it or "*"; `lower` is the name in lower case.
 * Returns 0, or an error of uvhttp_response_add_header. */
int uvh_vary_add(uvhttp_response_t *response, const char *name, const char *lower);

#endif
