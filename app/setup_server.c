/* See setup_server.h. Guarantees that a setup with errors serves nothing, and that all errors are
 * noted. */
#include "setup_server.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include <uvhttp/embedding.h>
#include <uvhttp/health.h>

#include "banner.h"
#include "confine.h"
#include "error_pages.h"
#include "fixed_keys.h"
#include "hangup.h"
#include "inherited.h"
#include "listen.h"
#include "logger.h"
#include "metrics.h"
#include "print_config.h"
#include "proxies.h"
#include "route_loop.h"
#include "run_as.h"
#include "service.h"
#include "site.h"
#include "site_clients.h"
#include "upgrade.h"
#include "user_files.h"

/* What belongs to a generation of the server: its access logs, and the setup if a reload made it.
 */
struct loaded {
    struct loaded *next; /* an older one that is still in use, or NULL */
    struct running *running;
    struct uvh_access_logs logs;
    struct uvh_setup_server *given; /* NULL: that of the start */
    uv_thread_t closer;             /* closes the logs, and then sets `closed` */
    atomic_bool closed;
};

struct running {
    const struct uvh_setup_server *given; /* the current one */
    struct loaded *loaded, *closing; /* the current one and those before; their logs are closed */
    uvhttp_server_t *server;
    uvhttp_config_t config; /* of the server */
    struct uvh_site_log log;
    struct uvh_listening listening;
    struct uvh_metrics metrics, status;
    uvhttp_status_page_t *page;
    struct uvh_redirect redirect;
    struct uvh_tls tls;
    struct uvh_run_as as;
    struct uvh_confine confine;
    struct uvh_service service;
    struct uvh_hangup hangup; /* its stop may be told within uvhttp_server_free */
    struct uvh_upgrade upgrade;
    char *fixed; /* see fixed_keys.h */
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
                        ? "the server runs as root; set 'user' (root keeps root)"
                        : "the server runs as root; set --user (root keeps root)",
                    running);
    if (running->as.change)
        uvh_user_files_check(given->setup, &running->tls, log_warning, running);
    else
        uvh_user_files_check_uploads(given->setup, log_warning, running);
    return true;
}

static void act_on_signal(int number, void *arg);

static int listen_and_run(struct running *running, uvhttp_server_t *server)
{
    const struct uvh_setup_server *given = running->given;
    struct uvh_listening *listening = &running->listening;
    if (!uvh_listen_all(server, given->setup, given->options, running->tls.tls, NULL, listening,
                        given->problems) ||
        !uvh_metrics_listen(&running->metrics) || !uvh_metrics_listen(&running->status) ||
        !uvh_redirect_open(&running->redirect, given->setup, listening->addresses, listening->count,
                           server, &running->config))
        return UVH_EXIT_FAILED;
    uvh_inherited_done(server);
    if (!uvh_service_write_pid(&running->service, &given->setup->pid_file, given->problems))
        return UVH_EXIT_FAILED;
    if (!change_user(running) ||
        !uvh_confine_calls(&running->confine, given->setup, log_warning, running))
        return UVH_EXIT_FAILED;
    int err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uvh_banner_print(given->options, given->what, listening->addresses, listening->count,
                         &(struct uvh_banner_parts){&running->metrics, &running->status,
                                                    &running->redirect, &running->tls});
        uvh_tls_warn(&running->tls);
        err = uvh_service_ready(&running->service, server, !uvh_upgrade_is_awaited());
    }
    if (err == 0) {
        uvh_upgrade_tell_ready();
        uvh_inherited_remove_unused_files();
        err = uvhttp_server_run(server);
    }
    return err == 0 ? UVH_EXIT_OK : fail(err);
}

/* Runs until stopped; see hangup.h for other signals. */
static int run_server(struct running *running, uvhttp_server_t *server)
{
    bool replace, with_terminal = !running->given->options->from_file;
    if (uvh_upgrade_sockets(&replace) > 0) /* its shell knows only the older process, or nohup */
        with_terminal = false;
    running->hangup = (struct uvh_hangup){.act = act_on_signal, .arg = running};
    int err = uvh_hangup_start(&running->hangup, server, with_terminal);
    int code = err == 0 ? listen_and_run(running, server) : fail(err);
    uvh_hangup_stop(&running->hangup);
    if (running->upgrade.passed)
        uvhttp_server_log(server, UVHTTP_LOG_INFO, "upgrade: process %ld ends, replaced by %d",
                          (long)getpid(), (int)running->upgrade.process.pid);
    else
        uvh_inherited_remove_files();
    uvh_upgrade_stop(&running->upgrade);
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
    else
        uvh_user_files_check_uploads(given->setup, print_warning, running);
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

static void close_logs(void *arg)
{
    struct loaded *loaded = arg;
    uvh_access_logs_close(&loaded->logs);
    atomic_store(&loaded->closed, true);
}

static void free_loaded(struct loaded *loaded)
{
    if (loaded->given != NULL)
        loaded->given->release(loaded->given);
    free(loaded);
}

/* Frees the generations whose logs are closed, or all of them. */
static void free_closed(struct running *running, bool all)
{
    struct loaded **link = &running->closing, *loaded;
    while ((loaded = *link) != NULL) {
        if (!all && !atomic_load(&loaded->closed)) {
            link = &loaded->next;
            continue;
        }
        *link = loaded->next;
        uv_thread_join(&loaded->closer);
        free_loaded(loaded);
    }
}

/* Closing a log can take a second if its reader is stalled, so after a reload a thread does it. */
static void release_loaded(void *arg)
{
    struct loaded *loaded = arg, **link = &loaded->running->loaded;
    struct running *running = loaded->running;
    while (*link != loaded)
        link = &(*link)->next;
    *link = loaded->next;
    free_closed(running, false);
    if (running->loaded != NULL && loaded->logs.any &&
        uv_thread_create(&loaded->closer, close_logs, loaded) == 0) {
        loaded->next = running->closing;
        running->closing = loaded;
        return;
    }
    close_logs(loaded);
    free_loaded(loaded);
}

/* The first object of a generation, so that it is released last. Takes ownership of `given`. */
static int load(struct running *running, struct uvh_setup_server *given)
{
    struct loaded *loaded = calloc(1, sizeof(*loaded));
    if (loaded == NULL) {
        if (given != NULL)
            given->release(given);
        return UVHTTP_ENOMEM;
    }
    *loaded = (struct loaded){.next = running->loaded, .running = running, .given = given};
    running->loaded = loaded;
    int err = uvhttp_server_own(running->server, release_loaded, loaded);
    if (err != 0)
        release_loaded(loaded);
    return err;
}

/* Acts on a server that has been built. */
static int act(struct running *running, uvhttp_server_t *server)
{
    const struct uvh_setup_server *given = running->given;
    if (given->print)
        return print_setup(given);
    if (given->test)
        return report_check(running);
    struct uvh_access_logs *logs = &running->loaded->logs;
    if (!uvh_access_logs_open(logs, given->setup, &running->as))
        return UVH_EXIT_FAILED;
    uvh_logger_install(server, logs, given->setup->log_level >= UVHTTP_LOG_DEBUG);
    return run_server(running, server);
}

static bool is_probe(const char *path)
{
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0;
}

/* Not the path after rewrites. The target may be in absolute form, such as "http://host/readyz". */
static bool asks_for(uvhttp_request_t *request, const char *path)
{
    uvhttp_slice_t target = uvhttp_request_target(request);
    const char *query = memchr(target.base, '?', target.length);
    const char *end = query == NULL ? target.base + target.length : query;
    const char *begin = target.base;
    const char *scheme = memmem(begin, (size_t)(end - begin), "://", 3);
    if (*begin != '/' && scheme != NULL)
        begin = memchr(scheme + 3, '/', (size_t)(end - scheme - 3));
    return begin != NULL && (size_t)(end - begin) == strlen(path) &&
           memcmp(begin, path, strlen(path)) == 0;
}

/* The first middleware, so that no rule of a site applies to probes, whatever their host is. */
static int answer_probe(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_method_t method = uvhttp_request_method(request);
    if (method != UVHTTP_METHOD_GET && method != UVHTTP_METHOD_HEAD)
        return UVHTTP_DECLINED;
    if (asks_for(request, "/healthz"))
        return uvhttp_health_handle_live(request, response, arg);
    if (asks_for(request, "/readyz"))
        return uvhttp_health_handle_ready(request, response, arg);
    return UVHTTP_DECLINED;
}

/* Probes have no route of their own. */
static bool never_shed(uvhttp_request_t *request, void *arg)
{
    (void)arg;
    return asks_for(request, "/healthz") || asks_for(request, "/readyz");
}

static void refuse_hidden_routes(const struct uvh_setup_site *site, struct uvh_problems *problems)
{
    for (size_t i = 0; i < site->route_count; i++) {
        const struct uvh_text *path = &site->routes[i].path;
        if (path->text != NULL && is_probe(path->text))
            uvh_problems_add(problems, path->mark,
                             "the path '%s' is that of 'health: true'; use another one",
                             path->text);
    }
}

static struct uvh_own_servers own_servers(struct running *running, const struct uvh_setup *setup)
{
    uvhttp_server_t *metrics = running->metrics.server;
    return (struct uvh_own_servers){.metrics = metrics,
                                    .status =
                                        uvh_metrics_share(setup) ? metrics : running->status.server,
                                    .page = &running->page};
}

/* What a reload replaces. False with problems noted or printed, and `*code` set. */
static bool build_sites(struct running *running, const struct uvh_setup_server *given, int *code)
{
    const struct uvh_setup *setup = given->setup;
    struct uvh_problems *problems = given->problems;
    size_t before = problems->count;
    uvhttp_server_on_error(running->server, uvh_error_pages_apply, NULL);
    int err = uvh_tls_add_hsts(running->server, &setup->tls);
    if (err == 0 && setup->health)
        err = uvhttp_server_use(running->server, answer_probe, NULL);
    if (setup->health)
        uvhttp_server_never_shed(running->server, never_shed, NULL);
    if (err != 0)
        uvh_problems_add(problems, UVH_MARK_NONE, "%s", uvhttp_strerror(err));
    uvh_proxies_apply(running->server, setup, problems);
    uvh_access_logs_check(setup, problems);
    uvh_site_clients_check_families(setup, given->options, problems);
    for (size_t i = 0; i < setup->site_count; i++) {
        uvh_route_loop_check(&setup->sites[i], setup->tls.wanted, problems);
        if (setup->health)
            refuse_hidden_routes(&setup->sites[i], problems);
    }
    bool right = problems->count == before;
    const struct uvh_own_servers own = own_servers(running, setup);
    *code = given->build(running->server, &own, problems, given->arg);
    if (*code == UVH_EXIT_OK && !right)
        *code = UVH_EXIT_FAILED;
    return *code == UVH_EXIT_OK;
}

/* Sites and certificates, so that the errors of both are reported together. */
static int build(struct running *running)
{
    const struct uvh_setup_server *given = running->given;
    const struct uvh_setup *setup = given->setup;
    struct uvh_problems *problems = given->problems;
    bool found = uvh_run_as_find(&running->as, setup, given->test, problems);
    found = uvh_run_as_give_up_privileges(&running->as, setup, given->test, problems) && found;
    found =
        found && uvh_confine_files(&running->confine, setup, given->options, given->test,
                                   given->test ? print_warning : log_warning, running, problems);
    if (!given->test)
        uvh_run_as_create(&running->as, setup->tls.config.key_log_file, 0600);
    bool loaded = uvh_tls_open(&running->tls, &setup->tls, given->options, given->test, problems);
    uvh_upgrade_restore_tickets(running->tls.tls);
    bool right = uvh_tls_check_addresses(&setup->tls, given->options, problems) &&
                 uvh_redirect_check(setup, given->options, problems);
    right = (!given->test || uvh_listen_probe(given->options, setup, problems)) && right;
    int code;
    uvh_site_log_set_quiet(true);
    build_sites(running, given, &code);
    uvh_site_log_set_quiet(false);
    return code == UVH_EXIT_OK && !(found && loaded && right) ? UVH_EXIT_FAILED : code;
}

/* ---- reload ---- */

/* False with problems noted or printed. */
static bool build_next(struct running *running, const struct uvh_setup_server *next)
{
    struct uvh_access_logs *logs = &running->loaded->logs;
    int code;
    if (!uvh_confine_allows(&running->confine, next->setup, next->options, next->problems))
        return false;
    uvh_site_log_set_quiet(true);
    bool built = build_sites(running, next, &code);
    uvh_site_log_set_quiet(false);
    if (!built || !uvh_access_logs_open(logs, next->setup, &running->as))
        return false;
    uvh_logger_install(running->server, logs, running->config.log_level >= UVHTTP_LOG_DEBUG);
    return true;
}

static int begin_reload(struct running *running)
{
    int err = uvhttp_server_begin_reload(running->server);
    if (err == 0 && running->metrics.server != NULL)
        err = uvhttp_server_begin_reload(running->metrics.server);
    if (err == 0 && running->status.server != NULL)
        err = uvhttp_server_begin_reload(running->status.server);
    return err;
}

static int apply_reload(struct running *running)
{
    int err = 0;
    if (running->metrics.server != NULL)
        err = uvhttp_server_apply_reload(running->metrics.server);
    if (err == 0 && running->status.server != NULL)
        err = uvhttp_server_apply_reload(running->status.server);
    return err != 0 ? err : uvhttp_server_apply_reload(running->server);
}

/* Certificates, and where to listen: what is outside of the routes. False with problems noted.
 * Listening elsewhere would need TLS as the configuration has it. */
static bool change_outside(struct running *running, const struct uvh_setup_server *next,
                           struct uvh_listening *listening)
{
    const struct uvh_setup_tls *tls = &next->setup->tls;
    *listening = running->listening;
    if (tls->wanted != (running->tls.tls != NULL))
        return true;
    return uvh_listen_all(running->server, next->setup, next->options, running->tls.tls,
                          &running->listening, listening, next->problems) &&
           uvh_tls_replace(&running->tls, tls, next->options, next->problems);
}

static bool change(struct running *running, const struct uvh_setup_server *next, int *err)
{
    struct uvh_listening listening = {.count = 0};
    const struct uvh_setup_tls *tls = running->tls.setup;
    bool right = build_next(running, next) && change_outside(running, next, &listening);
    if (right)
        *err = apply_reload(running);
    right = right && *err == 0;
    uvh_listen_leave(running->server, right ? &running->listening : &listening,
                     right ? &listening : &running->listening);
    if (!right) {
        running->tls.setup = tls; /* that of `next` is released */
        return false;
    }
    running->listening = listening;
    uvh_redirect_follow(&running->redirect, listening.addresses, listening.count);
    return true;
}

/* Takes ownership. False, with problems printed, if nothing changes. */
static bool use_next(struct running *running, struct uvh_setup_server *next)
{
    struct uvh_problems *problems = next->problems;
    int err = begin_reload(running);
    if (err != 0) {
        uvh_problems_add(problems, UVH_MARK_NONE, "%s", uvhttp_strerror(err));
        uvh_problems_log(problems);
        next->release(next);
    }
    if (err != 0 || (err = load(running, next)) != 0)
        return false;
    if (change(running, next, &err))
        return true;
    if (err != 0)
        uvh_problems_add(problems, UVH_MARK_NONE, "%s", uvhttp_strerror(err));
    uvh_problems_log(problems);
    return false;
}

/* The next setup serves from now on, or nothing changes. */
static void reload(struct running *running)
{
    uvh_service_reloading();
    struct uvh_setup_server *next = running->given->reread(running->given);
    if (next != NULL && use_next(running, next)) {
        uvh_fixed_keys_warn(running->fixed, next->setup, running->server);
        running->given = next;
        uvhttp_server_log(running->server, UVHTTP_LOG_INFO, "reload: the configuration is applied");
        uvh_service_reloaded("serving");
        return;
    }
    uvhttp_server_cancel_reload(running->server);
    if (running->metrics.server != NULL)
        uvhttp_server_cancel_reload(running->metrics.server);
    if (running->status.server != NULL)
        uvhttp_server_cancel_reload(running->status.server);
    uvhttp_server_log(running->server, UVHTTP_LOG_ERROR, "reload: nothing is changed");
    uvh_service_reloaded("serving; the last reload has failed, see the log");
}

/* ---- upgrade ---- */

/* Both processes accept until this one stops to; probes still find it ready until then. */
static bool pass_on(long pid, void *arg)
{
    struct running *running = arg;
    uvhttp_server_t *server = running->server;
    if (!uvhttp_server_is_ready(server, NULL, 0)) {
        uvhttp_server_log(server, UVHTTP_LOG_INFO, "upgrade: process %ld ends, as this one does",
                          pid);
        return false;
    }
    uvhttp_drain_t times = {.grace = running->config.drain_grace,
                            .timeout = running->config.drain_timeout};
    uvhttp_server_log(server, UVHTTP_LOG_INFO,
                      "upgrade: process %ld serves; this one serves its connections to the end",
                      pid);
    uvh_service_replaced(pid);
    running->hangup.replaced = true;
    for (size_t i = 0; i < UVH_UPGRADE_SERVERS; i++) {
        if (running->upgrade.servers[i] == NULL)
            continue;
        uvhttp_server_keep_socket_files(running->upgrade.servers[i]);
        (void)uvhttp_server_drain(running->upgrade.servers[i], &times);
    }
    return true;
}

static void go_on(void *arg)
{
    struct running *running = arg;
    uvh_service_restore_pid(&running->service);
}

static void upgrade(struct running *running)
{
    struct uvh_upgrade *upgrade = &running->upgrade;
    if (running->confine.active) {
        uvhttp_server_log(running->server, UVHTTP_LOG_ERROR,
                          "upgrade: with 'confine' the process cannot start another one; restart "
                          "it, without a refused connection if systemd has the sockets");
        return;
    }
    upgrade->servers[0] = running->server;
    upgrade->servers[1] = running->metrics.server;
    upgrade->servers[2] = running->status.server;
    upgrade->servers[3] = running->redirect.server;
    upgrade->tls = running->tls.tls;
    upgrade->done = pass_on;
    upgrade->failed = go_on;
    upgrade->arg = running;
    uvh_upgrade_start(upgrade);
}

static void act_on_signal(int number, void *arg)
{
    struct running *running = arg;
    if (number == SIGUSR2) {
        upgrade(running);
        return;
    }
    for (struct loaded *loaded = running->loaded; loaded != NULL; loaded = loaded->next)
        uvh_access_logs_reopen(&loaded->logs);
    if (running->loaded->logs.any)
        uvhttp_server_log(running->server, UVHTTP_LOG_INFO, "signal %s: reopening the access logs",
                          number == SIGHUP ? "SIGHUP" : "SIGUSR1");
    if (number != SIGHUP)
        return;
    if (running->given->reread != NULL)
        reload(running);
    else
        uvh_tls_reload(&running->tls);
}

int uvh_setup_server_run(const struct uvh_setup_server *given)
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
    running.server = server;
    running.fixed = given->reread == NULL ? NULL : uvh_fixed_keys_of(given->setup);
    int err = load(&running, NULL);
    if (err == 0)
        err = uvh_metrics_open(&running.metrics, &given->setup->metrics, "metrics", server,
                               &running.config);
    if (err == 0 && uvh_metrics_share(given->setup))
        running.status = (struct uvh_metrics){.path = given->setup->status.path.text,
                                              .shared = &running.metrics};
    else if (err == 0)
        err = uvh_metrics_open(&running.status, &given->setup->status, "status", server,
                               &running.config);
    int code = err != 0 ? fail(err) : build(&running);
    if (code == UVH_EXIT_OK)
        code = act(&running, server);
    if (code != UVH_EXIT_OK)
        /* the problems were printed; the message that the server is not running is suppressed */
        running.log.level = UVHTTP_LOG_ERROR;
    uvh_redirect_close(&running.redirect, server);
    uvh_metrics_close(&running.status, server);
    uvh_metrics_close(&running.metrics, server);
    uvhttp_status_page_free(running.page);
    uvhttp_server_free(server);
    free_closed(&running, true);
    uvh_tls_close(&running.tls);
    uvh_service_remove_pid(&running.service);
    uvh_confine_release(&running.confine);
    free(running.fixed);
    return code;
}
