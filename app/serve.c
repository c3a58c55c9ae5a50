/* `uvhttp serve`: one server, one folder mounted at "/". Guarantees that whatever keeps it from starting is told with the value at
 * fault and a way out. Called by main.c. */
#include "serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "banner.h"

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

static int print_listen_error(const struct uvh_address *address, int err)
{
    switch (-err) {
    case EADDRINUSE:
        fprintf(stderr, "uvhttp: port %d is in use; choose another with --port\n", address->port);
        break;
    case EACCES:
    case EPERM:
        fprintf(stderr,
                "uvhttp: there is no permission to listen on port %d; choose one above 1023 with --port\n",
                address->port);
        break;
    case EADDRNOTAVAIL:
        fprintf(stderr, "uvhttp: this machine has no address %s; choose another with --listen\n",
                address->host);
        break;
    default:
        fprintf(stderr, "uvhttp: cannot listen on %s port %d: %s\n", address->host, address->port,
                uvhttp_strerror(err));
        break;
    }
    return UVH_EXIT_FAILED;
}

/* The addresses to listen on, ports filled in. Those whose port the system is to choose come first: the server can tell the
 * port of its first listener, and the others then take the same. */
static size_t order_addresses(const struct uvh_options *options,
                              struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX])
{
    static const struct uvh_address everywhere = {.host = "0.0.0.0", .port = UVH_ADDRESS_NO_PORT};
    const struct uvh_address *given = options->listen_count > 0 ? options->listen : &everywhere;
    size_t given_count = options->listen_count > 0 ? options->listen_count : 1;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < given_count; i++) {
            struct uvh_address address = given[i];
            if (address.port == UVH_ADDRESS_NO_PORT)
                address.port = (int)options->port;
            if ((address.port == 0) == (pass == 0))
                addresses[count++] = address;
        }
    }
    return count;
}

static int listen_all(uvhttp_server_t *server, struct uvh_address *addresses, size_t count)
{
    int chosen = 0;
    for (size_t i = 0; i < count; i++) {
        struct uvh_address *address = &addresses[i];
        bool choose = address->port == 0;
        if (choose)
            address->port = chosen;
        const char *path = uvh_address_path(address);
        int err = path != NULL ? uvhttp_server_listen_unix(server, path, 0)
                               : uvhttp_server_listen(server, address->host, address->port);
        if (err != 0 && path != NULL) /* the log has said why */
            return UVH_EXIT_FAILED;
        if (err != 0)
            return print_listen_error(address, err);
        if (choose)
            address->port = chosen = uvhttp_server_port(server);
    }
    return UVH_EXIT_OK;
}

/* A middleware that answers nothing: with --verbose every request leaves a line. */
static int log_request(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t target = uvhttp_request_target(request);
    uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "%s %s %.*s", uvhttp_request_client_address(request),
                        uvhttp_request_method_name(request), UVHTTP_SLICE_ARGS(target));
    return UVHTTP_DECLINED;
}

static int serve(uvhttp_server_t *server, const struct uvh_options *options, const char *root)
{
    uvhttp_static_config_t files = options->files;
    files.root = root;
    int err = uvhttp_static_mount(server, "/", &files);
    if (err == 0 && access(root, X_OK) != 0)
        err = -errno; /* a folder that can be opened and not entered would give nothing but refusals */
    if (err != 0)
        return print_root_error(root, err);

    if (options->log_level >= UVHTTP_LOG_DEBUG)
        err = uvhttp_server_use(server, log_request, NULL);
    if (err != 0)
        return print_error(err);

    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count = order_addresses(options, addresses);
    int code = listen_all(server, addresses, count);
    if (code != UVH_EXIT_OK)
        return code;

    err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uvh_banner_print(options, root, addresses, count);
        err = uvhttp_server_run(server);
    }
    return err == 0 ? UVH_EXIT_OK : print_error(err);
}

/* The limit a shell gives is far below max_connections; the hard one is what the administrator allows. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* if it fails, the lower one stays and connections wait their turn */
}

int uvh_serve_run(const struct uvh_options *options)
{
    char root[PATH_MAX];
    raise_descriptor_limit();
    if (realpath(options->root, root) == NULL)
        return print_root_error(options->root, -errno);

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
