/* Checks the numbers of an options struct, and reports invalid strings. The message has the form of
 * uvhttp_config_check: field, value and range.
 *
 * Called by the constructors of modules. */
#ifndef UVH_OPTIONS_OPTION_CHECK_H
#define UVH_OPTIONS_OPTION_CHECK_H

#include <uvhttp/types.h>

struct uvh_option_range {
    const char *name;
    size_t value;
    size_t least;
    size_t most; /* SIZE_MAX: no limit */
    const char *unit;
};

/* The buffer of the message: `text` may be NULL with `size` 0. */
struct uvh_option_message {
    char *text;
    size_t size;
};

/* Checks an array and its count: both set or neither. Returns 0, or UVHTTP_EINVAL with a message
 * that names them. */
int uvh_option_check_array(const char *name, const void *array, size_t count, char *message,
                           size_t size);

/* Returns 0, or UVHTTP_ECONFIG with a message about the first value out of range. `message` may be
 * NULL. */
int uvh_option_check(const struct uvh_option_range *options, size_t count, char *message,
                     size_t size);

/* Writes: NAME is "VALUE"; ALLOWED. Returns UVHTTP_ECONFIG. */
int uvh_option_text_refuse(struct uvh_option_message message, const char *name, const char *value,
                           const char *allowed);

#endif
