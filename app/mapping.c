/* See mapping.h. Called by options.c and serve_site.c. */
#include "mapping.h"

#include <stddef.h>
#include <string.h>

const char *uvh_mapping_check(const char *text)
{
    const char *equals = strchr(text, '=');
    return *text == '/' && equals != NULL && equals[1] != '\0'
               ? NULL
               : "a path that begins with '/', '=' and what replaces it, such as "
                 "'/old/*=/new/{rest}'";
}

char *uvh_mapping_split(char *text)
{
    char *equals = strchr(text, '=');
    *equals = '\0';
    return equals + 1;
}
