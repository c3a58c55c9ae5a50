/* See named_files.h. All links are followed here; the library applies the link policy when it
 * serves the file. */
#include "named_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Stats a path in a directory. Returns 0, or an errno. */
static int find_in(const char *root, const char *path, size_t length, struct stat *facts)
{
    char whole[PATH_MAX];
    int size = snprintf(whole, sizeof(whole), "%s/%.*s", root, (int)length, path);
    if (size >= (int)sizeof(whole))
        return ENAMETOOLONG;
    return stat(whole, facts) == 0 ? 0 : errno;
}

/* The same in the first of a route's directories that has it: `*root`. */
static int find(const struct uvh_setup_route *route, const char *path, size_t length,
                struct stat *facts, const char **root)
{
    *root = route->root.text;
    int error = find_in(*root, path, length, facts);
    for (size_t i = 0; i < route->more_roots.count && (error == ENOENT || error == ENOTDIR); i++) {
        *root = route->more_roots.items[i].text;
        error = find_in(*root, path, length, facts);
    }
    return error;
}

bool uvh_named_files_path(const struct uvh_setup_route *route, const char *path, size_t length,
                          char whole[PATH_MAX])
{
    struct stat facts;
    const char *root;
    size_t skip = strspn(path, "/");
    return find(route, path + skip, length - skip, &facts, &root) == 0 &&
           snprintf(whole, PATH_MAX, "%s/%.*s", root, (int)(length - skip), path + skip) < PATH_MAX;
}

/* True if links lead out of the directory, or the last one is absolute, which the library denies.
 */
static bool leaves(const struct uvh_setup_route *route, const char *root, const char *path,
                   size_t length)
{
    char whole[PATH_MAX], file[PATH_MAX], directory[PATH_MAX];
    if (route->files.symlinks != UVHTTP_SYMLINKS_INSIDE ||
        snprintf(whole, sizeof(whole), "%s/%.*s", root, (int)length, path) >= (int)sizeof(whole) ||
        realpath(root, directory) == NULL)
        return false;
    if (readlink(whole, file, sizeof(file)) > 0 && file[0] == '/')
        return true;
    if (realpath(whole, file) == NULL)
        return false;
    size_t size = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    return strncmp(file, directory, size) != 0 || file[size] != '/';
}

/* True if `path` is a file. A path that cannot be examined counts as one: the log will report the
 * reason when the file is requested. */
static bool check_file(const struct uvh_setup_route *route, const char *option, const char *path,
                       size_t length, char *message, size_t size)
{
    struct stat facts;
    const char *root;
    size_t skip = strspn(path, "/");
    int name_length = (int)(length - skip);
    int error = find(route, path + skip, length - skip, &facts, &root);
    bool missing = error == ENOENT || error == ENOTDIR;
    bool found = error == 0 && S_ISREG(facts.st_mode);
    bool outside = found && leaves(route, root, path + skip, length - skip);
    if ((found && !outside) || (!missing && error != 0))
        return true;
    if (missing && route->more_roots.count > 0)
        snprintf(message, size, "%s: the file '%.*s' does not exist in '%s' or in more_roots",
                 option, name_length, path + skip, route->root.text);
    else
        snprintf(message, size, "%s: the file '%s/%.*s' %s", option, root, name_length, path + skip,
                 missing   ? "does not exist"
                 : outside ? "is outside of the directory, by a link, or an absolute link"
                           : "is not a regular file");
    return false;
}

/* The file for missing paths. */
static bool check_fallback(const struct uvh_setup_route *route, char *message, size_t size)
{
    const uvhttp_static_options_t *files = &route->files;
    const char *index =
        files->index == NULL ? "index.html" : files->index + strspn(files->index, " ");
    if (files->fallback != NULL)
        return check_file(route, "fallback", files->fallback, strlen(files->fallback), message,
                          size);
    return !files->spa || check_file(route, "spa", index, strcspn(index, " "), message, size);
}

/* The last candidate, if it is a file: without it every missing path would get 404. */
static bool check_last(const struct uvh_setup_route *route, char *message, size_t size)
{
    const char *word = route->files.try_files == NULL ? "" : route->files.try_files;
    const char *last = "";
    for (word += strspn(word, " "); *word != '\0'; word += strspn(word, " ")) {
        last = word;
        word += strcspn(word, " ");
    }
    size_t length = strcspn(last, " ");
    return length == 0 || *last == '=' || memchr(last, '{', length) != NULL ||
           check_file(route, "try_files", last, length, message, size);
}

bool uvh_named_files_check(const struct uvh_setup_route *route, char *message, size_t size)
{
    const char *word = route->files.error_pages != NULL ? route->files.error_pages : "";
    const char *file = route->files.file;
    if (file != NULL && !check_file(route, "file", file, strlen(file), message, size))
        return false;
    if (!check_fallback(route, message, size) || !check_last(route, message, size))
        return false;
    for (word += strspn(word, " "); *word != '\0'; word += strspn(word, " ")) {
        const char *end = word + strcspn(word, " ");
        /* the library has rejected words without '=' */
        const char *page = word + strcspn(word, "=") + 1;
        if (!check_file(route, "error_pages", page, (size_t)(end - page), message, size))
            return false;
        word = end;
    }
    return true;
}

void uvh_named_files_drop(struct uvh_setup_route *route)
{
    char message[1];
    const char *pages = route->files.error_pages, *candidates = route->files.try_files;
    route->files.error_pages = route->files.try_files = NULL;
    if (!uvh_named_files_check(route, message, sizeof(message))) {
        route->files.spa = false;
        route->files.fallback = NULL;
    }
    route->files.error_pages = pages;
    if (!uvh_named_files_check(route, message, sizeof(message)))
        route->files.error_pages = NULL;
    route->files.try_files = candidates;
}

bool uvh_named_files_can_match(const struct uvh_setup_route *route)
{
    const uvhttp_static_options_t *files = &route->files;
    const char *path = route->path.text;
    size_t length = strlen(path);
    struct stat facts;
    const char *root;
    bool mapped = files->file != NULL || files->try_files != NULL || files->fallback != NULL ||
                  files->spa || files->clean_urls || files->uploads;
    if (mapped || length == 0 || path[length - 1] == '/' || strpbrk(path, ":*%") != NULL)
        return true;
    int error = find(route, path + 1, length - 1, &facts, &root);
    return error != ENOENT && error != ENOTDIR;
}

bool uvh_named_files_check_roots(const struct uvh_setup_route *route, struct uvh_problems *problems)
{
    const struct uvh_text_list *more = &route->more_roots;
    size_t before = problems->count;
    struct stat facts, other;
    for (size_t i = 0; i < more->count; i++) {
        if (stat(more->items[i].text, &facts) != 0)
            continue; /* reported when it was opened */
        for (size_t k = 0; k <= i; k++) {
            const char *earlier = k == 0 ? route->root.text : more->items[k - 1].text;
            if (stat(earlier, &other) != 0 || other.st_dev != facts.st_dev ||
                other.st_ino != facts.st_ino)
                continue;
            uvh_problems_add(problems, more->items[i].mark,
                             "more_roots: '%s' is the same directory as '%s'", more->items[i].text,
                             earlier);
            break;
        }
    }
    return problems->count == before;
}
