/* Listens on the addresses the options name. Guarantees that a failure is told with the address or port at fault and a way out. Called by
 * serve.c and run.c. */
#include "listen.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

static void print_error(const struct uvh_address *address, int err)
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
}

size_t uvh_listen_order(const struct uvh_options *options,
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

bool uvh_listen_all(uvhttp_server_t *server, const struct uvh_options *options,
                    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX], size_t *count)
{
    int chosen = 0;
    *count = uvh_listen_order(options, addresses);
    for (size_t i = 0; i < *count; i++) {
        struct uvh_address *address = &addresses[i];
        bool choose = address->port == 0;
        if (choose)
            address->port = chosen;
        const char *path = uvh_address_path(address);
        int err = path != NULL ? uvhttp_server_listen_unix(server, path, 0)
                               : uvhttp_server_listen(server, address->host, address->port);
        if (err != 0 && path != NULL) /* the log has said why */
            return false;
        if (err != 0) {
            print_error(address, err);
            return false;
        }
        if (choose)
            address->port = chosen = uvhttp_server_port(server);
    }
    return true;
}

void uvh_listen_raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* if it fails, the lower one stays and connections wait their turn */
}
