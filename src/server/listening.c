/* Listens on addresses, paths and descriptors, and takes connections that were accepted elsewhere.
 * On failure a socket created here is closed; the caller keeps a socket that it passed in. */
#include "server/listening.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/tls.h>

#include "base/alloc.h"
#include "options/error.h"
#include "platform/socket.h"
#include "platform/socket_adopt.h"
#include "route/router.h"
#include "server/accept.h"
#include "server/workers.h"
#include "tls/contexts.h"

enum {
    FREE_PORT_TRIES = 16,           /* to find a port that is free on two addresses */
    UNPRIVILEGED_PORT_START = 1024, /* the default of net.ipv4.ip_unprivileged_port_start */
};

/* Maps the system's "invalid" to the public code for an invalid argument. */
static int public_code(int err)
{
    return err == UV_EINVAL ? UVHTTP_EINVAL : err;
}

struct uvh_listening *uvh_listening_new(struct uvh_server *server, const char *name, size_t count)
{
    size_t length = strlen(name), sockets = count * sizeof(int);
    struct uvh_listening *listening =
        uvh_alloc_zero(server->allocator, sizeof(*listening) + sockets + length + 1);
    if (listening == NULL)
        return NULL;
    listening->id = server->listening_ids++;
    listening->count = count;
    listening->name = (char *)(listening + 1) + sockets;
    memcpy(listening->name, name, length + 1);
    return listening;
}

/* Accepts on one socket. The caller keeps it on failure. */
static int accept_on(struct uvh_server *server, const char *name, int socket,
                     const struct uvh_unix_socket_file *file, struct uvh_tls_contexts *tls)
{
    struct uvh_listening *listening = uvh_listening_new(server, name, 1);
    if (listening == NULL)
        return UVHTTP_ENOMEM;
    listening->sockets[0] = socket;
    if (file != NULL) {
        listening->has_file = true;
        listening->file = *file;
    }
    int err = uvh_workers_listen_on(server, listening, tls);
    if (err != 0)
        uvh_free(server->allocator, listening);
    return err;
}

static int accept_or_close(struct uvh_server *server, int socket, struct uvh_tls_contexts *tls)
{
    int err = accept_on(server, "localhost", socket, NULL, tls);
    if (err != 0)
        uvh_socket_close(socket);
    return err;
}

/* ---- the end of listening ---- */

/* Its listeners are closed elsewhere. */
static void release(struct uvh_server *server, struct uvh_listening *listening)
{
    if (listening->has_file)
        uvh_unix_socket_remove(listening->name, &listening->file);
    uvh_free(server->allocator, listening);
}

void uvh_listening_forget(struct uvh_server *server)
{
    while (server->listening != NULL) {
        struct uvh_listening *listening = server->listening;
        server->listening = listening->next;
        release(server, listening);
    }
}

/* A worker ends some listening. */
struct unlisten {
    struct uvh_message message;
    const uvhttp_allocator_t *allocator;
    unsigned id;
};

static void read_unlisten(struct uvh_message *message, void *reader)
{
    struct unlisten *unlisten = UVH_CONTAINER_OF(message, struct unlisten, message);
    uvh_accept_end_some(reader, unlisten->id);
    uvh_free(unlisten->allocator, unlisten);
}

/* Other workers end theirs on their own thread. Out of memory: they go on, and the caller tries
 * again. */
static int end_on_workers(struct uvh_server *server, unsigned id)
{
    for (size_t i = 1; i < server->worker_count; i++) {
        struct unlisten *unlisten = uvh_alloc(server->allocator, sizeof(*unlisten));
        if (unlisten == NULL)
            return UVHTTP_ENOMEM;
        *unlisten = (struct unlisten){
            .message.read = read_unlisten, .allocator = server->allocator, .id = id};
        if (!uvh_worker_write(&server->workers[i], &unlisten->message))
            uvh_free(server->allocator, unlisten); /* it has ended */
    }
    uvh_accept_end_some(&server->workers[0], id);
    return 0;
}

/* What ends: the listening on a descriptor, or for `fd` -1 at an address, or for `port` 0 at a
 * path. */
struct place {
    const char *name;
    int port, fd;
};

static bool is_at(const struct uvh_listening *listening, const struct place *place)
{
    if (place->fd >= 0)
        return *listening->name == '\0' && listening->sockets[0] == place->fd;
    return listening->port == place->port && strcmp(listening->name, place->name) == 0;
}

static int unlisten(struct uvh_server *server, const struct place *place)
{
    struct uvh_listening **link = &server->listening;
    bool found = false;
    if (server->life == UVH_SERVER_NEW)
        return UVHTTP_EINVAL;
    if (server->life != UVH_SERVER_RUNNING || uvh_server_is_stopping(server))
        return UVHTTP_ESTOPPED;
    while (*link != NULL) {
        struct uvh_listening *listening = *link;
        if (!is_at(listening, place)) {
            link = &listening->next;
            continue;
        }
        int err = end_on_workers(server, listening->id);
        if (err != 0)
            return err;
        found = true;
        *link = listening->next;
        release(server, listening);
    }
    return found ? 0 : UVHTTP_EINVAL;
}

int uvhttp_server_unlisten(uvhttp_server_t *view, const char *address, int port)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    const struct place place = {.name = address, .port = port, .fd = -1};
    return address == NULL || port <= 0 ? UVHTTP_EINVAL : unlisten(uvh_server_of(view), &place);
}

int uvhttp_server_unlisten_unix(uvhttp_server_t *view, const char *path)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    const struct place place = {.name = path, .fd = -1};
    return path == NULL || *path == '\0' ? UVHTTP_EINVAL : unlisten(uvh_server_of(view), &place);
}

int uvhttp_server_unlisten_fd(uvhttp_server_t *view, int fd)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    return fd < 0 ? UVHTTP_EINVAL : unlisten(uvh_server_of(view), &(struct place){.fd = fd});
}

int uvhttp_server_each_listening(const uvhttp_server_t *view, uvhttp_listening_cb each, void *arg)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    if (each == NULL)
        return UVHTTP_EINVAL;
    const struct uvh_server *server = (const struct uvh_server *)(const void *)view;
    for (const struct uvh_listening *one = server->listening; one != NULL; one = one->next) {
        for (size_t i = 0; i < one->count; i++)
            each(&(uvhttp_listening_t){.name = one->name, .port = one->port, .fd = one->sockets[i]},
                 arg);
    }
    return 0;
}

void uvhttp_server_keep_socket_files(uvhttp_server_t *view)
{
    struct uvh_listening *one = view == NULL ? NULL : uvh_server_of(view)->listening;
    for (; one != NULL; one = one->next)
        one->has_file = false;
}

/* ---- addresses ---- */

static bool has_no_such_address(int err)
{
    return err == UV_EADDRNOTAVAIL || err == UV_EAFNOSUPPORT;
}

/* Creates sockets on the IPv4 and the IPv6 loopback address with the same port; the second is -1
 * when the machine has no IPv6. Returns 0 or libuv's code. */
static int listen_on_loopback(int port, int backlog, int sockets[2])
{
    int err = 0;
    for (int tries = 0; tries < (port == 0 ? FREE_PORT_TRIES : 1); tries++) {
        sockets[0] = uvh_socket_listen("127.0.0.1", port, backlog, UVH_SOCKET_ALONE);
        if (sockets[0] < 0)
            return sockets[0];
        sockets[1] =
            uvh_socket_listen("::1", uvh_socket_port(sockets[0]), backlog, UVH_SOCKET_ALONE);
        if (sockets[1] >= 0)
            return 0;
        err = sockets[1];
        sockets[1] = -1;
        if (has_no_such_address(err))
            return 0;
        uvh_socket_close(sockets[0]);
    }
    return err;
}

static int listen_on_localhost(struct uvh_server *server, int port, struct uvh_tls_contexts *tls)
{
    int sockets[2];
    int err = listen_on_loopback(port, (int)server->config.listen_backlog, sockets);
    if (err != 0)
        return err;
    int port_before = server->port, last_before = server->last_port;
    err = accept_or_close(server, sockets[0], tls);
    if (sockets[1] < 0)
        return err;
    if (err != 0) {
        uvh_socket_close(sockets[1]);
        return err;
    }
    err = accept_or_close(server, sockets[1], tls);
    if (err != 0) {
        /* with running threads it is the first worker's, as in uvh_workers_listen_on */
        size_t workers = server->threads_started ? 1 : server->worker_count;
        struct uvh_listening *first = server->listening;
        server->listening = first->next;
        for (size_t i = 0; i < workers; i++)
            uvh_accept_drop(&server->workers[i], first->id);
        release(server, first);
        server->port = port_before;
        server->last_port = last_before;
    }
    return err;
}

static void begin(struct uvh_server *server)
{
    uvh_error_clear(uvh_server_error(server));
}

static int end(struct uvh_server *server, int err)
{
    return uvh_router_end(server->setup->router, err);
}

static void describe(struct uvh_server *server, const char *address, int port, int err)
{
    uvhttp_error_t *error = uvh_server_error(server);
    char value[sizeof(error->value)];
    bool v6 = strchr(address, ':') != NULL;
    snprintf(value, sizeof(value), "%s%s%s:%d", v6 ? "[" : "", address, v6 ? "]" : "", port);
    if (err != UVHTTP_EINVAL)
        uvh_error_sentence(error, "address", value, "cannot listen on %s: %s%s", value,
                           uvhttp_strerror(err),
                           err == UV_EACCES && port < UNPRIVILEGED_PORT_START
                               ? "; a port below 1024 needs the capability CAP_NET_BIND_SERVICE"
                               : "");
    else if (port < 0 || port > 65535)
        uvh_error_int(error, "port", port, "allowed are 0 to 65535");
    else if (uvh_socket_is_numeric(address)) /* link-local without a zone */
        uvh_error_sentence(error, "address", value, "cannot listen on %s: %s", value,
                           uvhttp_strerror(UV_EINVAL));
    else
        uvh_error_string(error, "address", address,
                         "allowed are an IPv4 or IPv6 address, * and localhost");
}

static int listen_on_address(struct uvh_server *server, const char *address, int port,
                             struct uvh_tls_contexts *tls)
{
    int err = strcmp(address, "localhost") == 0 ? listen_on_localhost(server, port, tls)
                                                : uvh_workers_listen(server, address, port, tls);
    err = public_code(err);
    if (err != 0)
        describe(server, address, port, err);
    return err;
}

int uvhttp_server_listen(uvhttp_server_t *view, const char *address, int port)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    begin(server);
    int err = address == NULL ? UVHTTP_EINVAL : uvh_server_start(server);
    return end(server, err != 0 ? err : listen_on_address(server, address, port, NULL));
}

/* Returns the workers' contexts for `tls`, shared by its listeners. NULL when out of memory. */
static struct uvh_tls_contexts *contexts_of(struct uvh_server *server, uvhttp_tls_t *tls)
{
    struct uvh_tls_contexts *contexts = server->tls;
    while (contexts != NULL && contexts->tls != tls)
        contexts = contexts->next;
    if (contexts != NULL)
        return contexts;
    contexts = uvh_tls_contexts_new(tls, server->worker_count, server->config.http2 != 0,
                                    server->allocator);
    if (contexts == NULL)
        return NULL;
    contexts->next = server->tls;
    server->tls = contexts;
    return contexts;
}

int uvhttp_server_listen_tls(uvhttp_server_t *view, const char *address, int port,
                             uvhttp_tls_t *tls)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    begin(server);
    int err = address == NULL || tls == NULL ? UVHTTP_EINVAL : uvh_server_start(server);
    struct uvh_tls_contexts *contexts = err == 0 ? contexts_of(server, tls) : NULL;
    if (err == 0 && contexts == NULL)
        err = UVHTTP_ENOMEM;
    return end(server, err != 0 ? err : listen_on_address(server, address, port, contexts));
}

int uvhttp_server_port(const uvhttp_server_t *server)
{
    return server == NULL ? 0 : ((const struct uvh_server *)(const void *)server)->port;
}

int uvhttp_server_last_port(const uvhttp_server_t *server)
{
    return server == NULL ? 0 : ((const struct uvh_server *)(const void *)server)->last_port;
}

static void log_path_error(struct uvh_server *server, const char *path, int err)
{
    uvhttp_error_t *error = uvh_server_error(server);
    if (err == UV_ENAMETOOLONG)
        uvh_error_sentence(error, "path", path,
                           "the path of a socket is limited to %d bytes; '%s' has %zu",
                           UVH_UNIX_SOCKET_PATH_MAX, path, strlen(path));
    else if (err == UV_EPERM)
        uvh_error_sentence(error, "path", path,
                           "cannot listen on '%s': no permission to set its owner or group; only "
                           "root may set another owner, and others only groups that they belong to",
                           path);
    else
        uvh_error_sentence(
            error, "path", path, "cannot listen on '%s': %s%s", path,
            err == UV_EEXIST ? "the file exists and is not a socket" : uvhttp_strerror(err),
            err == UV_EACCES || err == UV_EROFS ? "; choose a writable directory" : "");
    uvh_server_log(server, UVHTTP_LOG_ERROR, "%s", error->text);
}

static int refuse_access(struct uvh_server *server, const char *field, const char *value,
                         const char *allowed)
{
    uvh_error_sentence(uvh_server_error(server), field, value, "%s is %s; allowed are %s", field,
                       value, allowed);
    return UVHTTP_EINVAL;
}

static int check_access(struct uvh_server *server, const struct uvh_unix_socket_access *access)
{
    char value[24];
    if (access->mode > 0777) {
        snprintf(value, sizeof(value), "0%o", access->mode);
        return refuse_access(server, "mode", value, "0 to 0777");
    }
    bool good_owner = access->owner < UINT32_MAX; /* which means "unchanged" for chown(2) */
    if (good_owner && access->group < UINT32_MAX)
        return 0;
    snprintf(value, sizeof(value), "%" PRId64, good_owner ? access->group : access->owner);
    return refuse_access(server, good_owner ? "group" : "owner", value, "-1 to 4294967294");
}

static int listen_on_path(struct uvh_server *server, const char *path,
                          const struct uvh_unix_socket_access *access)
{
    int err = path == NULL ? UVHTTP_EINVAL : check_access(server, access);
    if (err == 0)
        err = uvh_server_start(server);
    if (err != 0)
        return err;
    struct uvh_unix_socket_file file;
    int socket = uvh_unix_socket_listen(path, access, (int)server->config.listen_backlog, &file);
    err = socket < 0 ? socket : accept_on(server, path, socket, &file, NULL);
    if (err == 0)
        return 0;
    log_path_error(server, path, err);
    if (socket >= 0) {
        uvh_unix_socket_remove(path, &file);
        uvh_socket_close(socket);
    }
    return public_code(err);
}

int uvhttp_server_listen_unix_owned(uvhttp_server_t *view, const char *path, unsigned mode,
                                    int64_t owner, int64_t group)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    const struct uvh_unix_socket_access access = {mode, owner, group};
    begin(uvh_server_of(view));
    return end(uvh_server_of(view), listen_on_path(uvh_server_of(view), path, &access));
}

int uvhttp_server_listen_unix(uvhttp_server_t *view, const char *path, unsigned mode)
{
    return uvhttp_server_listen_unix_owned(view, path, mode, -1, -1);
}

static int listen_on_descriptor(struct uvh_server *server, int fd, struct uvh_tls_contexts *tls)
{
    int err = uvh_socket_adopt_listener(fd);
    if (err == 0)
        return accept_on(server, "", fd, NULL, tls);
    err = public_code(err);
    uvh_error_int(uvh_server_error(server), "fd", fd, "%s",
                  err == UVHTTP_EINVAL ? "must be a socket that listens" : uvhttp_strerror(err));
    return err;
}

int uvhttp_server_listen_fd(uvhttp_server_t *view, int fd)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    begin(server);
    int err = uvh_server_start(server);
    return end(server, err != 0 ? err : listen_on_descriptor(server, fd, NULL));
}

int uvhttp_server_listen_fd_tls(uvhttp_server_t *view, int fd, uvhttp_tls_t *tls)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    begin(server);
    int err = tls == NULL ? UVHTTP_EINVAL : uvh_server_start(server);
    struct uvh_tls_contexts *contexts = err == 0 ? contexts_of(server, tls) : NULL;
    if (err == 0 && contexts == NULL)
        err = UVHTTP_ENOMEM;
    return end(server, err != 0 ? err : listen_on_descriptor(server, fd, contexts));
}

int uvhttp_server_listen_inherited(uvhttp_server_t *view, size_t *count)
{
    int first;
    size_t ignored;
    count = count != NULL ? count : &ignored;
    *count = 0;
    if (view == NULL)
        return UVHTTP_ENOMEM;
    begin(uvh_server_of(view)); /* there may be none */
    int inherited = uvh_socket_inherited(&first);
    for (int i = 0; i < inherited; i++) {
        int err = uvhttp_server_listen_fd(view, first + i);
        if (err != 0)
            return err;
        *count += 1;
    }
    return 0;
}

int uvhttp_server_adopt(uvhttp_server_t *view, int fd)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    int err = uvh_server_start(server);
    if (err == 0)
        err = uvh_socket_adopt_connection(fd);
    if (err != 0)
        return public_code(err);
    /* the loop may not have run for a while, and timeouts count from now */
    uv_update_time(server->loop);
    err = uvh_accept_take(&server->workers[0], fd, NULL);
    if (err == 0)
        uvh_server_serves(server);
    return err;
}
