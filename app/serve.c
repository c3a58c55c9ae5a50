/* `uvhttp serve`: one server, one directory mounted at "/", and aliases. Guarantees that an error
 * message at start names the value and a solution. Called by main.c. */
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "banner.h"
#include "hangup.h"
#include "listen.h"
#include "logger.h"
#include "named_files.h"
#include "prewarm.h"
#include "print_config.h"
#include "serve_site.h"
#include "site_auth.h"

static int print_error(int err)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(err));
    return UVH_EXIT_FAILED;
}

static void close_files(void *files)
{
    uvhttp_static_free(files);
}

/* Mounts a directory, or an alias's file, at its path; owned by the server. Returns an exit
 * code. */
static int open_route(uvhttp_server_t *server, const struct uvh_setup_route *route,
                      const char *option)
{
    uvhttp_static_options_t config = route->files;
    uvhttp_static_t *files;
    const char *root = route->root.text;
    char message[256];
    uvhttp_error_t error;
    if (uvhttp_static_check(&config, &error) == UVHTTP_ECONFIG) {
        fprintf(stderr, "uvhttp: %s\n", error.text);
        return UVH_EXIT_USAGE;
    }
    config.root = root;
    int err = uvhttp_static_new(&files, &config, NULL);
    if (err == 0) {
        err = uvhttp_server_own(server, close_files, files);
        if (err != 0)
            uvhttp_static_free(files);
    }
    if (err == 0 && access(root, X_OK) != 0)
        /* a directory with read but no search permission would give only 403 responses */
        err = -errno;
    if (err != 0)
        return uvh_serve_site_refuse_directory(option, root, err);
    /* An alias need not have the error pages of the directory. */
    if (option == NULL && !uvh_named_files_check(route, message, sizeof(message))) {
        fprintf(stderr, "uvhttp: %s\n", message);
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

/* Adds authentication for all requests, if configured. */
static int ask_for_password(uvhttp_server_t *server, const struct uvh_setup_auth *wanted)
{
    uvhttp_error_t error;
    uvhttp_auth_t *auth;
    if (wanted->mark.line == 0)
        return UVH_EXIT_OK;
    int err = uvh_site_auth_open(server, wanted, &auth, &error);
    if (err != 0) {
        fprintf(stderr, "uvhttp: --auth: %s\n", error.text);
        return UVH_EXIT_FAILED;
    }
    err = uvhttp_server_use(server, uvhttp_auth_handle_request, auth);
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

/* "/m" leads to "/m/". */
static int add_slash(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    size_t size = path.length + query.length + sizeof("/?");
    char *location = uvhttp_request_allocate(request, size);
    (void)arg;
    if (location == NULL)
        return UVHTTP_ENOMEM;
    snprintf(location, size, "%.*s/%s%.*s", UVHTTP_SLICE_ARGS(path), query.length > 0 ? "?" : "",
             UVHTTP_SLICE_ARGS(query));
    return uvhttp_response_redirect(response, 301, location);
}

static bool has_route(const struct uvh_setup_site *site, const char *path, size_t length)
{
    for (size_t i = 0; i < site->route_count; i++) {
        const char *other = site->routes[i].path.text;
        if (strlen(other) == length && strncmp(other, path, length) == 0)
            return true;
    }
    return false;
}

/* An alias of a directory is also found without its slash, unless that is another alias. */
static int redirect_to_alias(uvhttp_server_t *server, const struct uvh_setup_site *site,
                             const char *path)
{
    size_t length = strlen(path) - 1;
    if (length == 0 || path[length] != '/' || has_route(site, path, length))
        return UVH_EXIT_OK;
    char *bare = strndup(path, length);
    int err =
        bare == NULL ? UVHTTP_ENOMEM : uvhttp_server_route(server, "GET", bare, add_slash, NULL);
    free(bare);
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

static int open_site(uvhttp_server_t *server, const struct uvh_setup_site *site)
{
    int code = ask_for_password(server, &site->auth);
    for (size_t i = 0; i < site->route_count && code == UVH_EXIT_OK; i++)
        code = open_route(server, &site->routes[i], i == 0 ? NULL : "alias");
    for (size_t i = 1; i < site->route_count && code == UVH_EXIT_OK; i++)
        code = redirect_to_alias(server, site, site->routes[i].path.text);
    return code;
}

/* Listens and runs until stopped. `config` is that of the server. */
static int listen_and_run(uvhttp_server_t *server, const struct uvh_options *options,
                          const struct uvh_serve_site *made, struct uvh_tls *tls,
                          const uvhttp_config_t *config)
{
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    struct uvh_redirect redirect = {.server = NULL};
    size_t count;
    if (!uvh_listen_all(server, options, tls->tls, addresses, &count))
        return UVH_EXIT_FAILED;
    int code = UVH_EXIT_FAILED;
    if (uvh_redirect_open(&redirect, &made->tls, addresses, count, server, config)) {
        int err = uvhttp_server_stop_on_signals(server);
        if (err == 0) {
            uvh_banner_print(options, made->site.routes[0].root.text, addresses, count,
                             &(struct uvh_banner_parts){.redirect = &redirect, .tls = tls});
            uvh_tls_warn(tls);
            err = uvhttp_server_run(server);
        }
        code = err == 0 ? UVH_EXIT_OK : print_error(err);
    }
    uvh_redirect_close(&redirect, server);
    return code;
}

static int serve(uvhttp_server_t *server, const struct uvh_options *options,
                 const struct uvh_serve_site *made, struct uvh_tls *tls,
                 const uvhttp_config_t *config)
{
    /* The request log precedes authentication, so that rejected requests are logged, too. */
    int err = options->log_level < UVHTTP_LOG_DEBUG
                  ? 0
                  : uvhttp_server_use(server, uvh_logger_request, NULL);
    if (err == 0)
        err = uvh_tls_add_hsts(server, &made->tls);
    if (err != 0)
        return print_error(err);
    int code = open_site(server, &made->site);
    return code == UVH_EXIT_OK ? listen_and_run(server, options, made, tls, config) : code;
}

/* SIGHUP reloads the certificates; if the terminal was closed it stops the server, whose output is
 * no longer visible. */
static int serve_with_signal(uvhttp_server_t *server, const struct uvh_options *options,
                             const struct uvh_serve_site *made, struct uvh_tls *tls,
                             const uvhttp_config_t *config)
{
    struct uvh_hangup hangup;
    int err = uvh_hangup_start(&hangup, server, NULL, tls, true);
    int code = err == 0 ? serve(server, options, made, tls, config) : print_error(err);
    uvh_hangup_stop(&hangup);
    return code;
}

/* Prints the equivalent file for `uvhttp run`. */
static int print_config(const struct uvh_options *options, struct uvh_serve_site *made)
{
    struct uvh_setup setup = {.config = options->config,
                              .log_level = options->log_level,
                              .tls = made->tls,
                              .sites = &made->site,
                              .site_count = 1};
    setup.listen_count = uvh_listen_order(options, made->tls.wanted, setup.listen);
    uvh_print_config(&setup, stdout);
    return UVH_EXIT_OK;
}

/* The certificates are freed after the server, whose listeners use them. */
static int serve_with(const struct uvh_options *options, const struct uvh_serve_site *made,
                      struct uvh_tls *tls)
{
    uvhttp_log_level_t level = options->log_level;
    uvhttp_config_t config = options->config;
    config.log = uvhttp_log_to_stderr;
    config.log_arg = &level;
    config.log_level = level;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, &config);
    if (server == NULL)
        return print_error(UVHTTP_ENOMEM);
    int code = serve_with_signal(server, options, made, tls, &config);
    if (code != UVH_EXIT_OK)
        /* the problems were printed; the message that the server is not running is suppressed */
        level = UVHTTP_LOG_ERROR;
    uvhttp_server_free(server);
    return code;
}

/* Fewer keys than certificates are OK if the last certificates' files contain their keys; otherwise
 * this is the likely cause. */
static void hint_at_keys(const struct uvh_tls_options *given, struct uvh_problems *problems)
{
    if (given->keys.count == 0 || given->keys.count >= given->certificates.count)
        return;
    uvh_problems_add(
        problems, (struct uvh_mark){0, 0},
        "--tls-key: %zu certificates and %zu keys are given; the n-th key belongs to the n-th "
        "certificate, and \"\" means that the key is in the certificate's file",
        given->certificates.count, given->keys.count);
}

static int print_or_serve(const struct uvh_options *options, struct uvh_serve_site *made)
{
    struct uvh_problems problems = {.file = "uvhttp"};
    struct uvh_tls tls;
    int code = uvh_listen_check(options, made->tls.wanted);
    if (code != UVH_EXIT_OK)
        return code;
    if (options->print_config)
        return print_config(options, made);
    if (!uvh_tls_check_addresses(&made->tls, options, &problems) ||
        !uvh_redirect_check(&made->tls, options, NULL, &problems)) {
        uvh_problems_print(&problems, stderr);
        return UVH_EXIT_USAGE;
    }
    if (uvh_tls_open(&tls, &made->tls, options, false, &problems)) {
        code = serve_with(options, made, &tls);
    } else {
        hint_at_keys(&options->tls, &problems);
        uvh_problems_print(&problems, stderr);
        code = UVH_EXIT_FAILED;
    }
    uvh_tls_close(&tls);
    return code;
}

int uvh_serve_run(const struct uvh_options *options)
{
    struct uvh_serve_site made;
    uvh_listen_raise_descriptor_limit();
    int code = uvh_serve_site_make(&made, options);
    if (code == UVH_EXIT_OK)
        code = print_or_serve(options, &made);
    uvh_serve_site_release(&made);
    return code;
}
