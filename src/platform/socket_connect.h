/* Outgoing connections. */
#ifndef UVH_PLATFORM_SOCKET_CONNECT_H
#define UVH_PLATFORM_SOCKET_CONNECT_H

struct sockaddr;

/* Starts a connection to an IPv4 or IPv6 address. Returns the socket (set up as in socket.h), which
 * becomes writable when the connect completes or fails, also if it completes at once; or a negative
 * errno if it fails at once. */
int uvh_socket_connect(const struct sockaddr *address);

/* The result of the connect: 0, or a negative errno. Call once, when the socket is writable. */
int uvh_socket_connect_result(int socket);

#endif
