/* See option_check.h. */
#include "options/option_check.h"

#include <stdint.h>

#include "options/error.h"

int uvh_option_check_array(const char *name, const void *array, size_t count, uvhttp_error_t *error)
{
    if ((array == NULL) == (count == 0))
        return 0;
    if (array == NULL)
        uvh_error_sentence(error, name, NULL, "%s is NULL and its count is %zu", name, count);
    else
        uvh_error_sentence(error, name, NULL, "%s is set and its count is 0", name);
    return UVHTTP_EINVAL;
}

int uvh_option_check(const struct uvh_option_range *options, size_t count, uvhttp_error_t *error)
{
    for (const struct uvh_option_range *option = options; option < options + count; option++) {
        if (option->value >= option->least && option->value <= option->most)
            continue;
        if (option->most == SIZE_MAX)
            return uvh_error_size(error, option->name, option->value, "allowed are %zu %s and more",
                                  option->least, option->unit);
        return uvh_error_size(error, option->name, option->value, "allowed are %zu to %zu %s",
                              option->least, option->most, option->unit);
    }
    return 0;
}
