/* The content coding for a request: codec/fields/coding.h for however many lines of Accept-Encoding
 * it has.
 *
 * Called by whoever has coded representations. */
#ifndef UVH_MIDDLEWARE_ACCEPTED_CODING_H
#define UVH_MIDDLEWARE_ACCEPTED_CODING_H

#include <uvhttp/request.h>

#include "codec/fields/coding.h"

/* See uvh_coding_choose. */
enum uvh_coding uvh_accepted_coding(uvhttp_request_t *request, unsigned available,
                                    bool *acceptable);

#endif
