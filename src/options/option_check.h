/* Checks the numbers of an options struct, with the message that uvhttp_config_check gives: field,
 * value and range.
 *
 * Called by the constructors of modules. */
#ifndef UVH_OPTIONS_OPTION_CHECK_H
#define UVH_OPTIONS_OPTION_CHECK_H

#include <uvhttp/types.h>

struct uvh_option_range {
    const char *name;
    size_t value;
    size_t least;
    size_t most; /* SIZE_MAX: any */
    const char *unit;
};

/* An array and its count, both set or neither. 0, or UVHTTP_EINVAL and a message that names them.
 * */
int uvh_option_check_array(const char *name, const void *array, size_t count, char *message,
                           size_t size);

/* 0, or UVHTTP_ECONFIG and a message about the first that is out of its range. `message` may be
 * NULL. */
int uvh_option_check(const struct uvh_option_range *options, size_t count, char *message,
                     size_t size);

#endif
