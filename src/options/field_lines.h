/* A request's field that may stand on several lines, as one value (RFC 9110 section 5.3).
 *
 * Called by modules that evaluate conditions: a list of entity tags may be spread over lines, and a
 * date that is repeated is none. */
#ifndef UVH_OPTIONS_FIELD_LINES_H
#define UVH_OPTIONS_FIELD_LINES_H

#include <uvhttp/request.h>

#include "codec/fields/conditional.h"

/* `*value` is what uvhttp_request_field has given: when there are more lines of that name, they are
 * joined behind it by ", ", in memory that lives as long as the exchange. Nothing to do for an
 * absent field. 0 or UVHTTP_ENOMEM. */
int uvh_field_lines_join(uvhttp_request_t *request, uvhttp_field_id_t id, uvhttp_slice_t *value);

/* The same for the four fields that are conditions. */
int uvh_field_lines_join_conditions(uvhttp_request_t *request,
                                    struct uvh_conditional_fields *fields);

#endif
