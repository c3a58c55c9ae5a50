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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <uvhttp/embedding.h>

#include "upgrade.h"

enum { FIRST_SOCKET = 3 }; /* SD_LISTEN_FDS_START */

enum state { STATE_OPEN, STATE_TAKEN, STATE_CLOSED };

struct passed {
    struct uvh_address address;
    enum state state;
    struct stat file; /* of a unix socket that the older process has made; st_ino 0: none */
};

static struct {
    size_t count;
    struct passed *sockets; /* the descriptors 3, 4, ...; never freed */
    bool replace;           /* they replace the configured addresses */
    bool upgrade;           /* they are of an older process */
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

static void refuse(size_t index, size_t count)
{
    int socket = FIRST_SOCKET + (int)index;
    if (inherited.upgrade)
        fprintf(stderr, "uvhttp: descriptor %d of the older process is no listening socket\n",
                socket);
    else
        fprintf(stderr,
                "uvhttp: descriptor %d (LISTEN_FDS is %zu) is not a listening socket; in a "
                "systemd unit these are the sockets of ListenStream=, with Accept=no\n",
                socket, count);
}

static bool find(void)
{
    size_t count = uvh_upgrade_sockets(&inherited.replace);
    inherited.upgrade = count > 0;
    if (!inherited.upgrade) {
        count = passed_count();
        inherited.replace = count > 0;
    }
    if (inherited.replace && count > UVH_OPTIONS_LISTEN_MAX) {
        fprintf(stderr, "uvhttp: LISTEN_FDS is %zu; at most %d sockets are allowed\n", count,
                UVH_OPTIONS_LISTEN_MAX);
        return false;
    }
    inherited.sockets = calloc(count + 1, sizeof(*inherited.sockets));
    if (inherited.sockets == NULL) {
        fputs("uvhttp: out of memory\n", stderr);
        return false;
    }
    for (; inherited.count < count; inherited.count++) {
        struct passed *passed = &inherited.sockets[inherited.count];
        if (!describe(FIRST_SOCKET + (int)inherited.count, &passed->address)) {
            refuse(inherited.count, count);
            return false;
        }
        const char *path = uvh_address_path(&passed->address);
        if (inherited.upgrade && !inherited.replace && path != NULL)
            (void)stat(path, &passed->file);
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

static bool is_own(const struct uvh_address *address, const struct uvh_setup_metrics *metrics)
{
    return metrics->has_listen && same(address, &metrics->listen);
}

bool uvh_inherited_replace(struct uvh_options *options, const struct uvh_setup *setup,
                           size_t redirect)
{
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX];
    size_t count = 0;
    if (inherited.sockets == NULL && !find())
        return false;
    if (!inherited.replace)
        return true;
    for (size_t i = 0; i < inherited.count; i++) {
        struct uvh_address address = inherited.sockets[i].address;
        if (is_own(&address, &setup->metrics) || is_own(&address, &setup->status) ||
            (size_t)address.port == redirect)
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

static bool fits(const struct passed *passed, const struct uvh_address *wanted)
{
    bool any_port = inherited.upgrade && wanted->port == 0 && passed->address.port > 0;
    return passed->state == STATE_OPEN && strcmp(passed->address.host, wanted->host) == 0 &&
           (any_port || passed->address.port == wanted->port);
}

int uvh_inherited_take(struct uvh_address *address)
{
    for (size_t i = 0; i < inherited.count; i++) {
        struct passed *passed = &inherited.sockets[i];
        if (!fits(passed, address))
            continue;
        passed->state = STATE_TAKEN;
        address->port = passed->address.port;
        return FIRST_SOCKET + (int)i;
    }
    return -1;
}

void uvh_inherited_done(uvhttp_server_t *server)
{
    const char *what = inherited.upgrade ? "upgrade" : "socket activation";
    size_t taken = 0;
    for (size_t i = 0; i < inherited.count; i++) {
        struct passed *passed = &inherited.sockets[i];
        taken += passed->state == STATE_TAKEN;
        if (passed->state == STATE_TAKEN)
            continue;
        if (!inherited.upgrade)
            uvhttp_server_log(server, UVHTTP_LOG_WARNING,
                              "%s: the socket of %s port %d is not used", what,
                              passed->address.host, passed->address.port);
        close(FIRST_SOCKET + (int)i);
        passed->state = STATE_CLOSED;
    }
    if (taken > 0)
        uvhttp_server_log(server, UVHTTP_LOG_INFO, "%s: %zu inherited sockets%s", what, taken,
                          inherited.replace ? " replace configured addresses" : "");
}

bool uvh_inherited_replaces(void)
{
    return inherited.replace;
}

static void remove_file(const struct passed *passed)
{
    const char *path = uvh_address_path(&passed->address);
    struct stat now;
    if (passed->file.st_ino != 0 && stat(path, &now) == 0 && now.st_ino == passed->file.st_ino &&
        now.st_dev == passed->file.st_dev)
        unlink(path);
}

static void remove_files(enum state state)
{
    for (size_t i = 0; i < inherited.count; i++) {
        if (inherited.sockets[i].state == state)
            remove_file(&inherited.sockets[i]);
    }
}

void uvh_inherited_remove_unused_files(void)
{
    remove_files(STATE_CLOSED);
}

void uvh_inherited_remove_files(void)
{
    remove_files(STATE_TAKEN);
}

bool uvh_inherited_leave(uvhttp_server_t *server, const struct uvh_address *address)
{
    bool found = false;
    for (size_t i = 0; i < inherited.count; i++) {
        struct passed *passed = &inherited.sockets[i];
        if (passed->state != STATE_TAKEN || !same(&passed->address, address) ||
            uvhttp_server_unlisten_fd(server, FIRST_SOCKET + (int)i) != 0)
            continue;
        passed->state = STATE_CLOSED;
        remove_file(passed);
        found = true;
    }
    return found;
}
