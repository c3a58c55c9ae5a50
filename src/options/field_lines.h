/* Joins the lines of a repeated request field into one value (RFC 9110 section 5.3).
 *
 * Modules that evaluate conditions call it: a list of entity tags may span several lines, and a
 * repeated date is invalid. */
#ifndef UVH_OPTIONS_FIELD_LINES_H
#define UVH_OPTIONS_FIELD_LINES_H

#include <uvhttp/request.h>

#include "codec/fields/conditional.h"

/* `*value` is the result of uvhttp_request_field. Further lines of that name are appended,
 * separated by ", ", in memory of the exchange. An absent field is left unchanged. Returns 0 or
 * UVHTTP_ENOMEM. */
int uvh_field_lines_join(uvhttp_request_t *request, uvhttp_field_id_t id, uvhttp_slice_t *value);

/* Joins the four fields that are conditions. */
int uvh_field_lines_join_conditions(uvhttp_request_t *request,
                                    struct uvh_conditional_fields *fields);

#endif
