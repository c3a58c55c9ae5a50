/* Adoption of sockets created outside uvhttp: they are checked and set up like our own.
 *
 * A rejected socket is unchanged, except that it is close-on-exec and non-blocking. */
#ifndef UVH_PLATFORM_SOCKET_ADOPT_H
#define UVH_PLATFORM_SOCKET_ADOPT_H

/* Returns 0, -EINVAL if it is no listening (or connected) stream socket of IPv4, IPv6 or unix,
 * -EBADF, or -ENOTSOCK. */
int uvh_socket_adopt_listener(int socket);
int uvh_socket_adopt_connection(int socket);

/* The number of sockets passed by systemd or another service manager (sd_listen_fds(3)), and
 * the first descriptor. 0 if the environment variables are missing, malformed, or for another
 * process. */
int uvh_socket_inherited(int *first);

#endif
