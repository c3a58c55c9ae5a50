/* See mapping.h. */
#include "mapping.h"

#include <stdbool.h>
#include <string.h>

#define NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

static bool is_regex(const char *path, size_t length)
{
    static const char *const parts[] = {".*", ".+", "(?", ")?", "\\", "[^", "[0-9", "[a-z", "[A-Z"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (memmem(path, length, parts[i], strlen(parts[i])) != NULL)
            return true;
    }
    return length > 0 && (*path == '^' || *path == '~' || path[length - 1] == '$');
}

const char *uvh_mapping_check_path(const char *path, size_t length)
{
    const char *star = memchr(path, '*', length);
    if (is_regex(path, length))
        return "paths such as /old/* (all below /old/) and /user/:name (one segment), not regular "
               "expressions";
    if (star != NULL &&
        ((star > path && star[-1] != '/') || star + 1 + strspn(star + 1, NAME) < path + length))
        return "paths with '*' as the last segment only, such as /old/*";
    return NULL;
}

const char *uvh_mapping_check(const char *text)
{
    const char *equals = strchr(text, '=');
    const char *allowed =
        equals == NULL ? NULL : uvh_mapping_check_path(text, (size_t)(equals - text));
    if (allowed != NULL)
        return allowed;
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
