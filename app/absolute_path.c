/* See absolute_path.h. Called for the options of `serve` and for configuration files. */
#include "absolute_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the path is a directory and no link, so that ".." after it can be removed with its last
 * segment. `end` is where it ends. */
static bool is_plain_directory(char *path, char *end)
{
    struct stat found;
    char kept = *end;
    *end = '\0';
    bool is_plain = lstat(path, &found) == 0 && S_ISDIR(found.st_mode);
    *end = kept;
    return is_plain && (end - path < 3 || memcmp(end - 3, "/..", 3) != 0);
}

/* Removes empty segments and "." in place, and ".." where it is safe. */
static void tidy(char *path)
{
    char *end = path;
    for (const char *at = path; *at != '\0';) {
        size_t length = strcspn(at + 1, "/");
        bool is_dot = length == 1 && at[1] == '.';
        bool is_parent = length == 2 && memcmp(at + 1, "..", 2) == 0;
        if (is_parent && end == path) {
            /* the parent of the root directory is itself */
        } else if (is_parent && is_plain_directory(path, end)) {
            while (*--end != '/')
                ;
        } else if (length > 0 && !is_dot) {
            memmove(end, at, length + 1);
            end += length + 1;
        }
        at += length + 1;
    }
    if (end == path)
        *end++ = '/';
    *end = '\0';
}

char *uvh_absolute_path(const char *path)
{
    char directory[PATH_MAX] = "";
    char *absolute = NULL;
    if (*path == '\0') {
        errno = ENOENT;
        return NULL;
    }
    if (*path != '/' && getcwd(directory, sizeof(directory)) == NULL)
        return NULL;
    if (asprintf(&absolute, "%s/%s", directory, path) < 0)
        return NULL;
    tidy(absolute);
    return absolute;
}
