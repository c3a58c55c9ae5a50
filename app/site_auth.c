/* See site_auth.h. */
#include "site_auth.h"

#include <stdlib.h>
#include <string.h>

/* True if the error is about the password file, not about the users of the configuration. */
static bool is_of_file(const struct uvh_setup_auth *wanted, const uvhttp_error_t *error)
{
    return wanted->file.text != NULL && strcmp(error->field, "file") == 0;
}

/* Names the file in an error of one of its lines. */
static void name_file(const struct uvh_setup_auth *wanted, uvhttp_error_t *error)
{
    static const char line[] = "file, line ";
    char text[sizeof(error->text)];
    if (!is_of_file(wanted, error) || strncmp(error->text, line, strlen(line)) != 0)
        return;
    snprintf(text, sizeof(text), "'%s', line %.900s", wanted->file.text,
             error->text + strlen(line));
    memcpy(error->text, text, sizeof(text));
}

int uvh_site_auth_open(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                       uvhttp_auth_t **auth, uvhttp_error_t *error)
{
    uvhttp_passwords_t *passwords;
    const uvhttp_passwords_options_t options = {.users =
                                                    wanted->user_count > 0 ? wanted->users : NULL,
                                                .user_count = wanted->user_count,
                                                .file = wanted->file.text};
    int err = uvhttp_passwords_new(&passwords, &options, error);
    if (err != 0)
        name_file(wanted, error);
    if (err == 0) {
        err = uvhttp_server_own(server, uvhttp_passwords_free, passwords);
        *error = *uvhttp_server_error(server);
        if (err != 0)
            uvhttp_passwords_free(passwords);
    }
    if (err == 0) {
        const uvhttp_auth_options_t asking = {
            .realm = wanted->realm, .check_basic = uvhttp_passwords_check, .arg = passwords};
        err = uvhttp_auth_new(auth, &asking, error);
    }
    if (err == 0) {
        err = uvhttp_server_own(server, uvhttp_auth_free, *auth);
        *error = *uvhttp_server_error(server);
        if (err != 0)
            uvhttp_auth_free(*auth);
    }
    if (err == UVHTTP_ENOTSUP)
        snprintf(error->text, sizeof(error->text), "%s",
                 "this build does not support passwords: it was built without crypt(3)");
    return err;
}

uvhttp_auth_t *uvh_site_auth_make(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                                  const char *name, struct uvh_problems *problems)
{
    uvhttp_error_t error;
    uvhttp_auth_t *auth;
    if (wanted->mark.line == 0 || wanted->off)
        return NULL;
    if (uvh_site_auth_open(server, wanted, &auth, &error) == 0)
        return auth;
    uvh_problems_add(problems, is_of_file(wanted, &error) ? wanted->file.mark : wanted->mark,
                     "%s: %s", name, error.text);
    return NULL;
}

static bool is_upload(uvhttp_request_t *request)
{
    uvhttp_method_t method = uvhttp_request_method(request);
    return method == UVHTTP_METHOD_PUT || method == UVHTTP_METHOD_POST;
}

int uvh_site_auth_handle_upload(uvhttp_request_t *request, uvhttp_response_t *response, void *auth)
{
    return is_upload(request) ? uvhttp_auth_handle_request(request, response, auth)
                              : UVHTTP_DECLINED;
}

int uvh_site_auth_handle_other(uvhttp_request_t *request, uvhttp_response_t *response, void *auth)
{
    return is_upload(request) ? UVHTTP_DECLINED
                              : uvhttp_auth_handle_request(request, response, auth);
}

static bool is_protected(const struct uvh_setup_site *site, const struct uvh_setup_route *route)
{
    const struct uvh_setup_auth *auth = route->auth.mark.line != 0 ? &route->auth : &site->auth;
    return auth->mark.line != 0 && !auth->off;
}

/* Adds the path of `directory` below `root` as a pattern. False if out of memory. */
static bool add_below(const char **patterns, size_t *count, const char *root, const char *directory)
{
    char *outer = realpath(root, NULL), *inner = realpath(directory, NULL);
    size_t length = outer == NULL || outer[1] == '\0' ? 0 : strlen(outer); /* 0 for "/" */
    bool below = outer != NULL && inner != NULL && strncmp(inner, outer, length) == 0 &&
                 inner[length] == '/';
    char *pattern = below ? calloc(1, 2 * strlen(inner) + 1) : NULL, *end = pattern;
    for (const char *at = inner + length; pattern != NULL && *at != '\0'; at++) {
        if (strchr("*?[\\", *at) != NULL)
            *end++ = '\\';
        *end++ = *at;
    }
    if (pattern != NULL)
        patterns[(*count)++] = pattern;
    free(outer);
    free(inner);
    return !below || pattern != NULL;
}

static bool add_protected(const char **patterns, size_t *count, const struct uvh_setup_site *site,
                          const struct uvh_setup_route *route)
{
    bool good = true;
    for (size_t i = 0; i < site->route_count; i++) {
        const struct uvh_setup_route *other = &site->routes[i];
        if (other->kind != UVH_ROUTE_STATIC || !is_protected(site, other))
            continue;
        good = add_below(patterns, count, route->root.text, other->root.text) && good;
        for (size_t k = 0; k < route->more_roots.count; k++)
            good = add_below(patterns, count, route->more_roots.items[k].text, other->root.text) &&
                   good;
    }
    return good;
}

const char **uvh_site_auth_hidden(const struct uvh_setup_site *site,
                                  const struct uvh_setup_route *route)
{
    size_t given = 0, count = 0;
    while (route->files.hide != NULL && route->files.hide[given] != NULL)
        given++;
    const char **patterns =
        calloc(given + site->route_count * (route->more_roots.count + 1) + 1, sizeof(*patterns));
    bool good = patterns != NULL;
    for (size_t i = 0; i < given && good; i++)
        good = (patterns[count++] = strdup(route->files.hide[i])) != NULL;
    if (good && !is_protected(site, route) && route->files.symlinks == UVHTTP_SYMLINKS_NONE)
        good = add_protected(patterns, &count, site, route);
    if (good)
        return patterns;
    uvh_site_auth_free_hidden(patterns);
    return NULL;
}

void uvh_site_auth_free_hidden(const char **patterns)
{
    for (size_t i = 0; patterns != NULL && patterns[i] != NULL; i++)
        free((void *)(uintptr_t)patterns[i]);
    free(patterns);
}

/* A directory of a route, by its real path. */
struct directory {
    char *path;
    const struct uvh_setup_site *site;
    const struct uvh_text *named; /* in the configuration */
    const struct uvh_setup_route *route;
    bool is_protected;
};

/* A missing directory is reported elsewhere. */
static void add_dir(struct directory *directories, size_t *count, const struct uvh_setup_site *site,
                    const struct uvh_setup_route *route, const struct uvh_text *named)
{
    char *path = named->text != NULL ? realpath(named->text, NULL) : NULL;
    if (path != NULL)
        directories[(*count)++] =
            (struct directory){path, site, named, route, is_protected(site, route)};
}

static size_t list_dirs(const struct uvh_setup *setup, struct directory *directories)
{
    size_t count = 0;
    for (size_t i = 0; i < setup->site_count; i++) {
        const struct uvh_setup_site *site = &setup->sites[i];
        for (size_t r = 0; r < site->route_count; r++) {
            const struct uvh_setup_route *route = &site->routes[r];
            if (route->kind != UVH_ROUTE_STATIC)
                continue;
            add_dir(directories, &count, site, route, &route->root);
            for (size_t k = 0; k < route->more_roots.count; k++)
                add_dir(directories, &count, site, route, &route->more_roots.items[k]);
        }
    }
    return count;
}

static bool lies_in(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    if (length > 0 && directory[length - 1] == '/')
        length--; /* the root of the file system */
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Whether uvh_site_auth_hidden hides `inner` in `outer` if the latter follows no symbolic links. */
static bool can_hide_in(const struct directory *inner, const struct directory *outer)
{
    return inner->site == outer->site && inner->named == &inner->route->root &&
           strcmp(inner->path, outer->path) != 0;
}

static void check_dir(const struct directory *directory, const struct directory *all, size_t count,
                      struct uvh_problems *problems)
{
    for (size_t i = 0; i < count; i++) {
        char where[UVH_MARK_TEXT];
        bool can_hide = can_hide_in(directory, &all[i]);
        bool hidden = can_hide && all[i].route->files.symlinks == UVHTTP_SYMLINKS_NONE;
        if (all[i].is_protected || !lies_in(directory->path, all[i].path) || hidden)
            continue;
        uvh_problems_add(
            problems, directory->named->mark,
            "the directory '%s' requires a password here, but is %s '%s', which the route in %s "
            "serves without one; move it elsewhere%s",
            directory->named->text,
            strcmp(directory->path, all[i].path) == 0 ? "the same as" : "within",
            all[i].named->text,
            uvh_mark_describe(&all[i].route->path.mark, &directory->named->mark, where),
            can_hide ? ", or set 'symlinks: none' in that route, which then hides it" : "");
        return;
    }
}

void uvh_site_auth_check_directories(const struct uvh_setup *setup, struct uvh_problems *problems)
{
    size_t capacity = 1;
    for (size_t i = 0; i < setup->site_count; i++) {
        for (size_t r = 0; r < setup->sites[i].route_count; r++)
            capacity += 1 + setup->sites[i].routes[r].more_roots.count;
    }
    struct directory *directories = calloc(capacity, sizeof(*directories));
    if (directories == NULL) {
        uvh_problems_add(problems, UVH_MARK_NONE, "out of memory");
        return;
    }
    size_t count = list_dirs(setup, directories);
    for (size_t i = 0; i < count; i++) {
        if (directories[i].is_protected)
            check_dir(&directories[i], directories, count, problems);
    }
    for (size_t i = 0; i < count; i++)
        free(directories[i].path);
    free(directories);
}
