/* The other side of connections that a test's server makes: sockets that wait, on the test's own
 * thread. */
#ifndef UVH_SUPPORT_RAW_PEER_H
#define UVH_SUPPORT_RAW_PEER_H

#include <stdbool.h>
#include <stdint.h>

/* Listens on this IPv4 address, at `*port` or, when that is 0, at one that is free, which it
 * becomes. */
int raw_peer_listen(uint32_t address, int *port, int backlog);

/* The next connection. */
int raw_peer_accept(int listener);

/* Fails the test unless these bytes come next. */
void raw_peer_expect(int socket, const char *text);

/* Closes it, with a reset instead of a regular end if that is wanted. */
void raw_peer_close(int socket, bool reset);

#endif
