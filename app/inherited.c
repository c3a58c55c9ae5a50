/* See inherited.h. The environment of the process does not change, so the sockets are found once.
 */
#include "inherited.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <uvhttp/embedding.h>

enum { FIRST_SOCKET = 3 }; /* SD_LISTEN_FDS_START */

static struct {
    size_t count;
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX]; /* of the descriptors 3, 4, ... */
    bool taken[UVH_OPTIONS_LISTEN_MAX];
} inherited;

/* The variables are those of another process if this one is its child. */
static size_t passed_count(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return 0;
    long number = strtol(count, NULL, 10);
    return number > 0 ? (size_t)number : 0;
}

static bool listens(int socket)
{
    int type = 0, accepts = 0;
    socklen_t size = sizeof(int);
    return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
           getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0 && accepts != 0;
}

static bool describe_path(const struct sockaddr_un *found, socklen_t size,
                          struct uvh_address *address)
{
    char path[sizeof(found->sun_path) + 1] = "", error[UVH_ADDRESS_ERROR_SIZE];
    memcpy(path, found->sun_path, size - offsetof(struct sockaddr_un, sun_path));
    if (path[0] == '\0') /* the abstract namespace of Linux */
        path[0] = '@';
    return uvh_address_set_path(address, path, error);
}

/* Sockets of systemd are for both families, unless BindIPv6Only= says otherwise. */
static bool describe_host(int socket, const struct sockaddr_storage *found, socklen_t size,
                          struct uvh_address *address)
{
    char port[8];
    int only_ipv6 = 0;
    socklen_t option_size = sizeof(only_ipv6);
    if (getnameinfo((const struct sockaddr *)found, size, address->host, sizeof(address->host),
                    port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    address->port = (int)strtol(port, NULL, 10);
    if (found->ss_family == AF_INET6 && uvh_address_is_any(address->host) &&
        getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, &option_size) == 0 && !only_ipv6)
        snprintf(address->host, sizeof(address->host), "%s", UVH_ADDRESS_ANY);
    return true;
}

static bool describe(int socket, struct uvh_address *address)
{
    union {
        struct sockaddr_storage any;
        struct sockaddr_un path;
    } found = {.any = {.ss_family = AF_UNSPEC}};
    socklen_t size = sizeof(found);
    *address = (struct uvh_address){.port = UVH_ADDRESS_NO_PORT};
    if (!listens(socket) || getsockname(socket, (struct sockaddr *)&found.any, &size) != 0)
        return false;
    return found.any.ss_family == AF_UNIX ? describe_path(&found.path, size, address)
                                          : describe_host(socket, &found.any, size, address);
}

static bool find(void)
{
    size_t count = passed_count();
    if (count > UVH_OPTIONS_LISTEN_MAX) {
        fprintf(stderr, "uvhttp: LISTEN_FDS is %zu; at most %d sockets are allowed\n", count,
                UVH_OPTIONS_LISTEN_MAX);
        return false;
    }
    while (inherited.count < count) {
        int socket = FIRST_SOCKET + (int)inherited.count;
        if (!describe(socket, &inherited.addresses[inherited.count])) {
            fprintf(stderr,
                    "uvhttp: descriptor %d (LISTEN_FDS is %zu) is not a listening socket; in a "
                    "systemd unit these are the sockets of ListenStream=, with Accept=no\n",
                    socket, count);
            return false;
        }
        inherited.count++;
    }
    return true;
}

static bool same(const struct uvh_address *one, const struct uvh_address *other)
{
    return one->port == other->port && strcmp(one->host, other->host) == 0;
}

static bool is_plain(const struct uvh_options *options, int port)
{
    for (size_t i = 0; i < options->listen_count; i++) {
        if (options->listen[i].scheme == UVH_SCHEME_HTTP && options->listen[i].port == port)
            return true;
    }
    return false;
}

bool uvh_inherited_replace(struct uvh_options *options, const struct uvh_address *metrics,
                           size_t redirect)
{
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count = 0;
    if (inherited.count == 0 && !find())
        return false;
    for (size_t i = 0; i < inherited.count; i++) {
        struct uvh_address address = inherited.addresses[i];
        if ((metrics != NULL && same(&address, metrics)) || (size_t)address.port == redirect)
            continue;
        if (address.port >= 0 && is_plain(options, address.port))
            address.scheme = UVH_SCHEME_HTTP;
        addresses[count++] = address;
    }
    if (count == 0)
        return true;
    memcpy(options->listen, addresses, count * sizeof(addresses[0]));
    options->listen_count = count;
    return true;
}

int uvh_inherited_take(const struct uvh_address *address)
{
    for (size_t i = 0; i < inherited.count; i++) {
        if (inherited.taken[i] || !same(&inherited.addresses[i], address))
            continue;
        inherited.taken[i] = true;
        return FIRST_SOCKET + (int)i;
    }
    return -1;
}

void uvh_inherited_log(uvhttp_server_t *server)
{
    size_t taken = 0;
    for (size_t i = 0; i < inherited.count; i++) {
        const struct uvh_address *address = &inherited.addresses[i];
        taken += inherited.taken[i];
        if (!inherited.taken[i])
            uvhttp_server_log(server, UVHTTP_LOG_WARNING,
                              "socket activation: the socket of %s port %d is not used",
                              address->host, address->port);
    }
    if (taken > 0)
        uvhttp_server_log(server, UVHTTP_LOG_INFO,
                          "socket activation: %zu inherited sockets replace configured addresses",
                          taken);
}
