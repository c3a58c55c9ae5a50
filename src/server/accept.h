/* Connections on their way to a worker: accepted where they arrived, and handed to a worker that
 * has fewer; and whatever else comes to a worker from other threads (uvhttp_server_post).
 *
 * Always true: a socket that was accepted is served by exactly one worker, or closed; at most
 * max_connections are served over all workers, and `load` of a worker is how many it has or is
 * about to get. Called by worker.c, conn.c and listen.c. */
#ifndef UVH_SERVER_ACCEPT_H
#define UVH_SERVER_ACCEPT_H

#include "net/listener.h"
#include "server/worker.h"

struct uvh_tls_contexts;

/* Accepts on a listening socket from now on, which is the worker's then. `tls` NULL: plain text. 0,
 * UVHTTP_ENOMEM or libuv's code, and then it is the caller's. The worker's thread, or before it
 * runs. */
int uvh_accept_begin(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls);

/* Takes what waits in the queues of the worker's listeners, and closes them. */
void uvh_accept_end(struct uvh_worker *worker);

/* Closes a listener without taking what waits in its queue. */
void uvh_accept_drop(struct uvh_listener *listener);

/* Listeners that are paused go on when that is possible: descriptors and memory may have come free
 * elsewhere in the process. True: they may be paused still. */
bool uvh_accept_tick(struct uvh_worker *worker);

/* A connection that accept.c brought has been closed, or could not be taken. */
void uvh_accept_closed(struct uvh_worker *worker);

/* Takes a connection that was accepted elsewhere. 0, or an error of uvh_protocols_accept, and the
 * socket stays the caller's. */
int uvh_accept_take(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls);

#endif
