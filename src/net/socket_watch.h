/* A socket on a loop: says when it can be read or written, and moves no byte itself.
 *
 * A socket that is read again and again is told of by edges, if the owner allows it: only when something new has come. So whoever reads
 * says by uvh_socket_watch_has_read whether something was left.
 *
 * Always true: the owner's memory lives until `closed` has run. Built on uv_poll_t: see docs/architecture.md, "Sockets". */
#ifndef UVH_NET_SOCKET_WATCH_H
#define UVH_NET_SOCKET_WATCH_H

#include <stdbool.h>

#include <uv.h>

#include "base/compiler.h"

/* What can be watched, as bits. */
enum {
    UVH_WANT_NOTHING = 0, /* errors only: a reset is still noticed */
    UVH_WANT_READ = 1,
    UVH_WANT_WRITE = 2,
    UVH_WANT_BOTH = 3,
    UVH_READY_UNWANTED = 4, /* of what happened, nothing is watched now */
};

struct uvh_socket_watch {
    uv_poll_t poll;
    int socket;
    unsigned char interest; /* UVH_WANT_* */
    unsigned char told;     /* times it could be read since the interest is this; or UVH_TOLD_* */
    bool peer_ended : 1;    /* was told with the last event */
    bool missed : 1;        /* told of by edges of both: it could be read when that was not wanted */
    bool had_room : 1;      /* the same: it could be written, and to be told so again has to be asked for */
};

enum {
    UVH_TOLD_TURNING =
        252, /* by edges up to now; by level until it can be written or read, then of both by edges */
    UVH_TOLD_OF_BOTH = 253, /* by edges, when it can be read or written, whatever is wanted */
    UVH_TOLD_BY_EDGES = 254,
    UVH_TOLD_BY_LEVEL = 255, /* for good: edges are of no use here, or not to be had */
};

/* The poll's callback finds its owner by UVH_CONTAINER_OF and asks uvh_socket_watch_ready what happened. */

/* Sockets on a loop can be told of by edges. The first call looks that up, by a loop of its own. Any thread. */
bool uvh_socket_watch_has_edges(void);

/* `by_edges`: only if uvh_socket_watch_has_edges, and for a loop on whose descriptors nobody waits but uv_run, which would take the events away.
 * 0 or libuv's code; the socket stays the caller's on failure. Watches nothing yet. */
int uvh_socket_watch_init(struct uvh_socket_watch *watch, uv_loop_t *loop, int socket, bool by_edges);

/* Changes what is watched; costs nothing when it is watched already. 0 or libuv's code. */
int uvh_socket_watch_want(struct uvh_socket_watch *watch, unsigned interest, uv_poll_cb on_poll);

/* The owner does not read everything with each event: what is left is told again from now on. */
void uvh_socket_watch_by_level(struct uvh_socket_watch *watch);

/* Bytes were received, `all` of them: fewer than there was room for. What is left is told again, which may be that the peer has ended its side. */
static inline void uvh_socket_watch_has_read(struct uvh_socket_watch *watch, bool all)
{
    if (UVH_UNLIKELY(!all || watch->peer_ended))
        uvh_socket_watch_by_level(watch);
}

/* Somebody else's callback is to be told from the next uvh_socket_watch_want on, whatever that wants. */
void uvh_socket_watch_forget(struct uvh_socket_watch *watch);

/* What the arguments of a uv_poll_cb mean; NOTHING stands for an error that waits on the socket, UNWANTED for nothing to do. When `status` is not 0 nothing
 * is watched any more until uvh_socket_watch_want is called. */
unsigned uvh_socket_watch_ready(struct uvh_socket_watch *watch, int status, int events);

/* Closes the socket at once; `closed` runs later on the loop, then the watch's memory may go. */
void uvh_socket_watch_close(struct uvh_socket_watch *watch, uv_close_cb closed);

#endif
