/* Builds the sites of a setup into a server. Guarantees that every error is noted with its position
 * in the file: missing directories, invalid patterns, duplicate routes with the line of the first
 * one. */
#include "site.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "access_logs.h"
#include "alias.h"
#include "error_pages.h"
#include "responses.h"
#include "site_auth.h"
#include "site_clients.h"
#include "site_cors.h"
#include "site_files.h"
#include "site_text.h"

struct builder {
    uvhttp_server_t *server;
    const struct uvh_own_servers *own;
    const struct uvh_setup *setup;
    struct uvh_problems *problems;
};

static _Thread_local bool is_quiet;

void uvh_site_log_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    struct uvh_site_log *log = arg;
    if (!is_quiet)
        uvhttp_log_to_stderr(level, message, &log->level);
}

void uvh_site_log_set_quiet(bool quiet)
{
    is_quiet = quiet;
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
    const struct uvh_setup_metrics *const own[] = {&builder->setup->metrics,
                                                   &builder->setup->status};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && site->hosts.count == 0; i++) {
        if (own[i]->path.text != NULL && !own[i]->has_listen &&
            strcmp(error->other, own[i]->path.text) == 0)
            return &own[i]->path.mark;
    }
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

/* A site while its routes are added. */
struct site_build {
    struct uvh_setup_site *site;
    uvhttp_router_t *const *routers; /* of its hosts; NULL for one that was rejected */
    size_t router_count;
    uvhttp_cors_t *cors; /* or NULL */
    uvhttp_auth_t *auth; /* or NULL */
};

enum { CHAIN_MAX = 7 };

/* The middleware of a route, in the order in which it runs. */
struct chain {
    uvhttp_middleware_t items[CHAIN_MAX];
    size_t count;
};

static void push(struct chain *chain, uvhttp_handler_cb handler, void *arg)
{
    if (arg == NULL)
        return;
    assert(chain->count < CHAIN_MAX);
    chain->items[chain->count++] = (uvhttp_middleware_t){handler, arg};
}

static void set_chain(uvhttp_route_t *route, const struct chain *chain)
{
    route->middleware = chain->count > 0 ? chain->items : NULL;
    route->middleware_count = chain->count;
}

static void push_clients(struct chain *chain, const struct uvh_clients *clients)
{
    push(chain, uvhttp_address_rules_handle_request, clients->addresses);
    push(chain, uvhttp_rate_limit_handle_request, clients->requests);
}

/* Adds a route with one method to each router. False if it was rejected, with a problem noted: an
 * error for one host would occur for all of them. */
static bool add_method(const struct builder *builder, const struct site_build *build,
                       const struct uvh_setup_route *route, const uvhttp_route_t *given)
{
    for (size_t i = 0; i < build->router_count; i++) {
        int err = build->routers[i] == NULL ? 0 : uvhttp_router_add(build->routers[i], given);
        if (err != 0) {
            note_refusal(builder, build->site, route, err, given->method);
            return false;
        }
    }
    return true;
}

/* Adds PUT and POST for a directory, whose GET route is `given`, if it has uploads. */
static bool add_uploads(const struct builder *builder, const struct site_build *build,
                        const struct uvh_setup_route *route, uvhttp_route_t given)
{
    if (route->kind != UVH_ROUTE_STATIC || !route->files.uploads)
        return true;
    given.handler = uvhttp_static_handle_upload;
    given.flags = UVHTTP_ROUTE_STREAM;
    given.method = "PUT";
    if (!add_method(builder, build, route, &given))
        return false;
    given.method = "POST";
    return add_method(builder, build, route, &given);
}

/* Adds a route with each of its methods. */
static bool add_methods(const struct builder *builder, const struct site_build *build,
                        const struct uvh_setup_route *route, uvhttp_route_t given)
{
    const char *usual = route->kind == UVH_ROUTE_REDIRECT ? NULL : "GET";
    size_t count = route->methods.count > 0 ? route->methods.count : 1;
    for (size_t i = 0; i < count; i++) {
        given.method = route->methods.count > 0 ? route->methods.items[i].text : usual;
        if (!add_method(builder, build, route, &given))
            return false;
    }
    return true;
}

/* Rules are added to each route and not to the router: the default site's router passes its
 * middleware on to all hosts. */
static void add_route(const struct builder *builder, const struct site_build *build,
                      struct uvh_setup_route *route)
{
    static const uvhttp_handler_cb handlers[] = {
        [UVH_ROUTE_STATIC] = uvhttp_static_handle_request,
        [UVH_ROUTE_REDIRECT] = uvh_responses_redirect,
        [UVH_ROUTE_RESPOND] = uvh_responses_respond,
    };
    struct uvh_problems *problems = builder->problems;
    char pattern[PATH_MAX];
    struct chain chain = {.count = 0};
    uvhttp_auth_t *auth =
        route->auth.mark.line == 0
            ? build->auth
            : uvh_site_auth_make(builder->server, &route->auth, "basic_auth", problems);
    uvhttp_cors_t *cors = route->cors.text == NULL
                              ? build->cors
                              : uvh_site_cors_make(builder->server, &route->cors, problems);
    struct uvh_clients clients;
    void *arg = route, *pages;
    uvh_site_clients_make(builder->server, &route->clients, build->site, &clients, problems);
    if (route->kind == UVH_ROUTE_STATIC)
        arg = uvh_site_files_open(builder->server, build->site, route, problems);
    if (arg == NULL || !uvh_error_pages_open(builder->server, route, &pages, problems))
        return;
    if (strlen(route->path.text) + 2 > sizeof(pattern)) {
        uvh_problems_add(problems, route->path.mark, "this path is longer than any request target");
        return;
    }
    snprintf(pattern, sizeof(pattern), "%s%s", route->path.text, star_of(route));
    push(&chain, uvh_access_logs_skip, route->no_log ? route : NULL);
    push(&chain, uvh_error_pages_use, pages);
    push(&chain, uvh_responses_add_fields, route->headers.count > 0 ? &route->headers : NULL);
    push_clients(&chain, &clients);
    push(&chain, uvhttp_cors_handle_request, cors); /* a preflight has no password */
    push(&chain, uvhttp_auth_handle_request, auth);
    uvhttp_route_t given = {.pattern = pattern, .handler = handlers[route->kind], .arg = arg};
    set_chain(&given, &chain);
    if (!add_methods(builder, build, route, given))
        return;
    if (route->upload_auth.mark.line != 0) {
        chain.count -= auth != NULL;
        push(&chain, uvhttp_auth_handle_request,
             uvh_site_auth_make(builder->server, &route->upload_auth, "upload_auth", problems));
        set_chain(&given, &chain);
    }
    if (add_uploads(builder, build, route, given))
        uvh_site_text_make(builder->server, route, pattern, problems);
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

/* The routes of metrics and status page have the rules of the site that has them: `chain` is the
 * middleware for them. */
static void add_own_route(const struct builder *builder, uvhttp_server_t *server,
                          const struct chain *chain, const struct uvh_text *path,
                          uvhttp_handler_cb handler, void *arg)
{
    const uvhttp_route_t route = {
        .method = "GET",
        .pattern = path->text,
        .handler = handler,
        .arg = arg,
        .middleware = chain->count == 0 ? NULL : chain->items,
        .middleware_count = chain->count,
    };
    note(builder, server, path->mark, uvhttp_router_add(uvhttp_server_router(server), &route));
}

static void add_metrics(const struct builder *builder, uvhttp_server_t *server,
                        const struct chain *chain)
{
    const struct uvh_text *path = &builder->setup->metrics.path;
    if (path->text != NULL)
        add_own_route(builder, server, chain, path, uvhttp_metrics_handle_request, builder->server);
}

static void add_status(const struct builder *builder, uvhttp_server_t *server,
                       const struct chain *chain)
{
    const struct uvh_text *path = &builder->setup->status.path;
    uvhttp_status_page_t **page = builder->own->page;
    if (path->text == NULL)
        return;
    int err = *page == NULL ? uvhttp_status_page_new(page, builder->server) : 0;
    if (err != 0)
        uvh_problems_add(builder->problems, path->mark, "%s", uvhttp_strerror(err));
    else
        add_own_route(builder, server, chain, path, uvhttp_status_page_handle_request, *page);
}

static bool has_rest(const struct uvh_setup *setup)
{
    for (size_t i = 0; i < setup->site_count; i++) {
        if (setup->sites[i].hosts.count == 0)
            return true;
    }
    return false;
}

/* An error for one host would occur for all of them. */
static void add_rewrite(const struct builder *builder, const struct uvh_setup_rewrite *rewrite,
                        uvhttp_router_t *const *routers, size_t count)
{
    int err = 0;
    if (!uvh_site_text_check(rewrite->to.text, rewrite->to.mark, builder->problems))
        return;
    for (size_t i = 0; i < count && err == 0; i++)
        err = routers[i] == NULL
                  ? 0
                  : uvhttp_router_rewrite(routers[i], rewrite->path.text, rewrite->to.text);
    if (err == UVHTTP_ECONFIG)
        uvh_site_text_note(builder->problems, rewrite->to.mark,
                           uvhttp_server_error(builder->server));
    else
        note(builder, builder->server, rewrite->path.mark, err);
}

/* What applies to all requests of a site, with a route or without. */
static void set_up_routers(const struct builder *builder, struct uvh_setup_site *site,
                           const struct site_build *build)
{
    bool has_rules = site->made.addresses != NULL || site->made.requests != NULL;
    for (size_t i = 0; i < build->router_count; i++) {
        uvhttp_router_t *router = build->routers[i];
        if (router == NULL)
            continue;
        int err = uvhttp_router_set_slash(router, site->slash);
        uvhttp_router_set_data(router, site);
        if (err == 0 && site->headers.count > 0)
            err = uvhttp_router_use(router, uvh_responses_add_site_fields, site);
        if (err == 0 && has_rules)
            err = uvhttp_router_use(router, uvh_site_clients_handle_unrouted, site);
        note(builder, builder->server, site->mark, err);
    }
}

/* After all routes were added; see alias.h. */
static void redirect_to_directories(const struct builder *builder, const struct site_build *build)
{
    struct chain chain = {.count = 0};
    push_clients(&chain, &build->site->made);
    for (size_t r = 0; r < build->site->route_count; r++) {
        const struct uvh_setup_route *route = &build->site->routes[r];
        for (size_t i = 0; i < build->router_count; i++) {
            if (build->routers[i] != NULL)
                note(builder, builder->server, route->path.mark,
                     uvh_alias_redirect(build->routers[i], build->site, route, chain.items,
                                        chain.count));
        }
    }
}

static void add_site(const struct builder *builder, struct uvh_setup_site *site,
                     uvhttp_router_t *const *routers)
{
    size_t before = builder->problems->count;
    struct chain chain = {.count = 0};
    uvh_site_text_make_fields(builder->server, &site->headers, NULL, builder->problems);
    uvh_site_clients_make(builder->server, &site->clients, NULL, &site->made, builder->problems);
    const struct site_build build = {
        .site = site,
        .routers = routers,
        .router_count = site->hosts.count > 0 ? site->hosts.count : 1,
        .auth = uvh_site_auth_make(builder->server, &site->auth, "basic_auth", builder->problems),
        .cors = uvh_site_cors_make(builder->server, &site->cors, builder->problems)};
    set_up_routers(builder, site, &build);
    push_clients(&chain, &site->made);
    push(&chain, uvhttp_auth_handle_request, build.auth);
    /* Before the site's routes, so that the library rejects a route with the same path. */
    bool added = site->hosts.count == 0 && builder->problems->count == before;
    if (added && !builder->setup->metrics.has_listen)
        add_metrics(builder, builder->server, &chain);
    if (added && !builder->setup->status.has_listen)
        add_status(builder, builder->server, &chain);
    for (size_t r = 0; r < site->route_count; r++)
        add_route(builder, &build, &site->routes[r]);
    for (size_t r = 0; r < site->rewrite_count; r++)
        add_rewrite(builder, &site->rewrites[r], routers, build.router_count);
    redirect_to_directories(builder, &build);
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
        uvh_site_files_check(setup, builder->problems);
    for (size_t i = 0; i < setup->site_count; i++)
        free(routers[i]);
    free(routers);
}

bool uvh_site_build(uvhttp_server_t *server, const struct uvh_own_servers *own,
                    const struct uvh_setup *setup, struct uvh_problems *problems)
{
    size_t before = problems->count;
    const struct builder builder = {server, own, setup, problems};
    const struct chain none = {.count = 0};
    /* The default site, if there is one, adds them with its own rules. A reload cannot add a server
     * for them. */
    uvhttp_server_t *other = has_rest(setup) ? NULL : server;
    uvhttp_server_t *metrics = setup->metrics.has_listen ? own->metrics : other;
    uvhttp_server_t *status = setup->status.has_listen ? own->status : other;
    if (metrics != NULL)
        add_metrics(&builder, metrics, &none);
    if (status != NULL)
        add_status(&builder, status, &none);
    add_sites(&builder);
    uvh_site_auth_check_directories(setup, problems);
    return problems->count == before;
}
