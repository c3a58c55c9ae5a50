/* Accepts connections, and hands them to a worker with fewer connections; also delivers other
 * messages from other threads to a worker (uvhttp_server_post).
 *
 * Invariants: an accepted socket is served by exactly one worker, or closed; at most
 * max_connections are served over all workers; `load` of a worker counts its connections and those
 * handed to it. */
#ifndef UVH_SERVER_ACCEPT_H
#define UVH_SERVER_ACCEPT_H

#include "net/listener.h"
#include "server/worker.h"

struct uvh_tls_contexts;

/* Starts accepting on a listening socket, which the worker then owns. `tls` NULL: plain text.
 * Returns 0, UVHTTP_ENOMEM or libuv's code; on error the caller keeps the socket. On the worker's
 * thread, or before it runs. */
int uvh_accept_begin(struct uvh_worker *worker, int socket, unsigned id,
                     struct uvh_tls_contexts *tls);

/* Accepts the connections queued on the worker's listeners, and closes the listeners. */
void uvh_accept_end(struct uvh_worker *worker);

/* The same for the listeners with this id. */
void uvh_accept_end_some(struct uvh_worker *worker, unsigned id);

/* Closes the listeners with this id without accepting queued connections. */
void uvh_accept_drop(struct uvh_worker *worker, unsigned id);

/* Resumes paused listeners if possible: descriptors and memory may have become free elsewhere in
 * the process. True: some may still be paused. */
bool uvh_accept_tick(struct uvh_worker *worker);

/* A connection from accept.c was closed, or could not be served. */
void uvh_accept_closed(struct uvh_worker *worker);

/* Takes a connection that was accepted elsewhere. Returns 0, or an error of uvh_protocols_accept;
 * then the caller keeps the socket. */
int uvh_accept_take(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls);

#endif
