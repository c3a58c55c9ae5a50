/* `uvhttp run` and `uvhttp check`: build a server from a configuration file, overridden by
 * environment and flags. Guarantees that a file with errors serves nothing, and that each error is
 * printed on one line. Called by main.c. */
#include "run.h"

#include <string.h>

#include "banner.h"
#include "config_file.h"
#include "hangup.h"
#include "help.h"
#include "listen.h"
#include "logger.h"
#include "metrics.h"
#include "print_config.h"
#include "site.h"

struct run {
    struct uvh_options options; /* file, environment and flags combined */
    struct uvh_config_file file;
    struct uvh_problems problems;
    struct uvh_site_log log;
    struct uvh_metrics metrics;
    struct uvh_redirect redirect;
    struct uvh_tls tls;
    uvhttp_access_log_t *access_log;
    uvhttp_log_level_t access_log_level; /* a separate copy, because the log's thread reads it */
};

static int fail(int err)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(err));
    return UVH_EXIT_FAILED;
}

/* The file's values become the defaults for environment and flags; the result is copied back to the
 * setup. */
static int merge(struct run *run, enum uvh_command command, int count, char **arguments)
{
    struct uvh_setup *setup = &run->file.setup;
    struct uvh_options *options = &run->options;
    options->config = setup->config;
    options->log_level = setup->log_level;
    options->listen_count = setup->listen_count;
    memcpy(options->listen, setup->listen, sizeof(setup->listen));
    int code = uvh_options_parse(options, command, count, arguments);
    setup->config = options->config;
    setup->log_level = options->log_level;
    setup->listen_count = options->listen_count;
    memcpy(setup->listen, options->listen, sizeof(setup->listen));
    return code != UVH_EXIT_OK ? code : uvh_listen_check(options, setup->tls.wanted);
}

static int open_access_log(struct run *run, uvhttp_server_t *server)
{
    const struct uvh_setup *setup = &run->file.setup;
    if (setup->access_path.text == NULL)
        return UVH_EXIT_OK;
    uvhttp_access_log_options_t config = setup->access_log;
    config.path = setup->access_path.text;
    config.log = uvhttp_log_to_stderr;
    config.log_arg = &run->access_log_level;
    run->access_log_level = run->options.log_level;
    int err = uvhttp_access_log_new(&run->access_log, &config, NULL);
    if (err != 0) {
        fprintf(stderr, "uvhttp: the access log '%s' cannot be opened: %s\n", config.path,
                uvhttp_strerror(err));
        return UVH_EXIT_FAILED;
    }
    uvhttp_server_on_finished(server, uvhttp_access_log_finished, run->access_log);
    return UVH_EXIT_OK;
}

static int listen_and_run(struct run *run, uvhttp_server_t *server, const uvhttp_config_t *config)
{
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count;
    if (!uvh_listen_all(server, &run->options, run->tls.tls, addresses, &count) ||
        !uvh_metrics_listen(&run->metrics) ||
        !uvh_redirect_open(&run->redirect, &run->file.setup.tls, addresses, count, server, config))
        return UVH_EXIT_FAILED;
    int err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uvh_banner_print(&run->options, run->options.root, addresses, count,
                         &(struct uvh_banner_more){&run->metrics, &run->redirect, &run->tls});
        uvh_tls_warn(&run->tls);
        err = uvhttp_server_run(server);
    }
    return err == 0 ? UVH_EXIT_OK : fail(err);
}

/* Runs until stopped. See hangup.h for signals. */
static int run_server(struct run *run, uvhttp_server_t *server, const uvhttp_config_t *config)
{
    struct uvh_hangup hangup;
    int err = uvh_hangup_start(&hangup, server, run->access_log, &run->tls, false);
    int code = err == 0 ? listen_and_run(run, server, config) : fail(err);
    uvh_hangup_stop(&hangup);
    return code;
}

/* Acts on a server that has been built. */
static int act(struct run *run, uvhttp_server_t *server, const uvhttp_config_t *config, bool test)
{
    if (test) {
        uvh_tls_print(&run->tls, run->options.root, stdout);
        printf("%s: configuration OK\n", run->options.root);
        return UVH_EXIT_OK;
    }
    int code = open_access_log(run, server);
    if (code != UVH_EXIT_OK)
        return code;
    uvh_listen_raise_descriptor_limit();
    return run_server(run, server, config);
}

/* Sites and certificates, so that the errors of both are reported together. */
static bool build(struct run *run, uvhttp_server_t *server, bool test)
{
    struct uvh_setup *setup = &run->file.setup;
    bool loaded = uvh_tls_open(&run->tls, &setup->tls, &run->options, test, &run->problems);
    int err = uvh_tls_add_hsts(server, &setup->tls);
    if (err != 0)
        uvh_problems_add(&run->problems, UVH_MARK_NONE, "%s", uvhttp_strerror(err));
    const struct uvh_setup_metrics *metrics = &setup->metrics;
    bool right = uvh_tls_check_addresses(&setup->tls, &run->options, &run->problems) &&
                 uvh_redirect_check(&setup->tls, &run->options,
                                    metrics->has_listen ? &metrics->listen : NULL, &run->problems);
    run->log.quiet = true;
    bool built = uvh_site_build(server, run->metrics.server, setup, &run->problems);
    run->log.quiet = false;
    return loaded && right && built && err == 0;
}

static int build_and_act(struct run *run, bool test)
{
    uvhttp_config_t config = run->file.setup.config;
    config.log = uvh_site_log_line;
    config.log_arg = &run->log;
    config.log_level = run->log.level = run->options.log_level;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, &config);
    if (server == NULL)
        return fail(UVHTTP_ENOMEM);
    int code = UVH_EXIT_FAILED;
    int err = uvh_metrics_open(&run->metrics, &run->file.setup, server, &config);
    if (err != 0)
        code = fail(err);
    else if (build(run, server, test))
        code = act(run, server, &config, test);
    else
        uvh_problems_print(&run->problems, stderr);
    if (code != UVH_EXIT_OK)
        /* the problems were printed; the message that the server is not running is suppressed */
        run->log.level = UVHTTP_LOG_ERROR;
    uvh_redirect_close(&run->redirect, server);
    uvh_metrics_close(&run->metrics, server);
    uvhttp_server_free(server);
    uvh_tls_close(&run->tls);
    uvhttp_access_log_free(run->access_log);
    return code;
}

static int load_and_act(struct run *run, enum uvh_command command, int count, char **arguments)
{
    struct uvh_setup *setup = &run->file.setup;
    if (!uvh_config_file_load(&run->file, run->problems.file, &run->problems)) {
        uvh_site_check_directories(setup, &run->problems);
        uvh_problems_print(&run->problems, stderr);
        return UVH_EXIT_FAILED;
    }
    int code = merge(run, command, count, arguments);
    if (code != UVH_EXIT_OK)
        return code;
    if (run->options.print_config) {
        setup->listen_count = uvh_listen_order(&run->options, setup->tls.wanted, setup->listen);
        uvh_print_config(setup, stdout);
        return UVH_EXIT_OK;
    }
    return build_and_act(run, run->options.test || command == UVH_COMMAND_CHECK);
}

int uvh_run(enum uvh_command command, int count, char **arguments)
{
    struct run run = {.access_log = NULL};
    struct uvh_options wanted;
    if (!uvh_options_init(&run.options) || !uvh_options_init(&wanted))
        return fail(UVHTTP_ENOMEM);
    int code = uvh_options_scan(&wanted, command, count, arguments);
    if (code != UVH_EXIT_OK)
        return code;
    if (wanted.help) {
        uvh_help_run(stdout, command);
        return UVH_EXIT_OK;
    }
    run.problems.file = wanted.root;
    code = load_and_act(&run, command, count, arguments);
    uvh_config_file_release(&run.file);
    return code;
}
