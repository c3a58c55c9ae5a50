/* Connections that we make ourselves. Called by server/stream_connect.c. */
#ifndef UVH_PLATFORM_SOCKET_CONNECT_H
#define UVH_PLATFORM_SOCKET_CONNECT_H

struct sockaddr;

/* Begins a connection to an IPv4 or IPv6 address; the socket is one of ours (socket.h) and becomes
 * writable when that has worked or failed. Also when it has done so at once, unless it has failed:
 * a negative errno. */
int uvh_socket_connect(const struct sockaddr *address);

/* What has become of it: 0, or a negative errno. Asked once, when the socket is writable. */
int uvh_socket_connect_result(int socket);

#endif
