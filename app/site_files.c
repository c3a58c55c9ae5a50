/* See site_files.h. */
#include "site_files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alias.h"
#include "named_files.h"
#include "prewarm.h"
#include "site_auth.h"
#include "yaml_reader.h"

static const char *dir_fault(int err)
{
    /* The library returns libuv's codes, which are negated errno values. */
    switch (-err) {
    case ENOENT:
        return "does not exist";
    case ENOTDIR:
        return "is not a directory";
    case EACCES:
    case EPERM:
        return "cannot be read: no permission";
    default:
        return uvhttp_strerror(err);
    }
}

/* Notes a directory that cannot be opened or entered: it would give only 403 responses. */
static bool check_dir(struct uvh_problems *problems, const struct uvh_text *directory, int err)
{
    char inside[PATH_MAX];
    snprintf(inside, sizeof(inside), "%s/.", directory->text);
    if (err == 0 && access(inside, X_OK) != 0)
        err = -errno;
    if (err != 0)
        uvh_problems_add(problems, directory->mark,
                         err == -ENOTDIR ? "'%s' %s" : "the directory '%s' %s", directory->text,
                         dir_fault(err));
    return err == 0;
}

void uvh_site_files_check(const struct uvh_setup *setup, struct uvh_problems *problems)
{
    for (size_t i = 0; i < setup->site_count; i++) {
        const struct uvh_setup_site *site = &setup->sites[i];
        for (size_t r = 0; r < site->route_count; r++) {
            const struct uvh_setup_route *route = &site->routes[r];
            if (route->kind != UVH_ROUTE_STATIC)
                continue;
            if (route->root.text != NULL)
                check_dir(problems, &route->root, 0);
            for (size_t k = 0; k < route->more_roots.count; k++) {
                if (route->more_roots.items[k].text != NULL)
                    check_dir(problems, &route->more_roots.items[k], 0);
            }
        }
    }
}

/* The directories of a route, in `roots` (with space for one more entry); false with a problem
 * noted. */
static bool check_files(const struct uvh_setup_route *route, uvhttp_static_options_t *files,
                        const char **roots, struct uvh_problems *problems)
{
    uvhttp_error_t error;
    bool good = true;
    for (size_t i = 0; i < route->more_roots.count; i++) {
        roots[i] = route->more_roots.items[i].text;
        good = roots[i] != NULL && check_dir(problems, &route->more_roots.items[i], 0) && good;
    }
    files->root = route->root.text;
    files->more_roots = roots;
    if (uvhttp_static_check(files, &error) == 0)
        return good;
    uvh_problems_add(problems, route->root.mark, "%s", error.text);
    return false;
}

/* Checks that files named by a route's options exist. */
static bool check_named(const struct uvh_setup_route *route, struct uvh_problems *problems)
{
    char message[400];
    bool good = uvh_named_files_check_roots(route, problems);
    if (!uvh_named_files_check(route, message, sizeof(message))) {
        char option[32];
        snprintf(option, sizeof(option), "%.*s", (int)strcspn(message, ":"), message);
        uvh_problems_add(problems, uvh_yaml_mark_of(route->node, option, route->root.mark), "%s",
                         message);
        good = false;
    }
    if (!uvh_named_files_can_match(route)) {
        uvh_problems_add(
            problems, route->path.mark,
            "no file '%s' in the directory '%s'%s, so every request would get 404; for the "
            "directory and everything below it use '%s/'",
            route->path.text, route->root.text,
            route->more_roots.count > 0 ? " or in more_roots" : "", route->path.text);
        good = false;
    }
    return good;
}

uvhttp_static_t *uvh_site_files_open(uvhttp_server_t *server, const struct uvh_setup_site *site,
                                     const struct uvh_setup_route *route,
                                     struct uvh_problems *problems)
{
    uvhttp_static_options_t files = route->files;
    uvhttp_static_t *context;
    const char **roots = calloc(route->more_roots.count + 1, sizeof(*roots));
    const char **hidden = uvh_site_auth_hidden(site, route);
    files.hide = hidden;
    files.listed = roots == NULL || hidden == NULL ? NULL : uvh_alias_names(site, route);
    if (files.listed == NULL) {
        free(roots);
        uvh_site_auth_free_hidden(hidden);
        uvh_problems_add(problems, route->root.mark, "%s", uvhttp_strerror(UVHTTP_ENOMEM));
        return NULL;
    }
    bool good = check_files(route, &files, roots, problems);
    int err = good ? uvhttp_static_new(&context, &files, NULL) : 0;
    free((void *)files.listed);
    uvh_site_auth_free_hidden(hidden);
    free(roots);
    if (!good)
        return NULL;
    if (!check_dir(problems, &route->root, err) || !check_named(route, problems)) {
        uvhttp_static_free(context);
        return NULL;
    }
    for (size_t i = 0; i < route->prewarm.count; i++) {
        const char *fault = uvh_prewarm_load(context, route->prewarm.items[i].text);
        if (fault != NULL)
            uvh_problems_add(problems, route->prewarm.items[i].mark,
                             "'%s' cannot be loaded from '%s': %s", route->prewarm.items[i].text,
                             route->root.text, fault);
    }
    err = uvhttp_server_own(server, uvhttp_static_free, context);
    if (err == 0)
        return context;
    uvh_problems_add(problems, route->root.mark, "%s", uvhttp_strerror(err));
    uvhttp_static_free(context);
    return NULL;
}
