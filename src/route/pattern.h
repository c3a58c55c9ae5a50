/* Route patterns: validation, and their parameters. */
#ifndef UVH_ROUTE_PATTERN_H
#define UVH_ROUTE_PATTERN_H

#include "http/request.h"

/* What the value of a parameter must be. */
enum uvh_pattern_type {
    UVH_PATTERN_ANY = 0,
    UVH_PATTERN_INT, /* decimal digits, few enough for int64_t */
};

/* A segment ":name", ":name(type)", ":name.suffix" or ":name(type).suffix". */
struct uvh_pattern_param {
    uvhttp_slice_t name;
    enum uvh_pattern_type type;
    uvhttp_slice_t suffix; /* with its dot; may be empty */
};

/* Splits a segment that begins with ':'. Returns NULL, or why it is invalid. */
const char *uvh_pattern_split_param(uvhttp_slice_t segment, struct uvh_pattern_param *param);

/* True if the value has this type. */
bool uvh_pattern_fits(enum uvh_pattern_type type, uvhttp_slice_t value);

/* The maximum number of parameters of the pattern; never above UVH_REQUEST_MAX_PARAMS. */
size_t uvh_pattern_most_params(const char *pattern);

/* Stores the parameter names of a pattern that begins with '/'; they point into it. `params` must
 * have space for uvh_pattern_most_params. Returns NULL, or a text that says why the pattern is
 * invalid. */
const char *uvh_pattern_params(const char *pattern, struct uvh_param_name *params, size_t *count);

#endif
