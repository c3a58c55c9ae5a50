/* Listens on the addresses of the options. Guarantees that an error message names the address or
 * port and a solution. */
#include "listen.h"

#include <errno.h>
#include <libgen.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uvhttp/embedding.h>

#include "inherited.h"
#include "metrics.h"

#define OWN_PATH_SIZE 4096

#define REASON_SIZE (OWN_PATH_SIZE + 512)

/* docs/configuration.md explains the ways. */
static void explain_permission(int port, const char *option, char reason[REASON_SIZE])
{
    char path[OWN_PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    bool found = length > 0 && (size_t)length < sizeof(path);
    snprintf(reason, REASON_SIZE,
             "no permission to listen on port %d, which needs CAP_NET_BIND_SERVICE; choose "
             "one above 1023 with %s, or permit it: sudo setcap 'cap_net_bind_service=+ep' %.*s, "
             "AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd unit, or sudo sysctl "
             "net.ipv4.ip_unprivileged_port_start=%d",
             port, option, found ? (int)length : 6, found ? path : "uvhttp", port);
}

static void explain(const struct uvh_address *address, const char *option, int err,
                    char reason[REASON_SIZE])
{
    const char *host = address->host;
    switch (-err) {
    case EADDRINUSE:
        snprintf(reason, REASON_SIZE, "port %d is in use; choose another with %s", address->port,
                 option);
        break;
    case EACCES:
    case EPERM:
        explain_permission(address->port, option, reason);
        break;
    case EADDRNOTAVAIL:
        snprintf(reason, REASON_SIZE,
                 "this machine has no address %s; choose another with --listen", host);
        break;
    default:
        snprintf(reason, REASON_SIZE, "cannot listen on %s port %d: %s", host, address->port,
                 uvhttp_strerror(err));
        break;
    }
}

void uvh_listen_refuse(const struct uvh_address *address, const char *option, int err)
{
    char reason[REASON_SIZE];
    explain(address, option, err, reason);
    fprintf(stderr, "uvhttp: %s\n", reason);
}

int uvh_listen_check(const struct uvh_options *options, bool tls)
{
    for (size_t i = 0; i < options->listen_count && !tls; i++) {
        if (options->listen[i].scheme != UVH_SCHEME_HTTPS)
            continue;
        fprintf(
            stderr,
            "uvhttp: --listen: an address with https:// needs a certificate; give one with %s\n",
            options->from_file ? "'tls' in the configuration" : "--tls-cert, or --tls-self-signed");
        return UVH_EXIT_USAGE;
    }
    return UVH_EXIT_OK;
}

/* Unix sockets have no TLS: only programs of this machine connect to them. */
bool uvh_listen_has_tls(const struct uvh_address *address, bool tls)
{
    return tls && uvh_address_path(address) == NULL && address->scheme != UVH_SCHEME_HTTP;
}

size_t uvh_listen_order(const struct uvh_options *options, bool tls,
                        struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX])
{
    static const struct uvh_address everywhere = {.host = UVH_ADDRESS_ANY,
                                                  .port = UVH_ADDRESS_NO_PORT};
    const struct uvh_address *given = options->listen_count > 0 ? options->listen : &everywhere;
    size_t given_count = options->listen_count > 0 ? options->listen_count : 1;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < given_count; i++) {
            struct uvh_address address = given[i];
            if (address.port == UVH_ADDRESS_NO_PORT)
                address.port = uvh_listen_has_tls(&address, tls) && !options->port_given
                                   ? UVH_OPTIONS_TLS_PORT
                                   : (int)options->port;
            if ((address.port == 0) == (pass == 0))
                addresses[count++] = address;
        }
    }
    return count;
}

static bool differs(int64_t wanted, int64_t number)
{
    return wanted >= 0 && wanted != number;
}

/* Of the file of an inherited unix socket. Returns 0, or an error after a message was printed. */
static int set_access(const struct uvh_address *address)
{
    const char *path = uvh_address_path(address);
    int64_t owner = uvh_user_id(address->owner), group = uvh_group_id(address->group);
    struct stat file;
    if (path == NULL || stat(path, &file) != 0)
        return 0;
    int err = 0;
    if (differs(owner, file.st_uid) || differs(group, file.st_gid))
        err =
            chown(path, owner < 0 ? (uid_t)-1 : (uid_t)owner, group < 0 ? (gid_t)-1 : (gid_t)group);
    if (err == 0 && address->mode != 0 && address->mode != (file.st_mode & 0777))
        err = chmod(path, address->mode);
    if (err == 0)
        return 0;
    err = -errno;
    fprintf(stderr, "uvhttp: the mode, owner or group of '%s' cannot be changed: %s\n", path,
            uvhttp_strerror(err));
    return err;
}

/* On the inherited sockets of this address, which may be several; `*found` is false without one. */
static int listen_on_inherited(uvhttp_server_t *server, const struct uvh_address *address,
                               uvhttp_tls_t *tls, bool *found)
{
    struct uvh_address wanted = *address;
    int socket, err = 0;
    *found = false;
    while (err == 0 && (socket = uvh_inherited_take(&wanted)) >= 0) {
        *found = true;
        err = address->scheme == UVH_SCHEME_HTTPS ? uvhttp_server_listen_fd_tls(server, socket, tls)
                                                  : uvhttp_server_listen_fd(server, socket);
    }
    return *found && err == 0 ? set_access(address) : err;
}

/* Listens on one address, or on its inherited sockets. Returns 0 or an error. */
static int listen_on(uvhttp_server_t *server, const struct uvh_address *address, uvhttp_tls_t *tls)
{
    bool found;
    int err = listen_on_inherited(server, address, tls, &found);
    if (found)
        return err;
    if (uvh_address_path(address) != NULL)
        return uvhttp_server_listen_unix_owned(server, uvh_address_path(address), address->mode,
                                               uvh_user_id(address->owner),
                                               uvh_group_id(address->group));
    return address->scheme == UVH_SCHEME_HTTPS
               ? uvhttp_server_listen_tls(server, address->host, address->port, tls)
               : uvhttp_server_listen(server, address->host, address->port);
}

int uvh_listen_plain(uvhttp_server_t *server, const struct uvh_address *address)
{
    struct uvh_address plain = *address;
    plain.scheme = UVH_SCHEME_HTTP;
    return listen_on(server, &plain, NULL);
}

static bool same(const struct uvh_address *one, const struct uvh_address *other)
{
    return one->port == other->port && one->scheme == other->scheme && one->mode == other->mode &&
           strcmp(one->host, other->host) == 0 && strcmp(one->owner, other->owner) == 0 &&
           strcmp(one->group, other->group) == 0;
}

/* The index of a wanted address; `count` if it is not there. */
static size_t find(const struct uvh_listening *listening, const struct uvh_address *wanted)
{
    size_t i = 0;
    while (i < listening->count && !same(&listening->wanted[i], wanted))
        i++;
    return i;
}

static bool has_place(const struct uvh_listening *listening, const struct uvh_address *wanted)
{
    size_t i = 0;
    while (i < listening->count && (listening->wanted[i].port != wanted->port ||
                                    strcmp(listening->wanted[i].host, wanted->host) != 0))
        i++;
    return i < listening->count && wanted->port != 0;
}

static struct uvh_mark mark_of(const struct uvh_setup *setup, const struct uvh_address *address)
{
    for (size_t i = 0; i < setup->listen_count; i++) {
        const struct uvh_address *given = &setup->listen[i];
        if (strcmp(given->host, address->host) == 0 &&
            (given->port == address->port || given->port == UVH_ADDRESS_NO_PORT))
            return setup->listen_marks[i];
    }
    return UVH_MARK_NONE;
}

/* Notes or prints an error of listen_on. The library has logged that of a unix socket. */
static void refuse(const struct uvh_setup *setup, const struct uvh_address *address, int err,
                   struct uvh_problems *problems)
{
    char reason[REASON_SIZE];
    if (problems == NULL && uvh_address_path(address) == NULL)
        uvh_listen_refuse(address, "--port", err);
    if (problems == NULL)
        return;
    if (uvh_address_path(address) == NULL)
        explain(address, "'listen'", err, reason);
    else
        snprintf(reason, sizeof(reason), "cannot listen on '%s': %s", uvh_address_path(address),
                 uvhttp_strerror(err));
    uvh_problems_add(problems, mark_of(setup, address), "%s", reason);
}

static void refuse_change(const struct uvh_setup *setup, const struct uvh_address *address,
                          struct uvh_problems *problems)
{
    const char *path = uvh_address_path(address);
    if (path != NULL)
        uvh_problems_add(problems, mark_of(setup, address),
                         "a reload cannot change the mode, owner or group of '%s'; use uvhttp "
                         "upgrade",
                         path);
    else
        uvh_problems_add(problems, mark_of(setup, address),
                         "a reload cannot change %s port %d to %s://; use uvhttp upgrade",
                         address->host, address->port,
                         address->scheme == UVH_SCHEME_HTTPS ? "https" : "http");
}

bool uvh_listen_all(uvhttp_server_t *server, const struct uvh_setup *setup,
                    const struct uvh_options *options, uvhttp_tls_t *tls,
                    const struct uvh_listening *now, struct uvh_listening *next,
                    struct uvh_problems *problems)
{
    static const struct uvh_listening nowhere = {.count = 0};
    int chosen[UVH_SCHEME_HTTPS + 1] = {0};
    size_t count = uvh_listen_order(options, tls != NULL, next->wanted);
    now = now != NULL ? now : &nowhere;
    for (next->count = 0; next->count < count; next->count++) {
        struct uvh_address *wanted = &next->wanted[next->count];
        struct uvh_address *address = &next->addresses[next->count];
        wanted->scheme =
            uvh_listen_has_tls(wanted, tls != NULL) ? UVH_SCHEME_HTTPS : UVH_SCHEME_HTTP;
        int *own = &chosen[wanted->scheme];
        bool choose = uvh_address_path(wanted) == NULL && wanted->port == 0;
        size_t at = find(now, wanted);
        *address = at < now->count ? now->addresses[at] : *wanted;
        if (choose && at == now->count)
            address->port = *own;
        if (at == now->count && has_place(now, wanted)) {
            refuse_change(setup, wanted, problems);
            uvh_listen_leave(server, next, now);
            return false;
        }
        int err = at < now->count ? 0 : listen_on(server, address, tls);
        if (err != 0) {
            refuse(setup, address, err, now == &nowhere ? NULL : problems);
            uvh_listen_leave(server, next, now);
            return false;
        }
        if (choose && *own == 0)
            *own = at < now->count ? address->port : uvhttp_server_last_port(server);
        if (choose)
            address->port = *own;
    }
    return true;
}

void uvh_listen_leave(uvhttp_server_t *server, const struct uvh_listening *from,
                      const struct uvh_listening *to)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct uvh_address *address = &from->addresses[i];
        if (find(to, &from->wanted[i]) < to->count || uvh_inherited_leave(server, address))
            continue;
        if (uvh_address_path(address) != NULL)
            (void)uvhttp_server_unlisten_unix(server, uvh_address_path(address));
        else
            (void)uvhttp_server_unlisten(server, address->host, address->port);
    }
}

/* Whether a socket can have this numeric address. */
static bool has_address(const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_PASSIVE};
    struct addrinfo *found;
    if (strcmp(host, UVH_ADDRESS_ANY) == 0 || getaddrinfo(host, "0", &hints, &found) != 0)
        return true; /* an error of listening */
    int probe = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has =
        probe < 0 || bind(probe, found->ai_addr, found->ai_addrlen) == 0 || errno != EADDRNOTAVAIL;
    if (probe >= 0)
        close(probe);
    freeaddrinfo(found);
    return has;
}

static void probe(const struct uvh_address *address, struct uvh_mark mark, const char *key,
                  struct uvh_problems *problems)
{
    const char *path = uvh_address_path(address);
    char directory[UVH_ADDRESS_HOST_SIZE];
    if (path == NULL && !has_address(address->host))
        uvh_problems_add(problems, mark, "%s: this machine has no address %s; choose another, or *",
                         key, address->host);
    if (path == NULL || *path == '@')
        return;
    snprintf(directory, sizeof(directory), "%s", path);
    if (access(dirname(directory), X_OK) != 0)
        uvh_problems_add(problems, mark, "%s: the directory of '%s' cannot be used: %s", key, path,
                         uvhttp_strerror(-errno));
}

bool uvh_listen_probe(const struct uvh_options *options, const struct uvh_setup *setup,
                      struct uvh_problems *problems)
{
    size_t before = problems->count;
    for (size_t i = 0; i < options->listen_count; i++)
        probe(&options->listen[i], setup->listen_marks[i],
              setup->listen_marks[i].line != 0 ? "listen" : "--listen", problems);
    if (setup->metrics.has_listen)
        probe(&setup->metrics.listen, setup->metrics.path.mark, "metrics", problems);
    if (setup->status.has_listen && !uvh_metrics_share(setup))
        probe(&setup->status.listen, setup->status.path.mark, "status", problems);
    return problems->count == before;
}

void uvh_listen_check_limit(const uvhttp_config_t *config,
                            void (*warn)(const char *text, void *arg), void *arg)
{
    struct rlimit limit;
    char text[256];
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= config->max_connections)
        return;
    snprintf(text, sizeof(text),
             "max_connections is %zu, but this process may have %llu descriptors only; raise the "
             "limit (ulimit -Hn, or LimitNOFILE in a systemd unit), or lower max_connections",
             config->max_connections, (unsigned long long)limit.rlim_max);
    warn(text, arg);
}

void uvh_listen_raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    /* if it fails, the lower limit stays and connections are queued */
    setrlimit(RLIMIT_NOFILE, &limit);
}
