/* `uvhttp serve`: one server, one directory mounted at "/", and aliases. Guarantees that an error
 * message at start names the value and a solution. */
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uvhttp/metrics.h>
#include <uvhttp/status_page.h>

#include "alias.h"
#include "error_pages.h"
#include "inherited.h"
#include "listen.h"
#include "named_files.h"
#include "prewarm.h"
#include "redirect.h"
#include "responses.h"
#include "serve_site.h"
#include "setup_server.h"
#include "site_auth.h"
#include "site_clients.h"
#include "site_cors.h"
#include "site_text.h"
#include "tls_setup.h"

static int print_error(int err)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(err));
    return UVH_EXIT_FAILED;
}

/* Mounts a directory, or an alias's file, at its path; owned by the server. Returns an exit
 * code. */
static int open_route(uvhttp_server_t *server, const struct uvh_setup_site *site,
                      const struct uvh_setup_route *route, const char *option)
{
    uvhttp_static_options_t config = route->files;
    uvhttp_static_t *files;
    const char *root = route->root.text;
    char message[256];
    uvhttp_error_t error;
    char text[UVH_OPTION_TEXT_SIZE];
    if (uvhttp_static_check(&config, &error) == UVHTTP_ECONFIG) {
        fprintf(stderr, "uvhttp: %s\n", uvh_option_rename_keys(error.text, text));
        return UVH_EXIT_USAGE;
    }
    const char **names = uvh_alias_names(site, route);
    config.root = root;
    config.listed = names;
    int err = names == NULL ? UVHTTP_ENOMEM : uvhttp_static_new(&files, &config, NULL);
    free(names);
    if (err == 0) {
        err = uvhttp_server_own(server, uvhttp_static_free, files);
        if (err != 0)
            uvhttp_static_free(files);
    }
    if (err == 0 && access(root, X_OK) != 0)
        /* a directory with read but no search permission would give only 403 responses */
        err = -errno;
    if (err != 0)
        return uvh_serve_site_refuse_directory(option, root, err);
    struct uvh_setup_route named = *route;
    if (option != NULL) /* an alias need not have the last file */
        named.files.try_files = NULL;
    if (!uvh_named_files_check(&named, message, sizeof(message))) {
        fprintf(stderr, "uvhttp: %s\n", uvh_option_rename_keys(message, text));
        return UVH_EXIT_FAILED;
    }
    err = uvhttp_static_mount_context(server, route->path.text, files, &error);
    if (err != 0) {
        fprintf(stderr, "uvhttp: --alias: '%s' is not a valid path for '%s': %s\n",
                route->path.text, root, uvhttp_strerror(err));
        return err == UVHTTP_ENOMEM ? UVH_EXIT_FAILED : UVH_EXIT_USAGE;
    }
    for (size_t i = 0; i < route->prewarm.count; i++) {
        const char *fault = uvh_prewarm_load(files, route->prewarm.items[i].text);
        if (fault == NULL)
            continue;
        fprintf(stderr, "uvhttp: --prewarm: '%s' cannot be loaded from '%s': %s\n",
                route->prewarm.items[i].text, root, fault);
        return UVH_EXIT_FAILED;
    }
    return UVH_EXIT_OK;
}

/* Adds authentication for the requests of a middleware, if configured. */
static int ask_for_password(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                            const char *option, uvhttp_handler_cb handler)
{
    uvhttp_error_t error;
    uvhttp_auth_t *auth;
    if (wanted->mark.line == 0)
        return UVH_EXIT_OK;
    int err = uvh_site_auth_open(server, wanted, &auth, &error);
    if (err != 0) {
        fprintf(stderr, "uvhttp: --%s: %s\n", option, error.text);
        return UVH_EXIT_FAILED;
    }
    err = uvhttp_server_use(server, handler, auth);
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

/* Lets pages of other origins read all responses, if configured. */
static int allow_origins(uvhttp_server_t *server, const char *origins)
{
    uvhttp_error_t error;
    uvhttp_cors_t *cors;
    if (origins == NULL)
        return UVH_EXIT_OK;
    int err = uvh_site_cors_open(server, origins, &cors, &error);
    if (err == UVHTTP_ECONFIG) {
        fprintf(stderr, "uvhttp: --cors: '%s' is invalid; %s\n", error.value, error.reason);
        return UVH_EXIT_USAGE;
    }
    if (err == 0)
        err = uvhttp_server_use(server, uvhttp_cors_handle_request, cors);
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

/* Prints the first problem of an option. */
static int refuse(const char *option, const struct uvh_problems *problems)
{
    char text[UVH_OPTION_TEXT_SIZE];
    fprintf(stderr, "uvhttp: %s%s\n", option,
            uvh_option_rename_keys(problems->items[0].text, text));
    return UVH_EXIT_USAGE;
}

/* Adds the rules about clients, if configured, for all requests. */
static int limit_clients(uvhttp_server_t *server, const struct uvh_setup_clients *wanted)
{
    struct uvh_problems problems = {.count = 0};
    struct uvh_clients made;
    int err = 0;
    uvh_site_clients_make(server, wanted, NULL, &made, &problems);
    if (problems.count > 0)
        return refuse("", &problems);
    if (made.addresses != NULL)
        err = uvhttp_server_use(server, uvhttp_address_rules_handle_request, made.addresses);
    if (err == 0 && made.requests != NULL)
        err = uvhttp_server_use(server, uvhttp_rate_limit_handle_request, made.requests);
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

static int add_rewrite(uvhttp_server_t *server, const struct uvh_setup_rewrite *rewrite)
{
    struct uvh_problems problems = {.count = 0};
    if (!uvh_site_text_check(rewrite->to.text, UVH_MARK_NONE, &problems))
        return refuse("--rewrite: ", &problems);
    int err =
        uvhttp_router_rewrite(uvhttp_server_router(server), rewrite->path.text, rewrite->to.text);
    if (err == 0)
        return UVH_EXIT_OK;
    uvh_site_text_note(&problems, UVH_MARK_NONE, uvhttp_server_error(server));
    return refuse("--rewrite: ", &problems);
}

/* For any method; as the route of GET it conflicts with the same path of a directory, which would
 * be preferred. */
static int add_redirect(uvhttp_server_t *server, struct uvh_setup_route *route)
{
    struct uvh_problems problems = {.count = 0};
    const char *path = route->path.text;
    int err = uvhttp_server_route(server, "GET", path, uvh_responses_redirect, route);
    if (err == 0)
        err = uvhttp_server_route(server, NULL, path, uvh_responses_redirect, route);
    if (err != 0)
        uvh_problems_add(&problems, UVH_MARK_NONE, "%s%s", uvhttp_server_error(server)->text,
                         strcmp(uvhttp_server_error(server)->other, "/*") == 0
                             ? " (the served directory); a file for 'uvhttp run' can redirect all "
                               "paths"
                             : "");
    else if (uvh_site_text_make(server, route, path, &problems))
        return UVH_EXIT_OK;
    return refuse("--redirect: ", &problems);
}

/* Adds the metrics, if configured; the password applies to them. */
static int add_metrics(uvhttp_server_t *server, const char *path)
{
    if (path == NULL ||
        uvhttp_server_route(server, "GET", path, uvhttp_metrics_handle_request, server) == 0)
        return UVH_EXIT_OK;
    fprintf(stderr, "uvhttp: --metrics: %s\n", uvhttp_server_error(server)->text);
    return UVH_EXIT_USAGE;
}

/* Adds the status page, if configured; the password applies to it. */
static int add_status(uvhttp_server_t *server, const char *path)
{
    if (path == NULL || uvhttp_server_route_status(server, path) == 0)
        return UVH_EXIT_OK;
    fprintf(stderr, "uvhttp: --status: %s\n", uvhttp_server_error(server)->text);
    return UVH_EXIT_USAGE;
}

/* Those of the first directory apply to refusals of all paths. */
static int use_error_pages(uvhttp_server_t *server, const struct uvh_setup_route *route)
{
    struct uvh_problems problems = {.count = 0};
    void *pages;
    if (!uvh_error_pages_open(server, route, &pages, &problems))
        return refuse("", &problems);
    int err = pages == NULL ? 0 : uvhttp_server_use(server, uvh_error_pages_use, pages);
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

static int add_routes(uvhttp_server_t *server, struct uvh_serve_site *made)
{
    int code = UVH_EXIT_OK, err = 0;
    size_t aliases = 1 + made->alias_count;
    for (size_t i = 0; i < made->site.route_count && code == UVH_EXIT_OK; i++)
        code = i < aliases
                   ? open_route(server, &made->site, &made->routes[i], i == 0 ? NULL : "alias")
                   : add_redirect(server, &made->routes[i]);
    for (size_t i = 0; i < made->site.rewrite_count && code == UVH_EXIT_OK; i++)
        code = add_rewrite(server, &made->rewrites[i]);
    for (size_t i = 0; i < aliases && code == UVH_EXIT_OK && err == 0; i++)
        err = uvh_alias_redirect(uvhttp_server_router(server), &made->site, &made->routes[i], NULL,
                                 0);
    return err == 0 ? code : print_error(err);
}

/* CORS precedes authentication: a preflight request has no password. */
static int build(uvhttp_server_t *server, const struct uvh_own_servers *own,
                 struct uvh_problems *problems, void *arg)
{
    (void)own, (void)problems;
    struct uvh_serve_site *made = arg;
    int code = use_error_pages(server, &made->routes[0]);
    if (code == UVH_EXIT_OK)
        code = limit_clients(server, &made->site.clients);
    if (code == UVH_EXIT_OK)
        code = allow_origins(server, made->site.cors.text);
    if (code == UVH_EXIT_OK)
        code = ask_for_password(server, &made->site.auth, "auth",
                                made->upload_auth.mark.line == 0 ? uvhttp_auth_handle_request
                                                                 : uvh_site_auth_handle_other);
    if (code == UVH_EXIT_OK)
        code = ask_for_password(server, &made->upload_auth, "upload-auth",
                                uvh_site_auth_handle_upload);
    if (code == UVH_EXIT_OK)
        code = add_metrics(server, made->metrics);
    if (code == UVH_EXIT_OK)
        code = add_status(server, made->status);
    return code == UVH_EXIT_OK ? add_routes(server, made) : code;
}

/* Fewer keys than certificates are OK if the last certificates' files contain their keys; otherwise
 * this is the likely cause. */
static void hint_at_keys(const struct uvh_tls_options *given, struct uvh_problems *problems)
{
    if (given->keys.count == 0 || given->keys.count >= given->certificates.count)
        return;
    uvh_problems_add(
        problems, UVH_MARK_NONE,
        "--tls-key: %zu certificates and %zu keys are given; the n-th key belongs to the n-th "
        "certificate, and \"\" means that the key is in the certificate's file",
        given->certificates.count, given->keys.count);
}

static int run_server(const struct uvh_options *options, struct uvh_setup *setup,
                      struct uvh_serve_site *made)
{
    struct uvh_problems problems = {.file = "uvhttp"};
    const struct uvh_setup_server given = {.setup = setup,
                                           .options = options,
                                           .what = made->root,
                                           .test = options->print_config,
                                           .print = options->print_config,
                                           .build = build,
                                           .arg = made,
                                           .problems = &problems};
    int code = UVH_EXIT_USAGE;
    if (uvh_tls_check_addresses(&setup->tls, options, &problems) &&
        uvh_redirect_check(setup, options, &problems))
        code = uvh_setup_server_run(&given);
    if (code == UVH_EXIT_FAILED && problems.count > 0)
        hint_at_keys(&options->tls, &problems);
    uvh_problems_print(&problems, stderr);
    return code;
}

static int serve(const struct uvh_options *options, struct uvh_serve_site *made)
{
    struct uvh_setup setup = {.config = options->config,
                              .log_level = options->log_level,
                              .user = {.text = options->user},
                              .group = {.text = options->group},
                              .no_new_privs = options->no_new_privs,
                              .confine = {.mode = options->confine},
                              .tls = made->tls,
                              .access_log = {.path = {.text = made->access_log},
                                             .options = {.format = UVHTTP_ACCESS_COMBINED}},
                              .proxies = uvh_option_texts(&options->proxies, made->proxies),
                              .proxy_fields = options->proxy_fields,
                              .proxy_sources =
                                  uvh_option_texts(&options->proxy_sources, made->proxy_sources),
                              .proxy_others = options->proxy_others,
                              .metrics = {.path = {.text = options->metrics}},
                              .status = {.path = {.text = options->status}},
                              .health = options->health,
                              .pid_file = {.text = options->pid_file},
                              .sites = &made->site,
                              .site_count = 1};
    int code = uvh_listen_check(options, made->tls.wanted);
    return code == UVH_EXIT_OK ? run_server(options, &setup, made) : code;
}

int uvh_serve_run(struct uvh_options *options)
{
    struct uvh_serve_site made;
    static const struct uvh_setup no_own_servers;
    if (!uvh_inherited_replace(options, &no_own_servers, options->tls.redirect_http))
        return UVH_EXIT_FAILED;
    int code = uvh_serve_site_make(&made, options);
    if (code == UVH_EXIT_OK)
        code = serve(options, &made);
    uvh_serve_site_release(&made);
    return code;
}
