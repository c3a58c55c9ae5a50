/* See option_check.h. */
#include "options/option_check.h"

#include <stdint.h>
#include <stdio.h>

#include <uvhttp/error.h>

int uvh_option_check_array(const char *name, const void *array, size_t count, char *message,
                           size_t size)
{
    if ((array == NULL) == (count == 0))
        return 0;
    if (message == NULL)
        size = 0;
    if (array == NULL)
        snprintf(message, size, "%s is NULL and its count is %zu", name, count);
    else
        snprintf(message, size, "%s is set and its count is 0", name);
    return UVHTTP_EINVAL;
}

int uvh_option_check(const struct uvh_option_range *options, size_t count, char *message,
                     size_t size)
{
    if (message == NULL)
        size = 0;
    for (const struct uvh_option_range *option = options; option < options + count; option++) {
        if (option->value >= option->least && option->value <= option->most)
            continue;
        if (option->most == SIZE_MAX)
            snprintf(message, size, "%s is %zu; allowed are %zu %s and more", option->name,
                     option->value, option->least, option->unit);
        else
            snprintf(message, size, "%s is %zu; allowed are %zu to %zu %s", option->name,
                     option->value, option->least, option->most, option->unit);
        return UVHTTP_ECONFIG;
    }
    return 0;
}

int uvh_option_text_refuse(struct uvh_option_message message, const char *name, const char *value,
                           const char *allowed)
{
    snprintf(message.text, message.text != NULL ? message.size : 0, "%s is \"%s\"; %s", name, value,
             allowed);
    return UVHTTP_ECONFIG;
}
