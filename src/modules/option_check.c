/* See option_check.h. */
#include "modules/option_check.h"

#include <stdint.h>
#include <stdio.h>

#include <uvhttp/error.h>

int uvh_option_check(const struct uvh_option_range *options, size_t count, char *message, size_t size)
{
    for (const struct uvh_option_range *option = options; option < options + count; option++) {
        if (option->value >= option->least && option->value <= option->most)
            continue;
        if (option->most == SIZE_MAX)
            snprintf(message, size, "%s is %zu; allowed are %zu %s and more", option->name, option->value,
                     option->least, option->unit);
        else
            snprintf(message, size, "%s is %zu; allowed are %zu to %zu %s", option->name, option->value,
                     option->least, option->most, option->unit);
        return UVHTTP_ECONFIG;
    }
    return 0;
}
