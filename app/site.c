/* Builds the sites of a setup into a server. Guarantees that every error is noted with its position
 * in the file: missing directories, invalid patterns, duplicate routes with the line of the first
 * one. Called by run.c. */
#include "site.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alias.h"
#include "named_files.h"
#include "prewarm.h"
#include "responses.h"
#include "site_auth.h"
#include "site_cors.h"
#include "user_files.h"

struct builder {
    uvhttp_server_t *server;
    uvhttp_server_t *metrics; /* at their own address; or NULL */
    const struct uvh_setup *setup;
    struct uvh_problems *problems;
};

void uvh_site_log_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    struct uvh_site_log *log = arg;
    if (!log->quiet)
        uvhttp_log_to_stderr(level, message, &log->level);
}

/* A directory's path with a final slash matches all paths below it. */
static const char *star_of(const struct uvh_setup_route *route)
{
    size_t length = strlen(route->path.text);
    return route->kind == UVH_ROUTE_STATIC && length > 0 && route->path.text[length - 1] == '/'
               ? "*"
               : "";
}

/* The position of the route that already exists: of the site, before `route`. */
static const struct uvh_mark *find_other(const struct builder *builder,
                                         const struct uvh_setup_site *site,
                                         const struct uvh_setup_route *route)
{
    const uvhttp_error_t *error = uvhttp_server_error(builder->server);
    for (const struct uvh_setup_route *other = site->routes; other < route; other++) {
        char pattern[sizeof(error->other)];
        snprintf(pattern, sizeof(pattern), "%s%s", other->path.text, star_of(other));
        if (strcmp(error->other, pattern) == 0)
            return &other->path.mark;
    }
    if (site->hosts.count == 0 && builder->setup->metrics.path.text != NULL &&
        builder->metrics == NULL)
        return &builder->setup->metrics.path.mark;
    return NULL;
}

static void note_refusal(const struct builder *builder, const struct uvh_setup_site *site,
                         const struct uvh_setup_route *route, int err, const char *method)
{
    const struct uvh_mark *other =
        err == UVHTTP_ECONFLICT ? find_other(builder, site, route) : NULL;
    char where[UVH_MARK_TEXT];
    if (other != NULL)
        uvh_problems_add(builder->problems, route->path.mark, "%s, in %s",
                         uvhttp_server_error(builder->server)->text,
                         uvh_mark_describe(other, &route->path.mark, where));
    else if (err == UVHTTP_EROUTE || err == UVHTTP_ECONFLICT)
        uvh_problems_add(builder->problems, route->path.mark, "%s",
                         uvhttp_server_error(builder->server)->text);
    else if (err == UVHTTP_EINVAL)
        uvh_problems_add(builder->problems, route->path.mark,
                         "'%s' is not a method; methods are upper case, such as GET", method);
    else
        uvh_problems_add(builder->problems, route->path.mark, "%s", uvhttp_strerror(err));
}

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

void uvh_site_check_directories(const struct uvh_setup *setup, struct uvh_problems *problems)
{
    for (size_t i = 0; i < setup->site_count; i++) {
        const struct uvh_setup_site *site = &setup->sites[i];
        for (size_t r = 0; r < site->route_count; r++) {
            const struct uvh_setup_route *route = &site->routes[r];
            if (route->root.text == NULL)
                continue;
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
static bool check_files(const struct builder *builder, const struct uvh_setup_route *route,
                        uvhttp_static_options_t *files, const char **roots)
{
    uvhttp_error_t error;
    bool good = true;
    for (size_t i = 0; i < route->more_roots.count; i++) {
        roots[i] = route->more_roots.items[i].text;
        good = roots[i] != NULL && check_dir(builder->problems, &route->more_roots.items[i], 0) &&
               good;
    }
    files->root = route->root.text;
    files->more_roots = roots;
    if (uvhttp_static_check(files, &error) == 0)
        return good;
    uvh_problems_add(builder->problems, route->root.mark, "%s", error.text);
    return false;
}

/* Checks that files named by a route's options exist. */
static bool check_named(const struct builder *builder, const struct uvh_setup_route *route)
{
    char message[400];
    bool good = uvh_named_files_check_roots(route, builder->problems);
    if (!uvh_named_files_check(route, message, sizeof(message))) {
        uvh_problems_add(builder->problems, route->root.mark, "%s", message);
        good = false;
    }
    if (!uvh_named_files_can_match(route)) {
        uvh_problems_add(
            builder->problems, route->path.mark,
            "no file '%s' in the directory '%s'%s, so every request would get 404; for the "
            "directory and everything below it use '%s/'",
            route->path.text, route->root.text,
            route->more_roots.count > 0 ? " or in more_roots" : "", route->path.text);
        good = false;
    }
    return good;
}

/* The directory of a route, owned by the server; NULL with a problem noted. */
static uvhttp_static_t *open_dir(const struct builder *builder, const struct uvh_setup_site *site,
                                 const struct uvh_setup_route *route)
{
    uvhttp_static_options_t files = route->files;
    uvhttp_static_t *context;
    const char **roots = calloc(route->more_roots.count + 1, sizeof(*roots));
    files.listed = roots == NULL ? NULL : uvh_alias_names(site, route);
    if (files.listed == NULL) {
        free(roots);
        uvh_problems_add(builder->problems, route->root.mark, "%s", uvhttp_strerror(UVHTTP_ENOMEM));
        return NULL;
    }
    bool good = check_files(builder, route, &files, roots);
    int err = good ? uvhttp_static_new(&context, &files, NULL) : 0;
    free((void *)files.listed);
    free(roots);
    if (!good)
        return NULL;
    if (!check_dir(builder->problems, &route->root, err) || !check_named(builder, route)) {
        uvhttp_static_free(context);
        return NULL;
    }
    for (size_t i = 0; i < route->prewarm.count; i++) {
        const char *fault = uvh_prewarm_load(context, route->prewarm.items[i].text);
        if (fault != NULL)
            uvh_problems_add(builder->problems, route->prewarm.items[i].mark,
                             "'%s' cannot be loaded from '%s': %s", route->prewarm.items[i].text,
                             route->root.text, fault);
    }
    err = uvhttp_server_own(builder->server, uvhttp_static_free, context);
    if (err == 0)
        return context;
    uvh_problems_add(builder->problems, route->root.mark, "%s", uvhttp_strerror(err));
    uvhttp_static_free(context);
    return NULL;
}

/* Adds PUT and POST for a directory, whose GET route is `given`. False if one was rejected. */
static bool add_uploads(const struct builder *builder, uvhttp_router_t *router,
                        const struct uvh_setup_site *site, const struct uvh_setup_route *route,
                        uvhttp_route_t given)
{
    static const char *const methods[] = {"PUT", "POST"};
    given.handler = uvhttp_static_handle_upload;
    given.flags = UVHTTP_ROUTE_STREAM;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        given.method = methods[i];
        int err = uvhttp_router_add(router, &given);
        if (err != 0) {
            note_refusal(builder, site, route, err, given.method);
            return false;
        }
    }
    return true;
}

/* Adds a route with each of its methods to a router. False if one was rejected. */
static bool add_route(const struct builder *builder, uvhttp_router_t *router,
                      const struct uvh_setup_site *site, struct uvh_setup_route *route,
                      uvhttp_static_t *context, uvhttp_cors_t *cors, uvhttp_auth_t *auth)
{
    static const uvhttp_handler_cb handlers[] = {
        [UVH_ROUTE_STATIC] = uvhttp_static_handle_request,
        [UVH_ROUTE_REDIRECT] = uvh_responses_redirect,
        [UVH_ROUTE_RESPOND] = uvh_responses_respond,
    };
    uvhttp_middleware_t middleware[3];
    size_t middleware_count = 0;
    char pattern[PATH_MAX];
    if (strlen(route->path.text) + 2 > sizeof(pattern)) {
        uvh_problems_add(builder->problems, route->path.mark,
                         "this path is longer than any request target");
        return false;
    }
    snprintf(pattern, sizeof(pattern), "%s%s", route->path.text, star_of(route));
    if (route->headers.count > 0)
        middleware[middleware_count++] =
            (uvhttp_middleware_t){uvh_responses_add_fields, &route->headers};
    if (cors != NULL) /* before authentication: a preflight has no password */
        middleware[middleware_count++] = (uvhttp_middleware_t){uvhttp_cors_handle_request, cors};
    if (auth != NULL)
        middleware[middleware_count++] = (uvhttp_middleware_t){uvhttp_auth_handle_request, auth};
    uvhttp_route_t given = {
        .pattern = pattern,
        .handler = handlers[route->kind],
        .arg = route->kind == UVH_ROUTE_STATIC ? (void *)context : route,
        .middleware = middleware_count > 0 ? middleware : NULL,
        .middleware_count = middleware_count,
    };
    size_t count = route->methods.count > 0 ? route->methods.count : 1;
    for (size_t i = 0; i < count; i++) {
        given.method = route->methods.count > 0            ? route->methods.items[i].text
                       : route->kind == UVH_ROUTE_REDIRECT ? NULL
                                                           : "GET";
        int err = uvhttp_router_add(router, &given);
        if (err != 0) {
            note_refusal(builder, site, route, err, given.method);
            return false;
        }
    }
    return route->kind != UVH_ROUTE_STATIC || !route->files.uploads ||
           add_uploads(builder, router, site, route, given);
}

/* Notes the error of the last set-up call on `server`. */
static void note(const struct builder *builder, const uvhttp_server_t *server, struct uvh_mark mark,
                 int err)
{
    if (err != 0)
        uvh_problems_add(builder->problems, mark, "%s", uvhttp_server_error(server)->text);
}

/* The routers of a site: those of its hosts, or the server's own. NULL if out of memory. */
static uvhttp_router_t **find_routers(const struct builder *builder,
                                      const struct uvh_setup_site *site)
{
    uvhttp_router_t *own = uvhttp_server_router(builder->server);
    size_t count = site->hosts.count > 0 ? site->hosts.count : 1;
    uvhttp_router_t **routers = calloc(count, sizeof(uvhttp_router_t *));
    if (routers == NULL)
        uvh_problems_add(builder->problems, site->mark, "out of memory");
    else if (site->hosts.count == 0)
        routers[0] = own;
    else
        for (size_t i = 0; i < count; i++)
            note(builder, builder->server, site->hosts.items[i].mark,
                 uvhttp_router_host(own, site->hosts.items[i].text, &routers[i]));
    return routers;
}

/* The metrics route follows the rules of the site that has it: `auth` is that of its routes, or
 * NULL. */
static void add_metrics(const struct builder *builder, uvhttp_server_t *server, uvhttp_auth_t *auth)
{
    const struct uvh_text *path = &builder->setup->metrics.path;
    const uvhttp_middleware_t middleware = {uvhttp_auth_handle_request, auth};
    const uvhttp_route_t route = {
        .method = "GET",
        .pattern = path->text,
        .handler = uvhttp_metrics_handle_request,
        .arg = builder->server,
        .middleware = auth == NULL ? NULL : &middleware,
        .middleware_count = auth == NULL ? 0 : 1,
    };
    if (path->text != NULL)
        note(builder, server, path->mark, uvhttp_router_add(uvhttp_server_router(server), &route));
}

static bool has_rest(const struct uvh_setup *setup)
{
    for (size_t i = 0; i < setup->site_count; i++) {
        if (setup->sites[i].hosts.count == 0)
            return true;
    }
    return false;
}

static void add_site(const struct builder *builder, struct uvh_setup_site *site,
                     uvhttp_router_t *const *routers)
{
    bool named = site->hosts.count > 0;
    size_t count = named ? site->hosts.count : 1;
    for (size_t i = 0; i < count; i++) {
        if (routers[i] == NULL)
            continue;
        note(builder, builder->server, site->mark,
             uvhttp_router_set_slash(routers[i], site->slash));
        if (named)
            note(builder, builder->server, site->mark,
                 uvhttp_router_use(routers[i], uvh_responses_mark_named, site));
        if (site->headers.count > 0)
            note(builder, builder->server, site->mark,
                 uvhttp_router_use(routers[i],
                                   named ? uvh_responses_add_fields
                                         : uvh_responses_add_default_fields,
                                   &site->headers));
    }
    size_t before = builder->problems->count;
    uvhttp_auth_t *site_auth = uvh_site_auth_make(builder->server, &site->auth, builder->problems);
    uvhttp_cors_t *cors = uvh_site_cors_make(builder->server, &site->cors, builder->problems);
    /* Before the site's routes, so that the library rejects a route with the same path. */
    if (!named && builder->metrics == NULL && builder->problems->count == before)
        add_metrics(builder, builder->server, site_auth);
    for (size_t r = 0; r < site->route_count; r++) {
        struct uvh_setup_route *route = &site->routes[r];
        /* Added to each route and not to the router: the default site's router passes its
         * middleware on to all hosts. */
        uvhttp_auth_t *auth =
            route->auth.mark.line == 0
                ? site_auth
                : uvh_site_auth_make(builder->server, &route->auth, builder->problems);
        uvhttp_static_t *context =
            route->kind == UVH_ROUTE_STATIC ? open_dir(builder, site, route) : NULL;
        if (route->kind == UVH_ROUTE_STATIC && context == NULL)
            continue;
        /* An error for one host would occur for all of them. */
        for (size_t i = 0; i < count; i++) {
            if (routers[i] != NULL &&
                !add_route(builder, routers[i], site, route, context, cors, auth))
                break;
        }
    }
    for (size_t r = 0; r < site->route_count; r++) {
        for (size_t i = 0; i < count; i++) {
            if (routers[i] != NULL)
                note(builder, builder->server, site->routes[r].path.mark,
                     uvh_alias_redirect(routers[i], site, &site->routes[r]));
        }
    }
}

struct named_router {
    uvhttp_router_t *router;
    const struct uvh_text *host;
};

static int compare_routers(const void *one, const void *other)
{
    const struct named_router *a = one, *b = other;
    if (a->router != b->router)
        return (uintptr_t)a->router < (uintptr_t)b->router ? -1 : 1;
    return uvh_mark_compare(&a->host->mark, &b->host->mark);
}

/* Notes a host in two sites, or twice in one: the library has one router for it. */
static void check_hosts(const struct builder *builder, uvhttp_router_t **const *routers)
{
    size_t total = 0, count = 0;
    for (size_t i = 0; i < builder->setup->site_count; i++)
        total += builder->setup->sites[i].hosts.count;
    struct named_router *all = calloc(total + 1, sizeof(*all));
    if (all == NULL) {
        uvh_problems_add(builder->problems, UVH_MARK_NONE, "out of memory");
        return;
    }
    for (size_t i = 0; i < builder->setup->site_count; i++) {
        const struct uvh_setup_site *site = &builder->setup->sites[i];
        for (size_t k = 0; k < site->hosts.count; k++) {
            if (routers[i][k] != NULL)
                all[count++] = (struct named_router){routers[i][k], &site->hosts.items[k]};
        }
    }
    qsort(all, count, sizeof(*all), compare_routers);
    for (size_t i = 1; i < count; i++) {
        const struct uvh_text *host = all[i].host, *other = all[i - 1].host;
        char where[UVH_MARK_TEXT];
        if (all[i].router == all[i - 1].router)
            uvh_problems_add(builder->problems, host->mark,
                             "duplicate host '%s'; %s has it as '%s'", host->text,
                             uvh_mark_describe(&other->mark, &host->mark, where), other->text);
    }
    free(all);
}

static void add_sites(const struct builder *builder)
{
    const struct uvh_setup *setup = builder->setup;
    size_t before = builder->problems->count;
    uvhttp_router_t ***routers = calloc(setup->site_count + 1, sizeof(uvhttp_router_t **));
    if (routers == NULL) {
        uvh_problems_add(builder->problems, UVH_MARK_NONE, "out of memory");
        return;
    }
    for (size_t i = 0; i < setup->site_count; i++)
        routers[i] = find_routers(builder, &setup->sites[i]);
    for (size_t i = 0; i < setup->site_count && routers[i] != NULL; i++) {
        if (i + 1 == setup->site_count)
            check_hosts(builder, routers);
    }
    /* With a host in two sites, every route would be reported as a duplicate. */
    bool added = builder->problems->count == before;
    for (size_t i = 0; i < setup->site_count && added; i++)
        add_site(builder, &setup->sites[i], routers[i]);
    if (!added)
        uvh_site_check_directories(setup, builder->problems);
    for (size_t i = 0; i < setup->site_count; i++)
        free(routers[i]);
    free(routers);
}

/* Checks that the access log can be opened, without creating its file. */
static void check_access_log(const struct builder *builder)
{
    const struct uvh_text *path = &builder->setup->access_path;
    uvhttp_access_log_options_t check = builder->setup->access_log;
    uvhttp_access_log_t *log;
    check.path = "/dev/null";
    if (uvhttp_access_log_new(&log, &check, NULL) == UVHTTP_EINVAL)
        uvh_problems_add(builder->problems, path->mark,
                         "the pattern of the access log has an unknown name or an open brace, or "
                         "is too long; write a brace as {{");
    uvhttp_access_log_free(log);
    int err = strcmp(path->text, "-") == 0 ? 0 : uvh_user_files_check_log(path->text);
    if (err != 0)
        uvh_problems_add(builder->problems, path->mark, "the access log '%s' cannot be written: %s",
                         path->text, uvhttp_strerror(err));
}

bool uvh_site_build(uvhttp_server_t *server, uvhttp_server_t *metrics,
                    const struct uvh_setup *setup, struct uvh_problems *problems)
{
    size_t before = problems->count;
    const struct builder builder = {server, metrics, setup, problems};
    /* The default site, if there is one, adds them with its own rules. */
    if (metrics != NULL || !has_rest(setup))
        add_metrics(&builder, metrics != NULL ? metrics : server, NULL);
    add_sites(&builder);
    uvh_site_auth_check_directories(setup, problems);
    if (setup->access_path.text != NULL)
        check_access_log(&builder);
    return problems->count == before;
}
