/* See setup_server.h. Guarantees that a setup with errors serves nothing, and that all errors are
 * noted. Called by serve.c and run.c. */
#include "setup_server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <uvhttp/health.h>

#include "banner.h"
#include "error_pages.h"
#include "hangup.h"
#include "listen.h"
#include "logger.h"
#include "metrics.h"
#include "print_config.h"
#include "proxies.h"
#include "route_loop.h"
#include "run_as.h"
#include "site.h"
#include "site_clients.h"
#include "user_files.h"

struct running {
    const struct uvh_setup_server *given;
    uvhttp_config_t config; /* of the server */
    struct uvh_site_log log;
    struct uvh_metrics metrics;
    struct uvh_redirect redirect;
    struct uvh_tls tls;
    struct uvh_run_as as;
    struct uvh_access_logs logs;
};

static int fail(int err)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(err));
    return UVH_EXIT_FAILED;
}

static void print_warning(const char *text, void *arg)
{
    const struct running *running = arg;
    fprintf(stderr, "%s: warning: %s\n", running->given->what, text);
}

static void log_warning(const char *text, void *arg)
{
    struct running *running = arg;
    uvhttp_log_to_stderr(UVHTTP_LOG_WARNING, text, &running->log.level);
}

/* Without a user: warns if the server would have the rights of root. */
static bool change_user(struct running *running)
{
    const struct uvh_setup_server *given = running->given;
    if (!uvh_run_as_change(&running->as))
        return false;
    if (given->setup->user.text == NULL && geteuid() == 0)
        log_warning(given->options->from_file
                        ? "the server runs as root; set 'user', which may be root"
                        : "the server runs as root; set --user, which may be root",
                    running);
    if (running->as.change)
        uvh_user_files_check(given->setup, &running->tls, log_warning, running);
    return true;
}

static int listen_and_run(struct running *running, uvhttp_server_t *server)
{
    const struct uvh_setup_server *given = running->given;
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count;
    if (!uvh_listen_all(server, given->options, running->tls.tls, addresses, &count) ||
        !uvh_metrics_listen(&running->metrics) ||
        !uvh_redirect_open(&running->redirect, given->setup, addresses, count, server,
                           &running->config))
        return UVH_EXIT_FAILED;
    if (!change_user(running))
        return UVH_EXIT_FAILED;
    int err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uvh_banner_print(
            given->options, given->what, addresses, count,
            &(struct uvh_banner_parts){&running->metrics, &running->redirect, &running->tls});
        uvh_tls_warn(&running->tls);
        err = uvhttp_server_run(server);
    }
    return err == 0 ? UVH_EXIT_OK : fail(err);
}

/* Runs until stopped; see hangup.h for other signals. */
static int run_server(struct running *running, uvhttp_server_t *server)
{
    struct uvh_hangup hangup;
    bool with_terminal = !running->given->options->from_file;
    int err = uvh_hangup_start(&hangup, server, &running->logs, &running->tls, with_terminal);
    int code = err == 0 ? listen_and_run(running, server) : fail(err);
    uvh_hangup_stop(&hangup);
    return code;
}

/* Root can check the files as the user; others would have to be that user. */
static int report_check(struct running *running)
{
    const struct uvh_setup_server *given = running->given;
    uvh_tls_print(&running->tls, given->what, stdout);
    if (!uvh_run_as_change(&running->as))
        return UVH_EXIT_FAILED;
    if (running->as.user != NULL && geteuid() == running->as.uid)
        uvh_user_files_check(given->setup, &running->tls, print_warning, running);
    uvh_listen_check_limit(&running->config, print_warning, running);
    printf("%s: configuration OK\n", given->what);
    return UVH_EXIT_OK;
}

/* Prints the addresses with their ports. */
static int print_setup(const struct uvh_setup_server *given)
{
    struct uvh_setup *setup = given->setup;
    setup->listen_count = uvh_listen_order(given->options, setup->tls.wanted, setup->listen);
    uvh_print_config(setup, stdout);
    return UVH_EXIT_OK;
}

/* Acts on a server that has been built. */
static int act(struct running *running, uvhttp_server_t *server)
{
    const struct uvh_setup_server *given = running->given;
    if (given->print)
        return print_setup(given);
    if (given->test)
        return report_check(running);
    if (!uvh_access_logs_open(&running->logs, given->setup, &running->as))
        return UVH_EXIT_FAILED;
    uvh_logger_install(server, &running->logs, given->setup->log_level >= UVHTTP_LOG_DEBUG);
    return run_server(running, server);
}

/* The first middleware, so that no rule of a site applies to probes, whatever their host is. */
static int answer_probe(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *path = uvhttp_request_path(request);
    if (uvhttp_request_method(request) != UVHTTP_METHOD_GET &&
        uvhttp_request_method(request) != UVHTTP_METHOD_HEAD)
        return UVHTTP_DECLINED;
    if (strcmp(path, "/healthz") == 0)
        return uvhttp_health_handle_live(request, response, arg);
    if (strcmp(path, "/readyz") == 0)
        return uvhttp_health_handle_ready(request, response, arg);
    return UVHTTP_DECLINED;
}

/* Sites and certificates, so that the errors of both are reported together. */
static int build(struct running *running, uvhttp_server_t *server, struct uvh_problems *problems)
{
    const struct uvh_setup_server *given = running->given;
    const struct uvh_setup *setup = given->setup;
    const struct uvh_setup_metrics *metrics = &setup->metrics;
    bool found = uvh_run_as_find(&running->as, setup, given->test, problems);
    if (!given->test)
        uvh_run_as_create(&running->as, setup->tls.config.key_log_file, 0600);
    bool loaded = uvh_tls_open(&running->tls, &setup->tls, given->options, given->test, problems);
    uvhttp_server_on_error(server, uvh_error_pages_apply, NULL);
    int err = uvh_tls_add_hsts(server, &setup->tls);
    if (err == 0 && setup->health)
        err = uvhttp_server_use(server, answer_probe, NULL);
    if (err != 0)
        uvh_problems_add(problems, UVH_MARK_NONE, "%s", uvhttp_strerror(err));
    bool right = uvh_tls_check_addresses(&setup->tls, given->options, problems) &&
                 uvh_redirect_check(&setup->tls, given->options,
                                    metrics->has_listen ? &metrics->listen : NULL, problems);
    right = uvh_proxies_trust(server, setup, problems) && right;
    right = (!given->test || uvh_listen_probe(given->options, setup, problems)) && right;
    right = uvh_access_logs_check(setup, problems) && right;
    size_t before = problems->count;
    uvh_site_clients_check_families(setup, given->options, problems);
    for (size_t i = 0; i < setup->site_count; i++)
        uvh_route_loop_check(&setup->sites[i], setup->tls.wanted, problems);
    right = problems->count == before && right;
    running->log.quiet = true;
    int code = given->build(server, running->metrics.server, problems, given->arg);
    running->log.quiet = false;
    return code == UVH_EXIT_OK && !(found && loaded && right && err == 0) ? UVH_EXIT_FAILED : code;
}

int uvh_setup_server_run(const struct uvh_setup_server *given, struct uvh_problems *problems)
{
    struct running running = {.given = given, .config = given->setup->config};
    if (!given->test)
        uvh_listen_raise_descriptor_limit(); /* caches of files use a part of it */
    running.config.log = uvh_site_log_line;
    running.config.log_arg = &running.log;
    running.config.log_level = running.log.level = given->setup->log_level;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, &running.config);
    if (server == NULL)
        return fail(UVHTTP_ENOMEM);
    int err = uvh_metrics_open(&running.metrics, given->setup, server, &running.config);
    int code = err != 0 ? fail(err) : build(&running, server, problems);
    if (code == UVH_EXIT_OK)
        code = act(&running, server);
    if (code != UVH_EXIT_OK)
        /* the problems were printed; the message that the server is not running is suppressed */
        running.log.level = UVHTTP_LOG_ERROR;
    uvh_redirect_close(&running.redirect, server);
    uvh_metrics_close(&running.metrics, server);
    uvhttp_server_free(server);
    uvh_tls_close(&running.tls);
    uvh_access_logs_close(&running.logs);
    return code;
}
