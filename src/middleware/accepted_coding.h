/* Selects the content coding for a request: codec/fields/coding.h over all its Accept-Encoding
 * lines. And notes in Vary (RFC 9110 section 12.5.5) what the response depends on.
 *
 * Called by modules with several representations. */
#ifndef UVH_MIDDLEWARE_ACCEPTED_CODING_H
#define UVH_MIDDLEWARE_ACCEPTED_CODING_H

#include <uvhttp/request.h>
#include <uvhttp/response.h>

#include "codec/fields/coding.h"

/* See uvh_coding_choose. */
enum uvh_coding uvh_accepted_coding(uvhttp_request_t *request, unsigned available,
                                    bool *acceptable);

/* Adds a field name to Vary, unless Vary contains it or "*"; `lower` is the name in lower case.
 * Returns 0, or an error of uvhttp_response_add_header. */
int uvh_vary_add(uvhttp_response_t *response, const char *name, const char *lower);

#endif
