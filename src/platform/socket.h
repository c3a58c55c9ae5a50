/* Stream sockets: the calls that uvhttp makes itself, because libuv streams have no sendfile and a
 * poll handle needs less memory than a libuv stream (docs/design/poller.md).
 *
 * Always true: sockets are non-blocking and close-on-exec; calls interrupted by a signal are
 * repeated; only sendfile can raise SIGPIPE (see platform/signals.h). Functions return 0 or a
 * count, or a negative errno, which is libuv's code. */
#ifndef UVH_PLATFORM_SOCKET_H
#define UVH_PLATFORM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <uvhttp/types.h>

enum {
    UVH_SOCKET_ADDRESS_TEXT = 64, /* bytes that fit any address as text */
    UVH_SOCKET_NAME_TEXT = 128,   /* and the path of a unix socket */
};

/* A new stream socket of that family (AF_INET, ...). */
int uvh_socket_new(int family);

/* Makes a foreign socket non-blocking and close-on-exec, and sets the TCP options of all our
 * sockets. */
int uvh_socket_make_ours(int socket);
int uvh_socket_set_tcp(int socket);

/* SO_REUSEPORT: which other sockets may listen on the same address and port. The kernel distributes
 * connections among them by a hash of the client's address and port. */
enum uvh_socket_sharing {
    UVH_SOCKET_ALONE, /* none */
    /* none yet, else -EADDRINUSE; later those of this user with SHARE */
    UVH_SOCKET_SHARE_FIRST,
    /* others of this user with SHARE. -ENOTSUP if the system cannot distribute connections */
    UVH_SOCKET_SHARE,
};

/* True for a numeric IPv4 or IPv6 address that connect and listen accept. */
bool uvh_socket_is_numeric(const char *address);

/* A listening socket on a numeric IPv4 or IPv6 address; port 0 selects a free one. "*" is one
 * socket for all IPv6 and IPv4 addresses, and for all IPv4 addresses if the system has no IPv6.
 * Connections inherit TCP_NODELAY. */
int uvh_socket_listen(const char *address, int port, int backlog, enum uvh_socket_sharing sharing);

/* Limits the bytes that the system accepts before it can transmit them; ignored where the system
 * cannot. */
void uvh_socket_limit_queue(int socket, int bytes);

/* Bytes sent and not yet acknowledged; 0 where the system cannot tell. */
size_t uvh_socket_unsent(int socket);

/* Milliseconds since the last byte of the peer arrived, or since it connected; 0 if unknown. */
uint32_t uvh_socket_waited_ms(int socket);

/* The port a socket is bound to, or 0. */
int uvh_socket_port(int socket);

/* Accepts the next connection; -EAGAIN if the queue is empty. */
int uvh_socket_accept(int listener);

/* Bytes received (0: end of stream), -EAGAIN if none are available. */
ssize_t uvh_socket_receive(int socket, void *data, size_t size);

/* Sends up to UVH_SOCKET_MAX_AREAS areas in order with one system call and returns the bytes sent.
 * `more`: more data follows at once (MSG_MORE). */
enum { UVH_SOCKET_MAX_AREAS = 17 };
ssize_t uvh_socket_send(int socket, const uvhttp_slice_t *areas, size_t count, bool more);

/* Bytes sent from `descriptor` at `offset`; 0 means end of file. */
ssize_t uvh_socket_send_file(int socket, int descriptor, uint64_t offset, size_t size);

/* Shuts down the sending side; the receiving side stays open. */
void uvh_socket_end_sending(int socket);

/* Close will reset the connection (RST), so that the peer does not see a regular end. */
void uvh_socket_reset_when_closed(int socket);

void uvh_socket_close(int socket);

/* The address that a socket is bound to, without port, "unix:/run/site.sock", "unix:@name" for an
 * abstract name, or "" if it is not known. */
void uvh_socket_name(int socket, char text[UVH_SOCKET_NAME_TEXT]);

/* The address of a socket's peer, without port. */
struct uvh_socket_peer {
    unsigned char kind;   /* enum uvh_socket_peer_kind */
    unsigned char ip[16]; /* IPv4 as a mapped IPv6 address */
};

enum uvh_socket_peer_kind { UVH_SOCKET_PEER_UNKNOWN = 0, UVH_SOCKET_PEER_IP, UVH_SOCKET_PEER_UNIX };

/* Reads the peer's address; unknown if there is no peer yet, or no longer. */
void uvh_socket_read_peer(int socket, struct uvh_socket_peer *peer);

/* The address as text, "unix:" for a unix socket, or "" if it is not known. */
void uvh_socket_peer_text(const struct uvh_socket_peer *peer, char text[UVH_SOCKET_ADDRESS_TEXT]);

#endif
