/* Sockets on Linux and other POSIX systems. */
#include "platform/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/compiler.h"

#if defined(__linux__)
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#endif

enum {
    TRANSFER_MAX = 0x7ffff000, /* the most bytes Linux transfers in one call */
    KEEPALIVE_IDLE = 60,       /* seconds without traffic before the first probe */
    KEEPALIVE_INTERVAL = 15,   /* seconds between probes */
    KEEPALIVE_PROBES = 4,
};

static int parse_address(const char *address, int port, struct sockaddr_storage *storage,
                         socklen_t *length)
{
    memset(storage, 0, sizeof(*storage));
    if (port < 0 || port > UINT16_MAX)
        return -EINVAL;
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)storage;
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *length = sizeof(*v4);
        return 0;
    }
    if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        *length = sizeof(*v6);
        return 0;
    }
    return -EINVAL;
}

bool uvh_socket_is_numeric(const char *address)
{
    struct sockaddr_storage storage;
    socklen_t length;
    return parse_address(address, 0, &storage, &length) == 0;
}

int uvh_socket_make_ours(int socket)
{
    int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(socket, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    return 0;
}

static int set_option(int socket, int level, int option, int value)
{
    return setsockopt(socket, level, option, &value, sizeof(value)) == 0 ? 0 : -errno;
}

int uvh_socket_new(int family)
{
#if defined(__linux__)
    int made = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return made >= 0 ? made : -errno;
#else
    int made = socket(family, SOCK_STREAM, 0);
    if (made < 0)
        return -errno;
    int err = uvh_socket_make_ours(made);
    if (err == 0)
        return made;
    uvh_socket_close(made);
    return err;
#endif
}

/* TCP keepalive: a crashed client sends nothing, and while a handler waits nothing else detects
 * that. */
int uvh_socket_set_tcp(int socket)
{
    int err = set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    if (err == 0)
        err = set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    if (err == 0)
        err = set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE);
    if (err == 0)
        err = set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL);
    return err == 0 ? set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES) : err;
}

void uvh_socket_limit_queue(int socket, int bytes)
{
#if defined(TCP_NOTSENT_LOWAT)
    (void)set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes);
#else
    (void)socket, (void)bytes;
#endif
}

/* Binds so that a second program on the same port fails instead of getting half of the connections:
 * the first socket binds without SO_REUSEPORT and sets it afterwards. */
static int bind_to(int listener, const struct sockaddr_storage *address, socklen_t length,
                   enum uvh_socket_sharing sharing)
{
    int err = 0;
#if defined(__linux__)
    if (sharing == UVH_SOCKET_SHARE)
        err = set_option(listener, SOL_SOCKET, SO_REUSEPORT, 1);
#else
    if (sharing == UVH_SOCKET_SHARE)
        err = -ENOTSUP;
#endif
    if (err == 0 && bind(listener, (const struct sockaddr *)address, length) != 0)
        err = -errno;
#if defined(__linux__)
    if (err == 0 && sharing == UVH_SOCKET_SHARE_FIRST)
        err = set_option(listener, SOL_SOCKET, SO_REUSEPORT, 1);
#endif
    return err;
}

static int listen_on(const char *address, int port, int backlog, enum uvh_socket_sharing sharing,
                     bool only_v6)
{
    struct sockaddr_storage storage;
    socklen_t length;
    int err = parse_address(address, port, &storage, &length);
    if (err != 0)
        return err;
    int listener = uvh_socket_new(storage.ss_family);
    if (listener < 0)
        return listener;
    err = set_option(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    /* Accepted connections inherit these options, which saves system calls for each of them. */
    if (err == 0)
        err = uvh_socket_set_tcp(listener);
    /* Otherwise the machine's settings decide whether "::" accepts IPv4 too. */
    if (err == 0 && storage.ss_family == AF_INET6)
        err = set_option(listener, IPPROTO_IPV6, IPV6_V6ONLY, only_v6);
    if (err == 0)
        err = bind_to(listener, &storage, length, sharing);
    if (err == 0 && listen(listener, backlog) != 0)
        err = -errno;
    if (err != 0) {
        uvh_socket_close(listener);
        return err;
    }
    return listener;
}

int uvh_socket_listen(const char *address, int port, int backlog, enum uvh_socket_sharing sharing)
{
    if (strcmp(address, "*") != 0)
        return listen_on(address, port, backlog, sharing, true);
    int listener = listen_on("::", port, backlog, sharing, false);
    if (listener == -EAFNOSUPPORT || listener == -EADDRNOTAVAIL) /* the system has no IPv6 */
        return listen_on("0.0.0.0", port, backlog, sharing, false);
    return listener;
}

size_t uvh_socket_unsent(int socket)
{
#if defined(__linux__)
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 && count > 0 ? (size_t)count : 0;
#else
    (void)socket;
    return 0;
#endif
}

uint32_t uvh_socket_waited_ms(int socket)
{
#if defined(__linux__)
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_last_data_recv
                                                                        : 0;
#else
    (void)socket;
    return 0;
#endif
}

int uvh_socket_port(int socket)
{
    struct sockaddr_storage storage;
    socklen_t length = sizeof(storage);
    if (getsockname(socket, (struct sockaddr *)&storage, &length) != 0)
        return -errno;
    if (storage.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)(void *)&storage)->sin6_port);
    return storage.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)(void *)&storage)->sin_port)
                                        : 0;
}

int uvh_socket_accept(int listener)
{
    for (;;) {
#if defined(__linux__)
        int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket >= 0)
            return socket;
#else
        int socket = accept(listener, NULL, NULL);
        if (socket >= 0) {
            int err = uvh_socket_make_ours(socket);
            if (err == 0)
                return socket;
            close(socket);
            return err;
        }
#endif
        /* A connection aborted in the queue must not stop accept. */
        if (errno != EINTR && errno != ECONNABORTED)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
}

/* glibc's recv, send and sendmsg are cancellation points. uvhttp never cancels threads, but in
 * multithreaded programs the two locked operations per call cost 5 % of a small request's time in
 * user space. Sanitizers intercept the functions, and 32-bit kernels may lack the system calls. */
#if defined(__LP64__) && defined(SYS_recvfrom) && defined(SYS_sendto) && defined(SYS_sendmsg) && \
    !defined(UVH_SANITIZED)
static ssize_t receive_bytes(int socket, void *data, size_t size)
{
    return syscall(SYS_recvfrom, socket, data, size, 0, NULL, NULL);
}

static ssize_t send_bytes(int socket, uvhttp_slice_t area, int flags)
{
    return syscall(SYS_sendto, socket, area.base, area.length, flags, NULL, 0);
}

static ssize_t send_message(int socket, const struct msghdr *message, int flags)
{
    return syscall(SYS_sendmsg, socket, message, flags);
}
#else
static ssize_t receive_bytes(int socket, void *data, size_t size)
{
    return recv(socket, data, size, 0);
}

static ssize_t send_bytes(int socket, uvhttp_slice_t area, int flags)
{
    return send(socket, area.base, area.length, flags);
}

static ssize_t send_message(int socket, const struct msghdr *message, int flags)
{
    return sendmsg(socket, message, flags);
}
#endif

ssize_t uvh_socket_receive(int socket, void *data, size_t size)
{
    for (;;) {
        ssize_t count = receive_bytes(socket, data, size);
        if (count >= 0)
            return count;
        if (errno != EINTR)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
}

static UVH_NEVER_INLINE ssize_t send_areas(int socket, const uvhttp_slice_t *areas, size_t count,
                                           int flags)
{
    struct iovec vectors[UVH_SOCKET_MAX_AREAS];
    for (size_t i = 0; i < count; i++)
        vectors[i] = (struct iovec){(void *)(uintptr_t)areas[i].base, areas[i].length};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = count};
    return send_message(socket, &message, flags);
}

ssize_t uvh_socket_send(int socket, const uvhttp_slice_t *areas, size_t count, bool more)
{
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    for (;;) {
        /* sendto is slightly cheaper than sendmsg. */
        ssize_t sent = UVH_LIKELY(count == 1) ? send_bytes(socket, areas[0], flags)
                                              : send_areas(socket, areas, count, flags);
        if (UVH_LIKELY(sent >= 0))
            return sent;
        if (errno != EINTR)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
}

#if defined(__linux__)
ssize_t uvh_socket_send_file(int socket, int descriptor, uint64_t offset, size_t size)
{
    if (size > TRANSFER_MAX)
        size = TRANSFER_MAX;
    for (;;) {
        off_t position = (off_t)offset;
        ssize_t count = sendfile(socket, descriptor, &position, size);
        if (count >= 0)
            return count;
        if (errno != EINTR)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
}
#else
/* sendfile differs on every other system; a copy through a small buffer works on all of them. */
ssize_t uvh_socket_send_file(int socket, int descriptor, uint64_t offset, size_t size)
{
    char chunk[16384];
    ssize_t count;
    do {
        count =
            pread(descriptor, chunk, size < sizeof(chunk) ? size : sizeof(chunk), (off_t)offset);
    } while (count < 0 && errno == EINTR);
    if (count <= 0)
        return count == 0 ? 0 : -errno;
    return uvh_socket_send(socket, &(uvhttp_slice_t){chunk, (size_t)count}, 1, false);
}
#endif

void uvh_socket_end_sending(int socket)
{
    shutdown(socket, SHUT_WR);
}

void uvh_socket_reset_when_closed(int socket)
{
    struct linger at_once = {1, 0};
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void uvh_socket_close(int socket)
{
    /* Not repeated on EINTR: Linux has closed the descriptor by then. */
    close(socket);
}

/* An IPv4 address as a mapped IPv6 address. */
static void read_ip(const struct sockaddr_storage *storage, struct in6_addr *ip)
{
    if (storage->ss_family != AF_INET) {
        *ip = ((const struct sockaddr_in6 *)(const void *)storage)->sin6_addr;
        return;
    }
    memset(ip, 0, 10);
    memset(&ip->s6_addr[10], 0xff, 2);
    memcpy(&ip->s6_addr[12], &((const struct sockaddr_in *)(const void *)storage)->sin_addr, 4);
}

static void write_ip(const struct in6_addr *ip, char text[UVH_SOCKET_ADDRESS_TEXT])
{
    bool v4 = IN6_IS_ADDR_V4MAPPED(ip);
    const void *address = v4 ? &ip->s6_addr[12] : &ip->s6_addr[0];
    if (inet_ntop(v4 ? AF_INET : AF_INET6, address, text, UVH_SOCKET_ADDRESS_TEXT) == NULL)
        text[0] = '\0';
}

void uvh_socket_read_peer(int socket, struct uvh_socket_peer *peer)
{
    struct sockaddr_storage storage;
    socklen_t length = sizeof(storage);
    struct in6_addr ip;
    *peer = (struct uvh_socket_peer){0};
    if (getpeername(socket, (struct sockaddr *)&storage, &length) != 0)
        return;
    peer->kind = storage.ss_family == AF_UNIX ? UVH_SOCKET_PEER_UNIX : UVH_SOCKET_PEER_IP;
    if (peer->kind == UVH_SOCKET_PEER_UNIX)
        return;
    read_ip(&storage, &ip);
    memcpy(peer->ip, &ip, sizeof(peer->ip));
}

void uvh_socket_peer_text(const struct uvh_socket_peer *peer, char text[UVH_SOCKET_ADDRESS_TEXT])
{
    struct in6_addr ip;
    text[0] = '\0';
    memcpy(&ip, peer->ip, sizeof(ip));
    if (peer->kind == UVH_SOCKET_PEER_UNIX)
        memcpy(text, "unix:", sizeof("unix:"));
    else if (peer->kind == UVH_SOCKET_PEER_IP)
        write_ip(&ip, text);
}

/* The kernel does not end a path that fills its array with a NUL. */
static void write_path(const struct sockaddr_un *name, socklen_t length,
                       char text[UVH_SOCKET_NAME_TEXT])
{
    size_t start = offsetof(struct sockaddr_un, sun_path);
    size_t size = length > start ? length - start : 0;
    const char *path = name->sun_path;
    if (size > 0 && path[0] == '\0') {
        snprintf(text, UVH_SOCKET_NAME_TEXT, "unix:@%.*s", (int)size - 1, path + 1);
        return;
    }
    snprintf(text, UVH_SOCKET_NAME_TEXT, "unix:%.*s", (int)size, path);
}

void uvh_socket_name(int socket, char text[UVH_SOCKET_NAME_TEXT])
{
    struct sockaddr_storage storage;
    socklen_t length = sizeof(storage);
    struct in6_addr ip;
    text[0] = '\0';
    if (getsockname(socket, (struct sockaddr *)&storage, &length) != 0)
        return;
    if (storage.ss_family == AF_UNIX) {
        write_path((const struct sockaddr_un *)(const void *)&storage, length, text);
        return;
    }
    read_ip(&storage, &ip);
    write_ip(&ip, text);
}
