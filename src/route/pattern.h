/* Route patterns and paths as segments: what is between two slashes.
 *
 * Called by router.c, for patterns when routes are added and for paths when requests are matched. */
#ifndef UVH_ROUTE_PATTERN_H
#define UVH_ROUTE_PATTERN_H

#include "http/request.h"

/* Cuts the first segment off `*rest`, whose base is NULL afterwards when it was the last one. */
uvhttp_slice_t uvh_pattern_next(uvhttp_slice_t *rest);

/* Notes the parameter names of a pattern that begins with '/': they point into it. `params` has room for UVH_REQUEST_MAX_PARAMS. NULL,
 * or a text that says what is wrong with the pattern. */
const char *uvh_pattern_params(const char *pattern, struct uvh_param *params, size_t *count);

#endif
