/* See site_auth.h. Called by site.c and serve.c. */
#include "site_auth.h"

#include <stdlib.h>
#include <string.h>

/* True if an error of a password table is one of its file. */
static bool is_of_file(const struct uvh_setup_auth *wanted, const uvhttp_error_t *error)
{
    return wanted->file.text != NULL &&
           (strcmp(error->field, "file") == 0 ||
            (strcmp(error->field, "users") == 0 && wanted->user_count == 0));
}

/* Names the file in an error of one of its lines or users. */
static void name_file(const struct uvh_setup_auth *wanted, uvhttp_error_t *error)
{
    static const char line[] = "file, line ";
    char text[sizeof(error->text)];
    if (!is_of_file(wanted, error))
        return;
    if (strncmp(error->text, line, strlen(line)) == 0)
        snprintf(text, sizeof(text), "'%s', line %.900s", wanted->file.text,
                 error->text + strlen(line));
    else if (strcmp(error->field, "users") == 0)
        snprintf(text, sizeof(text), "'%s': %.900s", wanted->file.text, error->text);
    else
        return;
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
                                  struct uvh_problems *problems)
{
    uvhttp_error_t error;
    uvhttp_auth_t *auth;
    if (wanted->mark.line == 0)
        return NULL;
    if (uvh_site_auth_open(server, wanted, &auth, &error) == 0)
        return auth;
    uvh_problems_add(problems, is_of_file(wanted, &error) ? wanted->file.mark : wanted->mark,
                     "basic_auth: %s", error.text);
    return NULL;
}

/* A directory of a route, by its real path. */
struct directory {
    char *path;
    const struct uvh_text *named; /* in the configuration */
    const struct uvh_setup_route *route;
    bool is_protected;
};

/* A missing directory is reported elsewhere. */
static void add_dir(struct directory *directories, size_t *count,
                    const struct uvh_setup_route *route, const struct uvh_text *named,
                    bool is_protected)
{
    char *path = named->text != NULL ? realpath(named->text, NULL) : NULL;
    if (path != NULL)
        directories[(*count)++] = (struct directory){path, named, route, is_protected};
}

static size_t list_dirs(const struct uvh_setup *setup, struct directory *directories)
{
    size_t count = 0;
    for (size_t i = 0; i < setup->site_count; i++) {
        const struct uvh_setup_site *site = &setup->sites[i];
        for (size_t r = 0; r < site->route_count; r++) {
            const struct uvh_setup_route *route = &site->routes[r];
            bool is_protected = site->auth.mark.line != 0 || route->auth.mark.line != 0;
            if (route->kind != UVH_ROUTE_STATIC)
                continue;
            add_dir(directories, &count, route, &route->root, is_protected);
            for (size_t k = 0; k < route->more_roots.count; k++)
                add_dir(directories, &count, route, &route->more_roots.items[k], is_protected);
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

static void check_dir(const struct directory *directory, const struct directory *all, size_t count,
                      struct uvh_problems *problems)
{
    for (size_t i = 0; i < count; i++) {
        char where[UVH_MARK_TEXT];
        if (all[i].is_protected || !lies_in(directory->path, all[i].path))
            continue;
        uvh_problems_add(
            problems, directory->named->mark,
            "the directory '%s' requires a password here, but is within '%s', which the "
            "route in %s serves without one; move it elsewhere",
            directory->named->text, all[i].named->text,
            uvh_mark_describe(&all[i].route->path.mark, &directory->named->mark, where));
        return;
    }
}

void uvh_site_auth_check_directories(const struct uvh_setup *setup, struct uvh_problems *problems)
{
    size_t most = 1;
    for (size_t i = 0; i < setup->site_count; i++) {
        for (size_t r = 0; r < setup->sites[i].route_count; r++)
            most += 1 + setup->sites[i].routes[r].more_roots.count;
    }
    struct directory *directories = calloc(most, sizeof(*directories));
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
