/* The peer of connections that a test's server opens: blocking sockets on the test's own thread. */
#ifndef UVH_SUPPORT_RAW_PEER_H
#define UVH_SUPPORT_RAW_PEER_H

#include <stdbool.h>
#include <stdint.h>

/* Listens on an IPv4 address and on `*port`. If that is 0, the system chooses a port and `*port` is
 * set to it. */
int raw_peer_listen(uint32_t address, int *port, int backlog);

/* Accepts the next connection. */
int raw_peer_accept(int listener);

/* Fails the test unless these bytes are received next. */
void raw_peer_expect(int socket, const char *text);

/* Closes the socket. `reset` sends RST instead of FIN. */
void raw_peer_close(int socket, bool reset);

#endif
