/* Text only: no disk access. */
#include "files/static_path.h"

#include <string.h>

#include "base/slice.h"
#include "codec/text/glob.h"
#include "platform/store.h"

size_t uvh_static_path_normalize(const char *path, size_t length, char *out)
{
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        if (path[i] == '/' && (size == 0 || out[size - 1] == '/'))
            continue;
        out[size++] = path[i];
    }
    out[size] = '\0';
    return size;
}

bool uvh_static_path_is_hidden(const char *path)
{
    static const char well_known[] = ".well-known";
    size_t length = strlen(well_known);
    if (strncmp(path, well_known, length) == 0 && (path[length] == '/' || path[length] == '\0'))
        path += length;
    return path[0] == '.' || strstr(path, "/.") != NULL;
}

/* A name in the path is the one of an unfinished upload. */
static bool is_unfinished(const char *path)
{
    static const char prefix[] = UVH_STORE_PREFIX;
    return strncmp(path, prefix, strlen(prefix)) == 0 || strstr(path, "/" UVH_STORE_PREFIX) != NULL;
}

bool uvh_static_path_matches(const char *path, const char *const *patterns)
{
    bool found = false;
    for (const char *const *one = patterns; one != NULL && *one != NULL && !found; one++)
        found = uvh_glob_matches_part(uvh_slice(*one), uvh_slice(path));
    return found;
}

bool uvh_static_path_is_denied(const char *path, bool hidden_served, const char *const *hide)
{
    return (hidden_served ? is_unfinished(path) : uvh_static_path_is_hidden(path)) ||
           uvh_static_path_matches(path, hide);
}

bool uvh_static_path_has_dots(const char *path)
{
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        if ((length == 1 || length == 2) && strspn(path, ".") == length)
            return true;
        path += length;
        path += strspn(path, "/");
    }
    return false;
}

bool uvh_static_path_has_extension(const char *path)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    while (end > 0 && path[end - 1] != '/') {
        if (path[--end] == '.')
            return true;
    }
    return false;
}
