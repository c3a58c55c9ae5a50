/* Checks the numbers of an options struct. The error has the form of uvhttp_config_check: field,
 * value and range.
 *
 * Called by the constructors of modules. */
#ifndef UVH_OPTIONS_OPTION_CHECK_H
#define UVH_OPTIONS_OPTION_CHECK_H

#include <uvhttp/error.h>

struct uvh_option_range {
    const char *name;
    size_t value;
    size_t least;
    size_t most; /* SIZE_MAX: no limit */
    const char *unit;
};

/* Checks an array and its count: both set or neither. Returns 0, or UVHTTP_EINVAL with a message
 * that names them. */
int uvh_option_check_array(const char *name, const void *array, size_t count,
                           uvhttp_error_t *error);

/* Returns 0, or UVHTTP_ECONFIG with a message about the first value out of range. */
int uvh_option_check(const struct uvh_option_range *options, size_t count, uvhttp_error_t *error);

#endif
