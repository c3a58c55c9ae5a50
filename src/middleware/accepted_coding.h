/* Selects the content coding for a request: codec/fields/coding.h over all its Accept-Encoding
 * lines.
 *
 * Called by modules with encoded representations. */
#ifndef UVH_MIDDLEWARE_ACCEPTED_CODING_H
#define UVH_MIDDLEWARE_ACCEPTED_CODING_H

#include <uvhttp/request.h>

#include "codec/fields/coding.h"

/* See uvh_coding_choose. */
enum uvh_coding uvh_accepted_coding(uvhttp_request_t *request, unsigned available,
                                    bool *acceptable);

#endif
