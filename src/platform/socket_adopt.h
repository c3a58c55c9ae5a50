/* Sockets that somebody else has made: checked, and set up as if they were ours.
 *
 * A socket that is refused stays as it was, but for close-on-exec and its being non-blocking.
 * Called by server/listening.c. */
#ifndef UVH_PLATFORM_SOCKET_ADOPT_H
#define UVH_PLATFORM_SOCKET_ADOPT_H

/* 0, -EINVAL when it is no listening (resp. connected) stream socket of IPv4, IPv6 or unix, -EBADF,
 * -ENOTSOCK. */
int uvh_socket_adopt_listener(int socket);
int uvh_socket_adopt_connection(int socket);

/* How many sockets the process was started with by systemd or another manager (sd_listen_fds(3)),
 * and the first one; 0 when the variables of the environment are not there, are malformed or are
 * meant for another process. */
int uvh_socket_inherited(int *first);

#endif
