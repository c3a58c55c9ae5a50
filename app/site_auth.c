/* See site_auth.h. Called by site.c. */
#include "site_auth.h"

#include <stdlib.h>
#include <string.h>

static void free_passwords(void *passwords)
{
    uvhttp_passwords_free(passwords);
}

static void free_auth(void *auth)
{
    uvhttp_auth_free(auth);
}

static void note(struct uvh_problems *problems, const struct uvh_setup_auth *wanted, int err,
                 const char *message)
{
    uvh_problems_add(problems, wanted->mark, "basic_auth: %s",
                     err == UVHTTP_ECONFIG   ? message
                     : err == UVHTTP_ENOTSUP ? "this build has no crypt(3), which passwords need"
                                             : uvhttp_strerror(err));
}

uvhttp_auth_t *uvh_site_auth_make(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                                  struct uvh_problems *problems)
{
    char message[512] = "";
    uvhttp_passwords_t *passwords;
    uvhttp_auth_t *auth = NULL;
    if (wanted->mark.line == 0)
        return NULL;
    const uvhttp_passwords_config_t config = {
        .users = wanted->users, .user_count = wanted->user_count, .file = wanted->file.text};
    int err = uvhttp_passwords_new(&passwords, &config, message, sizeof(message));
    if (err == 0) {
        err = uvhttp_server_own(server, free_passwords, passwords);
        if (err != 0)
            uvhttp_passwords_free(passwords);
    }
    if (err == 0) {
        const uvhttp_auth_config_t asking = {
            .realm = wanted->realm, .check_basic = uvhttp_passwords_check, .arg = passwords};
        err = uvhttp_auth_new(&auth, &asking, message, sizeof(message));
    }
    if (err == 0) {
        err = uvhttp_server_own(server, free_auth, auth);
        if (err == 0)
            return auth;
        uvhttp_auth_free(auth);
    }
    note(problems, wanted, err, message);
    return NULL;
}

/* A folder that is served, by its real path. */
struct folder {
    char *path;
    const struct uvh_text *root; /* as it stands in the file: the route's own or one of its more_roots */
    const struct uvh_setup_route *route;
    bool is_protected;
};

static size_t count_folders(const struct uvh_setup *setup)
{
    size_t count = 0;
    for (size_t i = 0; i < setup->site_count; i++) {
        for (size_t r = 0; r < setup->sites[i].route_count; r++)
            count += 1 + setup->sites[i].routes[r].more_roots.count;
    }
    return count;
}

/* Those of a route; what is not there is told elsewhere. */
static size_t list_route(const struct uvh_setup_route *route, bool is_protected, struct folder *folders)
{
    size_t count = 0;
    for (size_t i = 0; route->kind == UVH_ROUTE_STATIC && i <= route->more_roots.count; i++) {
        const struct uvh_text *root = i == 0 ? &route->root : &route->more_roots.items[i - 1];
        char *path = root->text == NULL ? NULL : realpath(root->text, NULL);
        if (path != NULL)
            folders[count++] = (struct folder){path, root, route, is_protected};
    }
    return count;
}

static size_t list_folders(const struct uvh_setup *setup, struct folder *folders)
{
    size_t count = 0;
    for (size_t i = 0; i < setup->site_count; i++) {
        const struct uvh_setup_site *site = &setup->sites[i];
        for (size_t r = 0; r < site->route_count; r++) {
            const struct uvh_setup_route *route = &site->routes[r];
            bool is_protected = site->auth.mark.line != 0 || route->auth.mark.line != 0;
            count += list_route(route, is_protected, folders + count);
        }
    }
    return count;
}

static bool lies_in(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    if (length > 0 && folder[length - 1] == '/')
        length--; /* the root of the file system */
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static void check_folder(const struct folder *folder, const struct folder *all, size_t count,
                         struct uvh_problems *problems)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].is_protected || !lies_in(folder->path, all[i].path))
            continue;
        uvh_problems_add(
            problems, folder->root->mark,
            "the folder '%s' is behind a password here, and lies in '%s', which the route in line %zu "
            "serves without one; move it out of there",
            folder->root->text, all[i].root->text, all[i].route->path.mark.line);
        return;
    }
}

void uvh_site_auth_check_folders(const struct uvh_setup *setup, struct uvh_problems *problems)
{
    struct folder *folders = calloc(count_folders(setup) + 1, sizeof(*folders));
    if (folders == NULL) {
        uvh_problems_add(problems, (struct uvh_mark){0, 0}, "out of memory");
        return;
    }
    size_t count = list_folders(setup, folders);
    for (size_t i = 0; i < count; i++) {
        if (folders[i].is_protected)
            check_folder(&folders[i], folders, count, problems);
    }
    for (size_t i = 0; i < count; i++)
        free(folders[i].path);
    free(folders);
}
