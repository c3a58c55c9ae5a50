/* `uvhttp serve`: one server, one folder mounted at "/". Guarantees that whatever keeps it from starting is told with the value at
 * fault and a way out. Called by main.c. */
#include "serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "banner.h"
#include "listen.h"
#include "logger.h"
#include "print_config.h"

static int print_error(int err)
{
    fprintf(stderr, "uvhttp: %s\n", uvhttp_strerror(err));
    return UVH_EXIT_FAILED;
}

static int print_root_error(const char *root, int err)
{
    /* The library passes libuv's codes through, and those are negated errno values. */
    switch (-err) {
    case ENOENT:
        fprintf(stderr, "uvhttp: the folder '%s' does not exist\n", root);
        break;
    case ENOTDIR:
        fprintf(stderr, "uvhttp: '%s' is not a folder; name the folder to serve\n", root);
        break;
    case EACCES:
    case EPERM:
        fprintf(stderr, "uvhttp: there is no permission to read the folder '%s'\n", root);
        break;
    default:
        fprintf(stderr, "uvhttp: the folder '%s' cannot be served: %s\n", root, uvhttp_strerror(err));
        break;
    }
    return UVH_EXIT_FAILED;
}

static int serve(uvhttp_server_t *server, const struct uvh_options *options, const char *root)
{
    uvhttp_static_config_t files = options->files;
    char message[400];
    if (uvhttp_static_check(&files, message, sizeof(message)) == UVHTTP_EINVAL) {
        fprintf(stderr, "uvhttp: %s\n", message);
        return UVH_EXIT_FAILED;
    }
    files.root = root;
    int err = uvhttp_static_mount(server, "/", &files);
    if (err == 0 && access(root, X_OK) != 0)
        err = -errno; /* a folder that can be opened and not entered would give nothing but refusals */
    if (err != 0)
        return print_root_error(root, err);

    if (options->log_level >= UVHTTP_LOG_DEBUG)
        err = uvhttp_server_use(server, uvh_logger_request, NULL);
    if (err != 0)
        return print_error(err);

    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count;
    if (!uvh_listen_all(server, options, addresses, &count))
        return UVH_EXIT_FAILED;

    err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uvh_banner_print(options, root, addresses, count);
        err = uvhttp_server_run(server);
    }
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

/* What is served as a file for `uvhttp run`: one site with one folder. */
static int print_config(const struct uvh_options *options, char *root)
{
    struct uvh_setup_route route = {
        .path = {.text = "/"}, .kind = UVH_ROUTE_STATIC, .root = {.text = root}, .files = options->files};
    struct uvh_setup_site site = {.routes = &route, .route_count = 1};
    struct uvh_setup setup = {
        .config = options->config, .log_level = options->log_level, .sites = &site, .site_count = 1};
    setup.listen_count = uvh_listen_order(options, setup.listen);
    uvh_print_config(&setup, stdout);
    return UVH_EXIT_OK;
}

int uvh_serve_run(const struct uvh_options *options)
{
    char root[PATH_MAX];
    uvh_listen_raise_descriptor_limit();
    if (realpath(options->root, root) == NULL)
        return print_root_error(options->root, -errno);
    if (options->print_config)
        return print_config(options, root);

    uvhttp_log_level_t level = options->log_level;
    uvhttp_config_t config = options->config;
    config.log = uvhttp_log_to_stderr;
    config.log_arg = &level;
    config.log_level = level;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, &config);
    if (server == NULL)
        return print_error(UVHTTP_ENOMEM);
    int code = serve(server, options, root);
    if (code != UVH_EXIT_OK)
        level = UVHTTP_LOG_ERROR; /* what was wrong was printed; that nothing is left to stop need not be */
    uvhttp_server_free(server);
    return code;
}
