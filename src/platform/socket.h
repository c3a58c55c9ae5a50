/* Stream sockets: the few calls uvhttp makes itself, because libuv has no sendfile beside a stream
 * and because a readiness watcher costs less memory than a libuv stream (docs/design/poller.md).
 *
 * Always true: sockets are non-blocking and close on exec; a call interrupted by a signal is
 * repeated; nothing here raises SIGPIPE but sendfile (see platform/signals.h). Results are 0 or a
 * count, or a negative errno, which is libuv's code. */
#ifndef UVH_PLATFORM_SOCKET_H
#define UVH_PLATFORM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uvhttp/types.h>

enum { UVH_SOCKET_ADDRESS_TEXT = 64 }; /* bytes that hold any address as text */

/* A stream socket of that family (AF_INET, ...) as stated above. */
int uvh_socket_new(int family);

/* Makes a socket that came from elsewhere non-blocking and closes it on exec; sets what every TCP
 * socket of ours has. */
int uvh_socket_make_ours(int socket);
int uvh_socket_set_tcp(int socket);

/* Who else may listen on the same address and port. The system shares connections out among sockets
 * that do, by a hash of the client's address and port. */
enum uvh_socket_sharing {
    UVH_SOCKET_ALONE, /* nobody */
    /* nobody so far, or it fails with -EADDRINUSE; later those of this user who SHARE */
    UVH_SOCKET_SHARE_FIRST,
    /* others of this user who do. -ENOTSUP where the system cannot share out */
    UVH_SOCKET_SHARE,
};

/* A numeric IPv4 or IPv6 address as connecting and listening read it. */
bool uvh_socket_is_numeric(const char *address);

/* A listening socket on a numeric IPv4 or IPv6 address; port 0 takes a free one. TCP_NODELAY is set
 * and inherited. */
int uvh_socket_listen(const char *address, int port, int backlog, enum uvh_socket_sharing sharing);

/* Bytes sent that the peer has not acknowledged; 0 where that cannot be known. */
size_t uvh_socket_unsent(int socket);

/* The port a socket is bound to; 0 when it has none. */
int uvh_socket_port(int socket);

/* The next connection; -EAGAIN when none waits. */
int uvh_socket_accept(int listener);

/* Bytes received (0 = the peer has ended its side), -EAGAIN when none are there. */
ssize_t uvh_socket_receive(int socket, void *data, size_t size);

/* Bytes sent from up to UVH_SOCKET_MAX_AREAS areas in this order with one system call; `more` says
 * that more follows at once. */
enum { UVH_SOCKET_MAX_AREAS = 17 };
ssize_t uvh_socket_send(int socket, const uvhttp_slice_t *areas, size_t count, bool more);

/* Bytes sent from `descriptor` at `offset`; 0 means the file ends there. */
ssize_t uvh_socket_send_file(int socket, int descriptor, uint64_t offset, size_t size);

/* Ends the sending side; the receiving side stays open. */
void uvh_socket_end_sending(int socket);

/* Closing will reset the connection, so that the peer cannot take it for a regular end. */
void uvh_socket_reset_when_closed(int socket);

void uvh_socket_close(int socket);

/* The peer's address without port, "unix:" for a unix socket, or "" when it is not known any
 * more. */
void uvh_socket_peer(int socket, char text[UVH_SOCKET_ADDRESS_TEXT]);

#endif
