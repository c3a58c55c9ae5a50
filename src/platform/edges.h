/* Readiness told by edges: the system says when something new has come to a socket, not again and again that something is there.
 *
 * For the set of descriptors a loop polls, which is libuv's (uv_backend_fd). A socket that is told of by level is looked at once more by the
 * system after its event: measured, 2 % of a small request. */
#ifndef UVH_PLATFORM_EDGES_H
#define UVH_PLATFORM_EDGES_H

#include <stdbool.h>

/* Has a TCP socket of the set that is read told of by edges: bytes, the end of its peer's side, errors. 0, or a negative errno (-ENOSYS where the system has none,
 * -EPROTONOSUPPORT: no TCP) with nothing changed. Only for a set of which uvh_edges_fit is true.
 *
 * Of TCP alone it is true that fewer bytes than there was room for are all there were, but for urgent data. */
int uvh_edges_begin(int set, int socket);

/* Has a socket that uvh_edges_begin was right for told of by edges when it can be written, too. What is so now is told once more. 0 or a negative errno. */
int uvh_edges_both(int set, int socket);

/* By level again: what is there now is told once more. 0, or a negative errno with nothing changed. */
int uvh_edges_end(int set, int socket);

/* Of this set `descriptor` alone is ready: true when the set names it as these functions do, by its number. */
bool uvh_edges_fit(int set, int descriptor);

#endif
