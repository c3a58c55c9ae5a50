/* See option_check.h. */
#include "modules/option_check.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <uvhttp/error.h>

enum { SHOWN_SIZE = 32 };

/* What is more than memory can have was a negative number before it became a size. */
static const char *shown(size_t value, char text[SHOWN_SIZE])
{
    if (value > PTRDIFF_MAX)
        snprintf(text, SHOWN_SIZE, "%td", (ptrdiff_t)value);
    else
        snprintf(text, SHOWN_SIZE, "%zu", value);
    return text;
}

int uvh_option_check(const struct uvh_option_range *options, size_t count, char *message, size_t size)
{
    for (const struct uvh_option_range *option = options; option < options + count; option++) {
        char value[SHOWN_SIZE];
        if (option->value >= option->least && option->value <= option->most)
            continue;
        shown(option->value, value);
        if (option->most == SIZE_MAX)
            snprintf(message, size, "%s is %s; allowed are %zu %s and more", option->name, value,
                     option->least, option->unit);
        else
            snprintf(message, size, "%s is %s; allowed are %zu to %zu %s", option->name, value, option->least,
                     option->most, option->unit);
        return UVHTTP_ECONFIG;
    }
    return 0;
}
