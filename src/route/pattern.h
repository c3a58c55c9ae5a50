/* Route patterns: what is wrong with one, and the names of its parameters.
 *
 * Called by router.c when routes and groups are added. */
#ifndef UVH_ROUTE_PATTERN_H
#define UVH_ROUTE_PATTERN_H

#include "http/request.h"

/* So many parameters at most has the pattern; never more than UVH_REQUEST_MAX_PARAMS. */
size_t uvh_pattern_most_params(const char *pattern);

/* Notes the parameter names of a pattern that begins with '/': they point into it. `params` has
 * room for uvh_pattern_most_params. NULL, or a text that says what is wrong with the pattern. */
const char *uvh_pattern_params(const char *pattern, struct uvh_param_name *params, size_t *count);

#endif
