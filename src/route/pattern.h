/* Route patterns: validation, and the names of parameters.
 *
 * Called by adding.c when routes and groups are added. */
#ifndef UVH_ROUTE_PATTERN_H
#define UVH_ROUTE_PATTERN_H

#include "http/request.h"

/* The maximum number of parameters of the pattern; never above UVH_REQUEST_MAX_PARAMS. */
size_t uvh_pattern_most_params(const char *pattern);

/* Stores the parameter names of a pattern that begins with '/'; they point into it. `params` must
 * have space for uvh_pattern_most_params. Returns NULL, or a text that says why the pattern is
 * invalid. */
const char *uvh_pattern_params(const char *pattern, struct uvh_param_name *params, size_t *count);

#endif
