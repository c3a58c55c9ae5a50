/* Readiness told by edges: the system says when something new has come to a socket, not again and again that something is there.
 *
 * For the set of descriptors a loop polls, which is libuv's (uv_backend_fd). Each socket that is told of by level is looked at once more by the
 * system after its event: measured, 2 to 3 % of what a request costs. */
#ifndef UVH_PLATFORM_EDGES_H
#define UVH_PLATFORM_EDGES_H

#include <stdbool.h>

/* Has a socket of the set told by edges: bytes to read, the end of its peer's side, errors. 0, or a negative errno (-ENOSYS where the system has none) with
 * nothing changed. Only for a set of which uvh_edges_fit is true. */
int uvh_edges_read(int set, int socket);

/* The only descriptor of the set, which is ready, is named there as uvh_edges_read names it: by its number. */
bool uvh_edges_fit(int set, int descriptor);

#endif
