/* See option_text.h. */
#include "options/option_text.h"

#include <stdio.h>

#include <uvhttp/error.h>

int uvh_option_text_refuse(struct uvh_option_message message, const char *name, const char *value,
                           const char *allowed)
{
    snprintf(message.text, message.text != NULL ? message.size : 0, "%s is \"%s\"; %s", name, value,
             allowed);
    return UVHTTP_ECONFIG;
}
